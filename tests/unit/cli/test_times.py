"""Times carry their offset; durations are short."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from pyscheduler.cli.times import Times, json_instant, parse_instant, since

BERLIN = Times.of("Europe/Berlin")
NIGHT = datetime(2027, 5, 20, 1, 5, 12, 987654, tzinfo=UTC)


def test_a_time_is_local_and_has_its_offset() -> None:
    """DESIGN 11: in the scheduler's zone with the offset, always."""
    assert BERLIN.full(NIGHT) == "2027-05-20 03:05:12+02:00"
    assert BERLIN.full(datetime(2027, 1, 1, tzinfo=UTC)) == "2027-01-01 01:00:00+01:00"
    assert Times.of("UTC").full(NIGHT) == "2027-05-20 01:05:12+00:00"


def test_the_hour_that_comes_twice_can_be_told_apart() -> None:
    """By the offset, on the night the clocks go back."""
    first, second = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1))
    assert BERLIN.full(first) == "2026-10-25 02:30:00+02:00"
    assert BERLIN.full(second) == "2026-10-25 02:30:00+01:00"


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (date(2027, 5, 20), "03:05:12+02:00"),
        (date(2027, 5, 19), "05-20 03:05:12+02:00"),
        (date(2026, 5, 20), "2027-05-20 03:05:12+02:00"),
    ],
)
def test_a_board_leaves_out_its_own_date(day: date, shown: str) -> None:
    """The offset stays whatever is left out."""
    assert BERLIN.on(day, NIGHT) == shown


def test_a_day_begins_at_midnight_or_where_a_gap_ends() -> None:
    """In Asuncion the clocks once went forward at midnight: that day began at one."""
    assert BERLIN.midnight(date(2027, 5, 20)) == datetime(2027, 5, 19, 22, tzinfo=UTC)
    assert Times.of("America/Asuncion").midnight(date(2023, 10, 1)) == datetime(2023, 10, 1, 4, tzinfo=UTC)


def test_a_narrow_board_leaves_out_an_offsets_minutes() -> None:
    """Where it has none: they are the least of it."""
    assert BERLIN.on(date(2027, 5, 20), NIGHT, short=True) == "03:05:12+02"


def test_nothing_lies_ahead_of_a_clock_that_was_set_back() -> None:
    """A start in the future has lasted no time, not a negative one."""
    assert since(NIGHT + timedelta(seconds=5), NIGHT) == "0s"


def test_answers_speak_utc() -> None:
    """Spec: jobs.md 13.3: ISO 8601 in UTC with Z, and what is read back is the same instant."""
    assert json_instant(NIGHT) == "2027-05-20T01:05:12.987654Z"
    assert parse_instant(json_instant(BERLIN.local(NIGHT))) == NIGHT
    with pytest.raises(ValueError, match="time zone"):
        parse_instant("2027-05-20T01:05:12")
