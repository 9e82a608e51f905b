"""Many sorted streams read as one, lazily: how a list with any mix of filters stays fast. Pure.

An index gives the rows of one exact choice (this job, this state, this trigger) already in the list's order. A list
with fewer filters is the merge of several such streams, and only as much of each is fetched as the page needs. What no
index can answer is looked at row by row, and a budget bounds how many: then the page ends early and says where to go
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

Row = tuple[Any, ...]

FIRST_PIECE: Final = 16
LARGEST_PIECE: Final = 1024


class Piece(NamedTuple):
    """Some rows of a stream, and the row after which the rest begins: None at the end."""

    rows: Sequence[Row]
    resume_after: Row | None


Fetch = Callable[[Row | None, int], Piece]
"""Return the piece of up to so many rows that comes after the given one, or the first piece."""


def whole(rows: Sequence[Row], count: int) -> Piece:
    """Return the piece that a query limited to `count` rows has found: a short one is the last."""
    return Piece(rows, rows[-1] if len(rows) == count else None)


def stream(
    fetch: Fetch, *, first: Row | None = None, piece: int = FIRST_PIECE, largest: int = LARGEST_PIECE
) -> Iterator[Row]:
    """Yield all rows that `fetch` has, in growing pieces; `first` is one that is known already, and not read again."""
    if first is not None:
        yield first
    last = first
    while True:
        rows, last = fetch(last, piece)
        yield from rows
        if last is None:
            return
        piece = min(piece * 4, largest)


class Gathered(NamedTuple):
    """The rows of one page; `resume_after` is the row after which the next page begins, None at the end."""

    rows: list[Row]
    resume_after: Row | None


def gathered(
    rows: Iterable[Row], keep: Callable[[Row], bool], limit: int, budget: int, cost: Callable[[Row], int] = lambda _: 1
) -> Gathered:
    """Return the first `limit` rows that `keep` wants, spending `budget` at most; a row costs `cost`.

    The page is complete when one more wanted row was seen: so the last page says that it is the last.
    """
    kept: list[Row] = []
    spent = 0
    for row in rows:
        if keep(row):
            if len(kept) == limit:
                return Gathered(kept, kept[-1])
            kept.append(row)
        spent += cost(row)
        if spent >= budget:
            return Gathered(kept, row)
    return Gathered(kept, None)
