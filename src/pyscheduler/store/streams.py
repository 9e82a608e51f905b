"""Many sorted streams read as one, lazily: how a list with any mix of filters stays fast. Pure.

An index gives the rows of one exact choice (this job, this state, this trigger) already in the list's order. A list
with fewer filters is the merge of several such streams, and only as much of each is fetched as the page needs. What
no index can answer is looked at row by row, and a budget bounds how many rows: then the page ends early and says
where to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

Row = tuple[Any, ...]
Fetch = Callable[[Row | None, int], Sequence[Row]]
"""Return up to so many rows that come after the given one, or from the beginning."""

FIRST_PIECE: Final = 16
LARGEST_PIECE: Final = 1024


def stream(
    fetch: Fetch, *, first: Row | None = None, piece: int = FIRST_PIECE, largest: int = LARGEST_PIECE
) -> Iterator[Row]:
    """Yield all rows that `fetch` has, in growing pieces; `first` is one that is known already, and not read again."""
    if first is not None:
        yield first
    last = first
    while True:
        rows = fetch(last, piece)
        yield from rows
        if len(rows) < piece:
            return
        last, piece = rows[-1], min(piece * 4, largest)


class Gathered(NamedTuple):
    """The rows of one page; `resume_after` is the row after which the next page begins, None at the end."""

    rows: list[Row]
    resume_after: Row | None


def gathered(rows: Iterable[Row], keep: Callable[[Row], bool], limit: int, budget: int) -> Gathered:
    """Return the first `limit` rows that `keep` wants, looking at `budget` rows at most.

    The page is complete when one more row was seen: so the last page says that it is the last.
    """
    kept: list[Row] = []
    row: Row | None = None
    for looked, row in enumerate(rows, 1):
        if keep(row):
            if len(kept) == limit:
                return Gathered(kept, kept[-1])
            kept.append(row)
        if looked == budget:
            return Gathered(kept, row)
    return Gathered(kept, None)
