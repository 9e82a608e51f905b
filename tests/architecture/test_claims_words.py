"""What many schedulers promise is said on one page, and nowhere else otherwise. Spec: claims.md C10, B16, B18."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/concepts/claims.md"
UNQUALIFIED = re.compile(r"\bexactly[\s-]+once\b", re.IGNORECASE)
QUALIFIED = re.compile(r"\b(claim|grant)", re.IGNORECASE)
LEASES = re.compile(r"\bleases?\b", re.IGNORECASE)
LINK = re.compile(r"\]\([^)]*claims\.md[^)]*\)")
PLAN = ROOT / "docs/PLAN.md"
"""What was done and when: for those who build, and no promise to anybody."""


def pages() -> list[Path]:
    """Return what a user reads: the manual, the first page, and what changed."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")]
    return sorted(page for page in found if page not in (PAGE, PLAN))


def programs() -> list[Path]:
    """Return the modules whose words a user sees or builds upon."""
    return sorted((ROOT / "src/pyscheduler").rglob("*.py"))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences, and the rows of tables, as one line each."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\|)|\n(?=[-*] )", text):
        yield from re.split(r"(?<=[.!?:;])\s+", " ".join(paragraph.split()))


def overstated(text: str) -> list[str]:
    """Return the sentences that promise "exactly once" of something else than claims."""
    return [said for said in sentences(text) if UNQUALIFIED.search(said) and not QUALIFIED.search(said)]


def test_once_is_said_of_claims_only() -> None:
    """ "Exactly once" stands next to claim or grant, or on the page of the promises."""
    found = {str(page.relative_to(ROOT)): overstated(page.read_text()) for page in [*pages(), *programs()]}
    assert {page: said for page, said in found.items() if said} == {}


def test_who_names_leases_links_the_promises() -> None:
    """A reader who meets a lease is one step from what it means."""
    naming = [page for page in pages() if LEASES.search(page.read_text())]
    assert naming, "no page was looked into"
    assert [str(page.relative_to(ROOT)) for page in naming if not LINK.search(page.read_text())] == []


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("Each run executes exactly once.", True),
        ("Each run executes\nexactly-once, on any number of servers.", True),
        ("Claims are exactly-once.", False),
        ("Each token is granted to exactly one incarnation, exactly once.", False),
        ("A claim holds. Every run is done exactly once.", True),
        ("At most once, and at least once.", False),
    ],
)
def test_the_lint_tells_them_apart(said: str, *, refused: bool) -> None:
    """The lint can fail."""
    assert bool(overstated(said)) is refused


def test_the_page_has_every_promise() -> None:
    """G1 to G7, and what is not promised."""
    text = PAGE.read_text()
    assert re.findall(r"^- \*\*(G\d)\*\*", text, re.MULTILINE) == [f"G{number}" for number in range(1, 8)]
    assert "## What is not promised" in text
