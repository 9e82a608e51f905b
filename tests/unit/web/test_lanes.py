"""A lane shows what ran and what is expected, and never more than a reader or a browser can take."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from pyscheduler.timetable.zone import zone
from pyscheduler.web.lanes import ROWS, SHOWN, Piece, lane
from pyscheduler.web.timescale import Zoom, span_of

SPAN = span_of(zone("UTC"), Zoom.DAY, date(2027, 5, 20))
NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)


def piece(hour: float, hours: float | None, run_id: str = "a.2027-05-20.1") -> Piece:
    start = SPAN.start + timedelta(hours=hour)
    return Piece(start, None if hours is None else start + timedelta(hours=hours), "succeeded", run_id, 1)


def test_a_bar_is_where_and_as_long_as_its_attempt() -> None:
    """Six hours from six o'clock are the second quarter of the day."""
    (bar,) = lane("a", SPAN, NOON, [piece(6, 6)], []).bars
    assert (bar.left, bar.width, bar.row) == (25.0, 25.0, 0)


def test_what_goes_on_is_drawn_up_to_now() -> None:
    """And no further, though nobody knows its end; a clock set back makes no bar of negative length."""
    (bar,) = lane("a", SPAN, NOON, [piece(6, None)], []).bars
    assert bar.left + bar.width == 50.0
    (bar,) = lane("a", SPAN, NOON, [piece(18, None)], []).bars
    assert (bar.left, bar.width) == (75.0, 0.0)


def test_what_lies_outside_is_left_out_and_what_sticks_out_is_cut() -> None:
    """Yesterday's runs are on yesterday's line; one over midnight is on both."""
    found = lane("a", SPAN, NOON, [piece(-5, 1), piece(-1, 2), piece(23, 5), piece(25, 1)], [])
    assert [(bar.left, round(bar.left + bar.width, 3)) for bar in found.bars] == [(0.0, 4.167), (95.833, 100.0)]


def test_bars_at_the_same_time_are_in_different_rows() -> None:
    """Overlapping runs are seen side by side, up to a bound."""
    found = lane("a", SPAN, NOON, [piece(6 + n / 10, 4, f"a.2027-05-20.{n}") for n in range(ROWS + 2)], [])
    assert [bar.row for bar in found.bars] == [0, 1, 2, ROWS - 1, ROWS - 1]
    assert found.rows == ROWS
    assert lane("a", SPAN, NOON, [], []).rows == 1


def test_bars_one_after_another_share_a_row() -> None:
    """One that begins when the other ends needs no room of its own."""
    assert lane("a", SPAN, NOON, [piece(6, 1), piece(7, 1), piece(8, 1)], []).rows == 1


def test_too_many_become_a_band() -> None:
    """200 ghosts of a job that fires every minute, then one band that says how many more."""
    expected = [piece(n / 60, 1 / 60) for n in range(24 * 60)]
    found = lane("a", SPAN, SPAN.start, [], expected)
    assert len(found.ghosts) == SHOWN
    assert found.ghost_band is not None
    assert found.ghost_band.count == 24 * 60 - SHOWN
    assert round(found.ghost_band.left + found.ghost_band.width) == 100
    assert found.bar_band is None


def test_a_band_with_more_behind_it_goes_on_until_now() -> None:
    """Nobody looked further; the band must not look like an end."""
    ran = [piece(n / 60, 1 / 60) for n in range(SHOWN + 50)]
    ending, going_on = (lane("a", SPAN, NOON, ran, [], more=more).bar_band for more in (False, True))
    assert ending is not None
    assert going_on is not None
    assert ending.left + ending.width < 25
    assert going_on.left + going_on.width == 50
