"""Windows and sieves: which part of the list, and what SQLite passes over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.store.run_streams import HIGHEST_ID, Sieve, Window, cost, is_mark, key, merge

positions = st.tuples(st.sampled_from("abc"), st.integers(0, 5))


def inside(window: Window, position: tuple[str, int]) -> bool:
    """Return whether the statements of `run_walks.py` would find a row there."""
    run_id, at = position
    if not window.low <= at <= window.high:
        return False
    return (
        (at < window.high or run_id > window.tie) if window.newest_first else (at > window.low or run_id < window.tie)
    )


@given(last=positions, other=positions, newest_first=st.booleans(), low=st.integers(0, 5), high=st.integers(0, 5))
def test_what_is_left_of_a_window_is_what_comes_after(
    last: tuple[str, int], other: tuple[str, int], newest_first: bool, low: int, high: int
) -> None:
    """After any position, inside the window or not: exactly the window's rows that the list has behind it."""
    whole = Window.whole(newest_first=newest_first)
    window = Window(newest_first=newest_first, low=low, high=high, tie=whole.tie)
    behind = (
        key((*other, "", "")) > key((*last, "", "")) if newest_first else key((*other, "", "")) < key((*last, "", ""))
    )
    assert inside(window.after(last[1], last[0]), other) == (inside(window, other) and behind)


def test_a_whole_window_holds_everything() -> None:
    """Every instant there can be, and every run id."""
    for newest_first in (True, False):
        window = Window.whole(newest_first=newest_first)
        assert all(inside(window, (run_id, at)) for run_id in ("-", "zz.9999-12-31.1") for at in (-(10**17), 10**18))
    assert max("abcxyzABCXYZ0189_-.") < HIGHEST_ID


@given(streams=st.lists(st.lists(positions, unique=True)), newest_first=st.booleans())
def test_a_merge_is_one_list_in_order(streams: list[list[tuple[str, int]]], newest_first: bool) -> None:
    """Newest first and ties by run id, or the exact reverse."""
    in_order = [sorted(((*place, "", "") for place in each), key=key, reverse=not newest_first) for each in streams]
    everything = sorted((row for each in in_order for row in each), key=key, reverse=not newest_first)
    assert list(merge(map(iter, in_order), newest_first=newest_first)) == everything


def test_marks_are_told_from_rows_and_counted() -> None:
    """A mark stands for all rows that were looked at up to it."""
    assert is_mark(("a", 1, None, 512))
    assert cost(("a", 1, None, 512)) == 512
    assert not is_mark(("a", 1, "failed", "manual"))
    assert cost(("a", 1, "failed", "manual")) == 1


def test_a_sieve_without_what_an_index_answers() -> None:
    """Names and parameters go together."""
    sieve = Sieve({"states": {"states_wanted": "[]"}, "dates": {"low_date": "a", "high_date": "b"}})
    assert sieve.without("states").names == ("dates",)
    assert sieve.without("states").values == {"low_date": "a", "high_date": "b"}
    assert sieve.without("states", "dates", "jobs").names == ()
