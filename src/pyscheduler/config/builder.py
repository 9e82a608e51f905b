"""One file's tree from libyaml's events, a small step for each. Nothing recurses; every bound is checked here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from yaml import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml._yaml import CParser

from pyscheduler.config.feed import Feed
from pyscheduler.config.tree import Block, Items, Null, Place, Tree, TreeError

MAX_NODES: Final = 450_000
"""Nodes of a whole configuration, aliases counted as often as they are used: 10,000 jobs of 22 keys. What is refused
for having more is refused within a second."""
MAX_WIDTH: Final = 50_000
"""Entries of one mapping or list."""
MAX_DEPTH: Final = 64
MAX_FLAWS: Final = 200
"""Keys that stand twice, after which the reading stops."""
MAX_VALUE: Final = 131_072
"""Characters of one value: Linux starts no program with a longer argument."""

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_CORE: Final = "tag:yaml.org,2002:"
_SCALAR_TAGS: Final = frozenset({None, "!", *(_CORE + word for word in ("str", "int", "float", "bool", "null"))})
_MAPPING_TAGS: Final = frozenset({None, "!", _CORE + "map"})
_SEQUENCE_TAGS: Final = frozenset({None, "!", _CORE + "seq"})
_MERGE: Final = "<<merge>>"


@dataclass
class Composed:
    """A file's tree (None: it holds nothing) and the faults that did not stop the reading."""

    root: Tree | None = None
    flaws: list[TreeError] = field(default_factory=list)


class _Frame:
    """A collection under way. `before` is the budget when it began, `height` the levels below it."""

    __slots__ = ("anchor", "before", "height", "key", "key_at", "merges", "node")

    def __init__(self, node: Block | Items, anchor: str | None, before: int) -> None:
        self.node, self.anchor, self.before = node, anchor, before
        self.height = 0
        self.key: str | None = None
        self.key_at: Place = (0, 0)
        self.merges: list[Block] | None = None


@dataclass(frozen=True, slots=True)
class _Anchored:
    node: Tree
    weight: int
    height: int


class Builder:
    """Builds one file's tree. `left` counts down the nodes, so a collection's weight is the count at its ends."""

    def __init__(self, data: bytes, left: int) -> None:
        self._feed = Feed(data)
        self._parser = CParser(self._feed)
        self.left = left
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._documents = 0
        self._result = Composed()

    def run(self) -> Composed:
        get, feed, scalar = self._parser.get_event, self._feed, self._scalar
        others: dict[type[Event], Callable[[Any], None]] = {
            MappingStartEvent: self._open_mapping,
            SequenceStartEvent: self._open_sequence,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }
        while (event := get()) is not None:
            feed.mark = feed.at
            if type(event) is ScalarEvent:
                scalar(event)
            elif (act := others.get(type(event))) is not None:
                act(event)
        return self._result

    # ----------------------------------------------------------------- one event each

    def _document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            _stop(
                event, "a second document begins here", "keep one document a file, and name other files under include"
            )
        if event.tags:
            _stop(event, "a %TAG directive", "remove it: tags have no meaning here")

    def _scalar(self, event: ScalarEvent) -> None:
        self.left -= 1
        text: str = event.value
        if self.left < 0 or len(text) > MAX_VALUE or event.tag is not None:
            self._refuse_scalar(event)
        mark: Any = event.start_mark
        at = (mark.line + 1, mark.column + 1)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.key is None and type(frame.node) is Block:
            frame.key = _MERGE if text == "<<" and event.implicit[0] else sys.intern(text)
            frame.key_at = at
            return
        if text in _NULLS and event.implicit[0]:
            text = Null(text)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(text, 1, 0)
        self._add(text, at)

    def _refuse_scalar(self, event: ScalarEvent) -> None:
        self._check_left(event)
        if len(event.value) > MAX_VALUE:
            _stop(event, f"this value has {len(event.value):,} characters, and {MAX_VALUE:,} is the limit")
        if event.tag not in _SCALAR_TAGS:
            _stop(event, f"the tag {_tag(event.tag)}", "remove it: every value is read as the text it is")

    def _open_mapping(self, event: MappingStartEvent) -> None:
        self._open(event, Block(*_place(event)), _MAPPING_TAGS)

    def _open_sequence(self, event: SequenceStartEvent) -> None:
        self._open(event, Items(*_place(event)), _SEQUENCE_TAGS)

    def _open(
        self, event: MappingStartEvent | SequenceStartEvent, node: Block | Items, tags: frozenset[str | None]
    ) -> None:
        if event.tag not in tags:
            _stop(event, f"the tag {_tag(event.tag)}", "remove it: tags have no meaning here")
        if self._stack and self._stack[-1].key is None and type(self._stack[-1].node) is Block:
            _stop(event, "a key must be text, not a mapping or a list", "quote it if it begins with [ or {")
        if len(self._stack) >= MAX_DEPTH:
            _stop(event, f"more than {MAX_DEPTH} levels of nesting")
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(_Frame(node, event.anchor, self.left))
        self.left -= 1
        self._check_left(event)

    def _close(self, _event: MappingEndEvent | SequenceEndEvent) -> None:
        frame = self._stack.pop()
        node = frame.node
        if frame.merges is not None and isinstance(node, Block):
            _merge(node, frame.merges)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(node, frame.before - self.left, frame.height)
        self._add(node, (node.line, node.column), frame.height + 1)

    def _alias(self, event: AliasEvent) -> None:
        name = event.anchor or ""
        target = self._anchors.get(name)
        if target is None:
            inside = any(frame.anchor == name for frame in self._stack)
            fault = "stands inside what it names" if inside else "names no anchor above it"
            mend = "quote the value if it begins with a star, as in '*/5 * * * *'"
            _stop(event, f"the alias *{name[:60]} {fault}", mend)
        if len(self._stack) + target.height >= MAX_DEPTH:
            _stop(event, f"more than {MAX_DEPTH} levels of nesting through the alias *{name[:60]}")
        self.left -= target.weight
        self._check_left(event)
        frame = self._stack[-1]
        if frame.key is None and type(frame.node) is Block:
            if not isinstance(target.node, str):
                _stop(event, "a key must be text, not a mapping or a list")
            frame.key, frame.key_at = sys.intern(str(target.node)), _place(event)
            return
        self._add(target.node, _place(event), target.height + 1)

    # ----------------------------------------------------------------- into the collection under way

    def _add(self, node: Tree, at: Place, height: int = 0) -> None:
        if not self._stack:
            self._result.root = node
            return
        frame = self._stack[-1]
        if height > frame.height:
            frame.height = height
        parent = frame.node
        if len(parent) >= MAX_WIDTH:
            raise TreeError(*at, f"one mapping or list has more than {MAX_WIDTH:,} entries", "divide it")
        if type(parent) is Items:
            parent.append(node)
            parent.places.extend(at)
            return
        assert isinstance(parent, Block)
        key, frame.key = frame.key, None
        assert key is not None
        if key is _MERGE:
            self._merge_source(frame, node, at)
        elif key in parent:
            self._twice(key, frame, parent)
        else:
            parent[key] = node
            parent.places.extend((*frame.key_at, *at))

    def _twice(self, key: str, frame: _Frame, block: Block) -> None:
        what = f'the key "{key[:60]}" stands twice in one mapping, first in line {block.key_place(key)[0]}'
        flaw = TreeError(*frame.key_at, what, "keep one of them")
        if len(self._result.flaws) >= MAX_FLAWS:
            raise flaw
        self._result.flaws.append(flaw)

    def _merge_source(self, frame: _Frame, node: Tree, at: Place) -> None:
        sources = node if isinstance(node, Items) else [node]
        if frame.merges is not None:
            self._result.flaws.append(TreeError(*frame.key_at, "<< stands twice in one mapping", "write <<: [*a, *b]"))
        elif all(isinstance(source, Block) for source in sources):
            frame.merges = [source for source in sources if isinstance(source, Block)]
        else:
            self._result.flaws.append(TreeError(*at, "<< merges mappings only", "write <<: *name or <<: [*a, *b]"))

    def _check_left(self, event: Event) -> None:
        if self.left < 0:
            what = f"the configuration has more than {MAX_NODES:,} keys and values, aliases counted at each use"
            _stop(event, what, "divide the work among several schedulers")


def _merge(block: Block, sources: list[Block]) -> None:
    """Add what the block does not say itself; an earlier source wins over a later one."""
    for source in sources:
        for number, (key, value) in enumerate(source.items()):
            if key not in block:
                block[key] = value
                block.places.extend(source.places[4 * number : 4 * number + 4])


def _place(event: Event) -> Place:
    mark = event.start_mark
    assert mark is not None, "libyaml marks every event"
    return mark.line + 1, mark.column + 1


def _tag(tag: str | None) -> str:
    return (tag or "").replace(_CORE, "!!")[:60]


def _stop(event: Event, what: str, mend: str = "") -> NoReturn:
    raise TreeError(*_place(event), what, mend)
