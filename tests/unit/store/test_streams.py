"""Pieces, streams and pages: values in, values out."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.store.streams import Gathered, Piece, Row, gathered, stream, whole


class Shelf:
    """Rows that can be fetched piece by piece, and a record of how many were asked for each time."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows, self.asked = list(rows), list[int]()

    def fetch(self, last: Row | None, count: int) -> Piece:
        self.asked.append(count)
        start = 0 if last is None else self.rows.index(last) + 1
        return whole(self.rows[start : start + count], count)


def shelf_of(count: int) -> Shelf:
    return Shelf([(number,) for number in range(count)])


@given(count=st.integers(0, 200), piece=st.integers(1, 9), largest=st.integers(1, 50))
def test_a_stream_yields_every_row_once_and_in_order(count: int, piece: int, largest: int) -> None:
    """Whatever the pieces, all rows come, and the end is found."""
    shelf = shelf_of(count)
    assert list(stream(shelf.fetch, piece=piece, largest=largest)) == shelf.rows


def test_a_stream_fetches_no_more_than_is_taken_from_it() -> None:
    """Pieces grow, and nothing is fetched before it is needed."""
    shelf = shelf_of(1000)
    rows = stream(shelf.fetch, piece=2, largest=20)
    assert shelf.asked == []
    assert [next(rows) for _ in range(3)] == [(0,), (1,), (2,)]
    assert shelf.asked == [2, 8]
    assert [next(rows) for _ in range(40)][-1] == (42,)
    assert shelf.asked == [2, 8, 20, 20]


def test_a_stream_with_a_known_first_row_reads_nothing_for_it() -> None:
    """Of a thousand jobs only those whose first row comes up are read at all."""
    shelf = shelf_of(3)
    rows = stream(shelf.fetch, first=(0,))
    assert next(rows) == (0,)
    assert shelf.asked == []
    assert list(rows) == [(1,), (2,)]


@given(rows=st.lists(st.tuples(st.integers(0, 9)), max_size=40), limit=st.integers(1, 9), budget=st.integers(1, 30))
def test_pages_together_hold_every_wanted_row(rows: list[Row], limit: int, budget: int) -> None:
    """Going on after each page's last row finds them all, however often a page ends early."""
    numbered = [(index, *row) for index, row in enumerate(rows)]
    found: list[Row] = []
    start: int | None = 0
    while start is not None:
        page = gathered(numbered[start:], lambda row: row[1] % 2 == 0, limit, budget)
        assert len(page.rows) <= limit
        found += page.rows
        start = None if page.resume_after is None else page.resume_after[0] + 1
    assert found == [row for row in numbered if row[1] % 2 == 0]


def test_a_full_page_says_whether_there_is_another_wanted_row() -> None:
    """Not whether there are rows: those behind it may all be unwanted."""
    rows = [(1,), (2,), (3,)]
    assert gathered(rows, lambda row: row[0] < 3, limit=2, budget=99) == Gathered([(1,), (2,)], None)
    assert gathered(rows, lambda _: True, limit=2, budget=99) == Gathered([(1,), (2,)], (2,))


def test_a_budget_counts_what_rows_cost() -> None:
    """A mark that stands for a hundred rows looked at uses a hundred up."""
    rows = [(1,), (100,), (1,), (1,)]
    page = gathered(rows, lambda _: False, limit=9, budget=101, cost=lambda row: int(row[0]))
    assert page == Gathered([], (100,))
