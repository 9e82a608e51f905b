"""The chain of the audit log: a whole one passes, and every way to tamper with one is found and named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.store.chain import ANCHOR, HEAD, NOTHING, START, Break, Link, Walk, hash_of, link_of

Row = tuple[Any, ...]
HASH = "a" * 64


def rows_of(count: int, after: Link = START) -> list[Row]:
    found: list[Row] = []
    for number in range(after.id + 1, after.id + count + 1):
        values = (1_000_000 * number, "ann", "admin", "socket", "", "hold", f"load.{number}", "", "done", "{}")
        previous = found[-1][-1] if found else after.hash
        found.append((number, *values, previous, hash_of(previous, (number, *values))))
    return found


def walked(rows: list[Row], values: dict[str, str] | None = None, known: Link | None = None) -> Break | None:
    if values is None:
        values = {HEAD: Link(rows[-1][0], rows[-1][-1]).to_text()} if rows else {}
    walk = Walk(values, max((row[0] for row in rows), default=0), known)
    if (broken := walk.begin()) is not None:
        return broken
    for row in rows:
        if (broken := walk.step(row)) is not None:
            return broken
    return walk.end()


def test_a_whole_chain_passes() -> None:
    """From nothing, and from what was thrown away."""
    rows = rows_of(9)
    assert walked([], {}) is None
    assert walked(rows) is None
    head = Link(9, rows[-1][-1]).to_text()
    for gone in range(1, 10):
        anchor = Link(gone, rows[gone - 1][-1]).to_text()
        assert walked(rows[gone:], {HEAD: head, ANCHOR: anchor}) is None


@given(place=st.integers(0, 5), column=st.integers(0, 12), other=st.one_of(st.text(), st.integers(), st.none()))
def test_any_other_value_anywhere_is_found(place: int, column: int, other: object) -> None:
    """Whatever stands in whichever column of whichever row."""
    rows = rows_of(6)
    changed = list(rows[place])
    same = other == changed[column] and type(other) is type(changed[column])
    changed[column] = other
    head = {HEAD: Link(6, rows[-1][-1]).to_text()}
    if column == 0 and not isinstance(other, int):
        return  # the table holds no such number
    tampered = [*rows[:place], tuple(changed), *rows[place + 1 :]]
    assert (walked(tampered, head) is None) == same


@pytest.mark.parametrize(
    ("taken", "id_", "what"),
    [
        (slice(0, 1), 1, "this row is missing: the next is 2"),
        (slice(2, 5), 3, "rows 3 to 5 are missing: the next is 6"),
        (slice(5, 9), 6, "is missing with all after it: the last that was written is 9"),
        (slice(0, 9), 1, "is missing with all after it: the last that was written is 9"),
    ],
)
def test_what_is_taken_out_is_named(taken: slice, id_: int, what: str) -> None:
    """Beginning, middle, end, all."""
    rows = rows_of(9)
    head = {HEAD: Link(9, rows[-1][-1]).to_text()}
    del rows[taken]
    assert walked(rows, head) == Break(id_, what)


def test_rows_that_changed_places_are_found() -> None:
    """With each other's numbers or their own."""
    rows = rows_of(4)
    head = {HEAD: Link(4, rows[-1][-1]).to_text()}
    swapped = [rows[0], (2, *rows[2][1:]), (3, *rows[1][1:]), rows[3]]
    assert walked(swapped, head) == Break(2, "does not follow from row 1")


def test_rows_put_in_are_found() -> None:
    """Behind the end, and before the anchor."""
    rows = rows_of(5)
    values = {HEAD: Link(4, rows[3][-1]).to_text()}
    assert walked(rows, values) == Break(5, "was not written by a scheduler: the last that was is 4")
    values = {HEAD: Link(5, rows[4][-1]).to_text(), ANCHOR: Link(2, rows[1][-1]).to_text()}
    assert walked(rows, values) == Break(1, "was thrown away for its age, and is here")


def test_notes_that_are_gone_or_unreadable_are_found() -> None:
    """Neither is taken for an empty log."""
    rows = rows_of(2)
    head = Link(2, rows[-1][-1]).to_text()
    assert walked(rows, {}) == Break(2, "the note of the row that was written last is missing")
    assert walked([], {HEAD: "x"}) == Break(0, "the note of the row that was written last is missing")
    found = walked(rows, {HEAD: head, ANCHOR: "x"})
    assert found == Break(0, "the note of what was thrown away for its age cannot be read")
    other = {HEAD: Link(2, HASH).to_text()}
    assert walked(rows, other) == Break(2, "is not the row that was written last (2)")


def test_a_chain_written_anew_is_found_by_a_hash_that_was_noted() -> None:
    """The one thing that the store alone cannot tell."""
    rows = rows_of(5)
    known = Link(3, rows[2][-1])
    assert walked(rows, known=known) is None
    forged = rows_of(5, Link(0, HASH))
    anchored = {HEAD: Link(5, forged[-1][-1]).to_text(), ANCHOR: Link(0, HASH).to_text()}
    assert walked(forged, anchored) is None
    found = walked(forged, anchored, known)
    assert found == Break(3, "has not the hash that was given: the chain was written anew")
    assert walked(rows[:2], known=known) == Break(3, "is missing: the last row is 2")
    pruned = {HEAD: Link(5, rows[4][-1]).to_text(), ANCHOR: Link(4, rows[3][-1]).to_text()}
    assert walked(rows[4:], pruned, known) == Break(3, "the row whose hash was given has been thrown away for its age")
    assert walked(rows[3:], {**pruned, ANCHOR: known.to_text()}, known) is None
    anchored = {**pruned, ANCHOR: Link(3, HASH).to_text()}
    assert walked(rows[3:], anchored, known) == Break(3, "has not the hash that was given: the chain was written anew")


@pytest.mark.parametrize("text", [None, "", "x", "1", f"-1 {NOTHING}", f"1 {NOTHING}0", f"x {NOTHING}", f"½ {NOTHING}"])
def test_what_names_no_place_is_none(text: str | None) -> None:
    """Never an error: somebody may have written it by hand."""
    assert link_of(text) is None


@given(
    st.lists(st.one_of(st.text(), st.integers()), max_size=4), st.lists(st.one_of(st.text(), st.integers()), max_size=4)
)
def test_no_two_rows_have_one_text(one: list[object], other: list[object]) -> None:
    """However the parts are cut, and a number is no text."""
    assert (hash_of(NOTHING, one) == hash_of(NOTHING, other)) == (repr(one) == repr(other))
