"""Every clock change of every zone from 2000 to 2037: days join without a hole, ticks say what the wall said."""

from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from pyscheduler.timetable.zone import Zone, zone, zone_names
from pyscheduler.web.timescale import Zoom, after, before, span_of, ticks

PARTS = 8
YEARS = (2000, 2007, 2011, 2016, 2026, 2037)
"""Years with the oddest changes, and what is to come."""


def change_days(there: Zone, year: int) -> set[date]:
    """The local days of a year at which the offset changes, and their neighbours."""
    second, found = int(datetime(year, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp()), set()
    for day in range(366):
        at = second + day * 86400
        if there.offset_at(at) != there.offset_at(at + 86400):
            found |= {date.fromordinal(date(year, 1, 1).toordinal() + day + near) for near in (-1, 0, 1)}
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_days_join_and_ticks_tell_the_truth(part: int) -> None:
    """The next day begins where this one ends; each tick is round on the wall, with the offset that then holds."""
    for name in sorted(zone_names())[part::PARTS]:
        there, rules = zone(name), ZoneInfo(name)
        for day in sorted(day for year in YEARS for day in change_days(there, year)):
            span = span_of(there, Zoom.DAY, day)
            assert span_of(there, Zoom.DAY, *after(there, span)[:1]).start == span.end, (name, day)
            assert span_of(there, Zoom.DAY, before(there, span)[0]).end == span.start, (name, day)
            marks = ticks(there, span)
            assert all(one.at < other.at for one, other in pairwise(marks)), (name, day)
            for mark in marks:
                wall = mark.at.astimezone(rules)
                offset = wall.strftime("%z")
                assert span.start <= mark.at < span.end
                assert (wall.strftime("%H:%M"), offset[:3] + ":" + offset[3:]) == (mark.label, mark.offset), name
                assert wall.minute == 0


def test_hours_join_through_every_change_of_a_year() -> None:
    """Stepping by the hour passes each instant once, through gaps and folds of an hour, of half of one, of a day."""
    for name, day in (("Europe/Berlin", date(2026, 3, 29)), ("Europe/Berlin", date(2026, 10, 25)),
                      ("Australia/Lord_Howe", date(2026, 4, 5)), ("Pacific/Apia", date(2011, 12, 29)),
                      ("Asia/Kathmandu", date(2026, 1, 1)), ("Africa/Casablanca", date(2026, 2, 15))):  # fmt: skip
        there = zone(name)
        span = span_of(there, Zoom.HOUR, day)
        for _ in range(30):
            following = span_of(there, Zoom.HOUR, *after(there, span))
            assert following.start == span.end
            assert span_of(there, Zoom.HOUR, *before(there, following)) == span
            assert 0 < span.seconds <= 3600
            span = following
