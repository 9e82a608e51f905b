from __future__ import annotations

import pickle
from datetime import date

import pytest

from pyscheduler.model.job import CalendarSpec
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.calendars import remark_on_date
from tests.unit.timetable.support import UK_2027, day

NEVER = BusinessCalendar("never", frozenset())


def test_a_calendar_is_what_the_configuration_says() -> None:
    """Every part of the specification arrives."""
    spec = CalendarSpec(
        name="x",
        weekdays=frozenset({0}),
        holidays=frozenset({date(2027, 1, 4)}),
        extra_days=frozenset({date(2027, 1, 5)}),
        ends=date(2027, 12, 31),
    )
    calendar = BusinessCalendar.of(spec)
    assert (calendar.name, calendar.ends) == ("x", date(2027, 12, 31))
    assert [calendar.is_business_day(date(2027, 1, n)) for n in (4, 5, 6, 11)] == [False, True, False, True]


def test_an_extra_day_beats_a_holiday_and_a_weekend() -> None:
    """Spec 1.7: always working."""
    both = BusinessCalendar(
        "x", holidays=frozenset({date(2027, 1, 4)}), extra_days=frozenset({date(2027, 1, 4), date(2027, 1, 3)})
    )
    assert both.is_business_day(date(2027, 1, 4))
    assert both.is_business_day(date(2027, 1, 3))


def test_next_and_previous_always_move() -> None:
    """From a working day too: the neighbour is meant, never the day itself."""
    assert UK_2027.next(day("2027-05-14")) == day("2027-05-18")
    assert UK_2027.previous(day("2027-05-18")) == day("2027-05-14")
    assert UK_2027.next(day("2027-05-15")) == day("2027-05-18")
    assert UK_2027.previous(day("2027-05-17")) == day("2027-05-14")


def test_a_search_gives_up_after_3660_days() -> None:
    """Spec 1.7: bounded, and the 3660th day still counts."""
    assert NEVER.next(day("2027-01-01")) is None
    assert NEVER.previous(day("2027-01-01")) is None
    start = day("2027-01-01")
    last = date.fromordinal(start.toordinal() + 3660)
    beyond = date.fromordinal(start.toordinal() + 3661)
    assert BusinessCalendar("x", frozenset(), extra_days=frozenset({last})).next(start) == last
    assert BusinessCalendar("x", frozenset(), extra_days=frozenset({beyond})).next(start) is None


def test_the_ends_of_the_calendar_are_no_error() -> None:
    """Where dates run out there is no working day."""
    assert ALL_DAYS.next(date.max) is None
    assert ALL_DAYS.previous(date.min) is None
    assert ALL_DAYS.shift(date.max, 3) is None


def test_shifting_counts_working_days() -> None:
    """0 leaves a day off as it is; one step from a day off leads to the nearest working day."""
    assert UK_2027.shift(day("2027-05-15"), 0) == day("2027-05-15")
    assert UK_2027.shift(day("2027-05-18"), -1) == day("2027-05-14")
    assert UK_2027.shift(day("2027-05-18"), -2) == day("2027-05-13")
    assert UK_2027.shift(day("2027-05-13"), 2) == day("2027-05-18")
    assert UK_2027.shift(day("2027-05-16"), 1) == day("2027-05-18")
    assert NEVER.shift(day("2027-05-16"), 2) is None


def test_the_run_that_waits_for_yesterdays_is_found() -> None:
    """Spec 4.5: Thursday calls for Friday, Friday for the Tuesday behind the holiday, a Saturday by hand for none."""
    assert UK_2027.unshift(day("2027-05-13"), -1) == (day("2027-05-14"),)
    assert UK_2027.unshift(day("2027-05-14"), -1) == (day("2027-05-18"),)
    assert UK_2027.unshift(day("2027-05-15"), -1) == ()
    assert UK_2027.unshift(day("2027-05-17"), -1) == ()
    assert UK_2027.unshift(day("2027-05-14"), 1) == (day("2027-05-13"),)
    assert UK_2027.unshift(day("2027-05-15"), 0) == (day("2027-05-15"),)
    assert (
        BusinessCalendar("x", frozenset(), extra_days=frozenset({day("2027-05-14")})).unshift(day("2027-05-14"), -1)
        == ()
    )


@pytest.mark.parametrize(
    ("nth", "expected"),
    [
        (1, "2027-05-03"),
        (2, "2027-05-04"),
        (-1, "2027-05-31"),
        (-2, "2027-05-28"),
        (20, "2027-05-31"),
        (-20, "2027-05-03"),
    ],
)
def test_the_nth_working_day_counts_from_either_end(nth: int, expected: str) -> None:
    """May 2027 begins with a weekend and has twenty working days besides the holiday."""
    assert UK_2027.nth_of_month(2027, 5, nth) == day(expected)


def test_a_month_with_too_few_working_days_has_none() -> None:
    """The 21st of twenty is no day."""
    assert UK_2027.nth_of_month(2027, 5, 21) is None
    assert UK_2027.nth_of_month(2027, 5, -21) is None


def test_why_a_day_is_off_is_said() -> None:
    """`pysched why` shows this to a person."""
    assert UK_2027.why_not(day("2027-05-17")) == "2027-05-17 is a holiday of calendar uk"
    assert UK_2027.why_not(day("2027-05-15")) == "2027-05-15 is a Saturday, no working day of calendar uk"
    assert UK_2027.why_not(day("2027-05-14")) == ""


def test_calendars_are_equal_by_name_and_content() -> None:
    """Two loads of one text share their compiled schedules; another name or content does not."""
    same = BusinessCalendar("uk", holidays=frozenset({date(2027, 5, 17)}))
    assert (same == UK_2027, hash(same) == hash(UK_2027)) == (True, True)
    others = [
        BusinessCalendar("gb", holidays=same.holidays),
        BusinessCalendar("uk"),
        BusinessCalendar("uk", frozenset({0}), same.holidays),
        BusinessCalendar("uk", holidays=same.holidays, extra_days=frozenset({date(2027, 5, 16)})),
        BusinessCalendar("uk", holidays=same.holidays, ends=date(2028, 1, 1)),
    ]
    assert UK_2027 not in others
    assert len({hash(it) for it in [same, *others]}) == 6
    copy = pickle.loads(pickle.dumps(UK_2027))
    assert (copy == UK_2027, hash(copy) == hash(UK_2027)) == (True, True)


def test_the_built_in_calendar_works_every_day() -> None:
    """`calendar: none`."""
    assert ALL_DAYS.name == "none"
    assert all(ALL_DAYS.is_business_day(date(2027, 5, n)) for n in range(1, 32))


def test_an_odd_run_date_is_remarked_upon() -> None:
    """Far away in either direction, still to come, a day off; an ordinary date is not worth a word."""
    today = date(2027, 5, 20)
    week = BusinessCalendar("week", frozenset(range(5)))
    assert remark_on_date(date(2027, 5, 19), today, week) == remark_on_date(today, today, week) == ""
    assert remark_on_date(date(1999, 1, 1), today, ALL_DAYS) == "1999-01-01 is 10366 days ago"
    assert remark_on_date(date(2027, 5, 22), today, week) == (
        "2027-05-22 is still to come; 2027-05-22 is a Saturday, no working day of calendar week"
    )
