"""Reading a page as a browser would, as far as tests need it: elements, texts, links; and what no page may contain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.serving import Answer, Served

VOID = {"meta", "link", "input", "img", "br", "hr", "path", "circle", "rect", "use"}
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@dataclass
class Element:
    """One element with the text inside it, children's included."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def all(self, tag: str = "", **wanted: str) -> Iterator[Element]:
        """Yield the elements inside with this tag and these attributes; `class_` must be among the classes."""
        for child in self.children:
            if (not tag or child.tag == tag) and child.has(**wanted):
                yield child
            yield from child.all(tag, **wanted)

    def one(self, tag: str = "", **wanted: str) -> Element:
        """Return the first of these. AssertionError where there is none."""
        found = next(self.all(tag, **wanted), None)
        assert found is not None, f"there is no {tag} {wanted}"
        return found

    def has(self, **wanted: str) -> bool:
        """Whether the attributes are as wanted."""
        for name, value in wanted.items():
            if name == "class_":
                if value not in self.attributes.get("class", "").split():
                    return False
            elif self.attributes.get(name.replace("_", "-")) != value:
                return False
        return True


class Page(HTMLParser):
    """A parsed page; an element that is not closed in its place fails the test."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert self._open == [self.root], f"not closed: {[element.tag for element in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open[-1].tag == tag, f"<{self._open[-1].tag}> is closed by </{tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str = "", **wanted: str) -> list[Element]:
        """Return every element with this tag and these attributes."""
        return list(self.root.all(tag, **wanted))

    def one(self, tag: str = "", **wanted: str) -> Element:
        """Return the first of these."""
        return self.root.one(tag, **wanted)

    @property
    def text(self) -> str:
        """All text, blanks folded."""
        return " ".join(self.root.text.split())

    def is_clean(self) -> None:
        """Assert that nothing inline would be run or styled, that ids are unique and every control has a name."""
        ids: list[str] = []
        for element in self.root.all():
            bad = [name for name in element.attributes if name.startswith("on") or name == "style"]
            assert not bad, f"<{element.tag}> has {bad}"
            assert element.tag != "style"
            if element.tag == "script":
                assert element["src"].startswith("/static/")
                assert not element.text.strip()
            if element.attributes.get("href", "").lower().strip().startswith("javascript"):
                raise AssertionError(f"a link runs a script: {element.attributes}")
            ids += [element["id"]] if "id" in element.attributes else []
        assert len(ids) == len(set(ids)), sorted(name for name in ids if ids.count(name) > 1)


def opened(service: Served, path: str, status: int = 200, **headers: str) -> Page:
    """Return a page as a browser gets it, checked for what no page may contain."""
    answer = service.ask("GET", path, headers=BROWSER | headers)
    assert answer.status == status, answer
    guarded(answer)
    page = Page(answer.body)
    page.is_clean()
    return page


def guarded(answer: Answer) -> None:
    """Assert the headers that every page carries."""
    headers: dict[str, Any] = {name.lower(): value for name, value in answer.headers.items()}
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "text/html; charset=utf-8"
