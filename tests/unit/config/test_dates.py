"""A stretch of days as bits."""

from __future__ import annotations

from datetime import date

import pytest

from pyscheduler.config.dates import Stretch
from pyscheduler.model.job import AtSpec, CronSpec, Window
from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.schedule import compile_schedule

BANK = BusinessCalendar("bank", holidays=frozenset({date(2027, 5, 17)}))
FIRST = date(2027, 5, 10)
"""A Monday; the stretch of two weeks holds the holiday on its second Monday."""


def days(bits: int) -> list[int]:
    return [FIRST.day + number for number in range(bits.bit_length()) if bits >> number & 1]


def test_the_days_a_schedule_fires_on() -> None:
    stretch = Stretch(FIRST, 14)
    assert days(stretch.landing_days(compile_schedule(CronSpec(text="0 6 * * mon,tue"), "UTC", ALL_DAYS))) == [
        10,
        11,
        17,
        18,
    ]
    assert days(stretch.landing_days(compile_schedule(CronSpec(text="0 6 * * mon,tue"), "UTC", BANK))) == [10, 11, 18]


def test_a_day_all_of_whose_times_are_excluded_is_none() -> None:
    from datetime import datetime, time

    spec = AtSpec(times=(time(6),), exclude=(Window(start=datetime(2027, 5, 11), end=datetime(2027, 5, 12, 23)),))
    assert days(Stretch(FIRST, 4).landing_days(compile_schedule(spec, "UTC", ALL_DAYS))) == [10, 13]


def test_each_day_moves_to_the_working_day_before_it() -> None:
    """The first day has none before it within the stretch."""
    stretch = Stretch(FIRST, 14)
    everything = (1 << 14) - 1
    assert days(stretch.to_previous(everything, BANK)) == [10, 11, 12, 13, 14, 18, 19, 20, 21]
    assert days(stretch.to_previous(1 << 8, BANK)) == [14], "Tuesday the 18th is for Friday the 14th"


@pytest.mark.parametrize(
    ("day", "offset", "waiting"),
    [(13, -1, [14]), (14, -1, [18]), (14, -2, [19]), (15, -1, []), (14, 0, [14]), (21, -1, [])],
)
def test_which_days_wait_for_a_day(day: int, offset: int, waiting: list[int]) -> None:
    """The examples of spec 4.5; a day off has no dependants a day later, and the edge ends everything."""
    assert days(Stretch(FIRST, 12).waiting_for(1 << day - FIRST.day, BANK, offset)) == waiting


def test_a_day_is_shifted_by_working_days() -> None:
    stretch = Stretch(FIRST, 14)
    assert stretch.shifted(8, BANK, -1) == 4
    assert stretch.shifted(8, BANK, 0) == 8
    assert stretch.shifted(5, BANK, -1) is None, "a day off"
    assert stretch.shifted(0, BANK, -1) is None, "beyond the edge"
