"""A line of time says what the wall said: 23- and 25-hour days, missing and doubled hours, left-out days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from pyscheduler.timetable.zone import zone
from pyscheduler.web.timescale import Zoom, after, before, changes, length_text, offset_text, span_of, ticks

BERLIN = zone("Europe/Berlin")
SPRING, AUTUMN = date(2026, 3, 29), date(2026, 10, 25)


def labels(day: date) -> list[tuple[str, str]]:
    return [(tick.label, tick.offset) for tick in ticks(BERLIN, span_of(BERLIN, Zoom.DAY, day))]


def test_a_day_is_as_long_as_it_is() -> None:
    """23 hours in spring, 25 in autumn, 24 between."""
    hours = [span_of(BERLIN, Zoom.DAY, day).seconds / 3600 for day in (SPRING, date(2026, 6, 1), AUTUMN)]
    assert hours == [23, 24, 25]


def test_the_missing_hour_has_no_tick_and_the_doubled_one_two() -> None:
    """What the wall never shows is not marked; what it shows twice is told apart by the offset."""
    assert ("02:00", "+01:00") not in labels(SPRING)
    assert labels(SPRING)[1:3] == [("01:00", "+01:00"), ("03:00", "+02:00")]
    assert labels(AUTUMN)[2:4] == [("02:00", "+02:00"), ("02:00", "+01:00")]


def test_a_change_is_told_in_words() -> None:
    """A reader sees why the day has another length."""
    (change,) = changes(BERLIN, span_of(BERLIN, Zoom.DAY, AUTUMN))
    assert (change.at, change.text) == (datetime(2026, 10, 25, 1, tzinfo=UTC), "clocks go back 1 h")
    (change,) = changes(BERLIN, span_of(BERLIN, Zoom.WEEK, SPRING))
    assert change.text == "clocks go forward 1 h"


def test_half_an_hour_is_a_change_too() -> None:
    """Lord Howe puts its clocks forward by 30 minutes: the day has 23 and a half hours, and ticks stay round."""
    howe = zone("Australia/Lord_Howe")
    span = span_of(howe, Zoom.DAY, date(2026, 10, 4))
    assert span.seconds == 23.5 * 3600
    assert [tick.label for tick in ticks(howe, span)][:4] == ["00:00", "01:00", "03:00", "04:00"]
    assert changes(howe, span)[0].text == "clocks go forward 30 min"


def test_a_day_that_a_zone_left_out_is_the_next_one() -> None:
    """Samoa had no 30 December 2011: whoever asks for it sees the 31st, and its week has six days."""
    apia = zone("Pacific/Apia")
    assert span_of(apia, Zoom.DAY, date(2011, 12, 30)).day == date(2011, 12, 31)
    assert span_of(apia, Zoom.WEEK, date(2011, 12, 30)).seconds == 6 * 86400


def test_a_week_begins_on_monday() -> None:
    """Whichever of its days is asked for."""
    assert {span_of(BERLIN, Zoom.WEEK, SPRING - timedelta(days)).day for days in range(7)} == {date(2026, 3, 23)}


def test_an_hour_that_comes_twice_is_two_hours() -> None:
    """Stepping on from 02:00 +02:00 leads to 02:00 +01:00, not past it."""
    first = span_of(BERLIN, Zoom.HOUR, AUTUMN, datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    day, instant = after(BERLIN, first)
    second = span_of(BERLIN, Zoom.HOUR, day, instant)
    assert (first.start.hour, second.start.hour, second.seconds) == (0, 1, 3600)
    assert span_of(BERLIN, Zoom.HOUR, *before(BERLIN, second)) == first
    assert ticks(BERLIN, first)[0].label == ticks(BERLIN, second)[0].label == "02:00"


def test_a_fraction_stays_on_the_line() -> None:
    """What began before or ends after a stretch is drawn up to its edge."""
    span = span_of(BERLIN, Zoom.DAY, SPRING)
    assert span.fraction(span.start - timedelta(days=1)) == 0.0
    assert span.fraction(span.end + timedelta(days=1)) == 1.0
    assert span.fraction(span.start + timedelta(hours=11.5)) == 0.5


def test_years_nobody_can_know_are_refused() -> None:
    """The caller makes a 400 of it."""
    for day in (date(1969, 12, 31), date(3000, 1, 1)):
        with pytest.raises(ValueError, match="is not between"):
            span_of(BERLIN, Zoom.DAY, day)


def test_offsets_and_lengths_are_written_as_people_do() -> None:
    """Signs, half hours, seconds of old times."""
    assert [offset_text(each) for each in (0, 19800, -12600, -2670)] == ["+00:00", "+05:30", "-03:30", "-00:44:30"]
    assert [length_text(each) for each in (0, 59, 5400, 86400)] == ["0 s", "59 s", "1 h 30 min", "24 h"]
