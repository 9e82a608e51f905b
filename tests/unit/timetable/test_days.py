from __future__ import annotations

from datetime import date

import pytest

from pyscheduler.model.job import CronSpec, ScheduleSpec
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.days import EVERY_DAY, LandingDays, MonthlyBusinessDay, OneDay
from pyscheduler.timetable.moments import LAST_DAY, date_of, day_of
from tests.unit.timetable.support import UK_2027, day


def landing(calendar: BusinessCalendar = ALL_DAYS, rule: object = EVERY_DAY, **fields: object) -> LandingDays:
    spec: ScheduleSpec = CronSpec(text="0 0 * * *", **fields)  # type: ignore[arg-type]
    return LandingDays(rule, spec, calendar)  # type: ignore[arg-type]


def first(days: LandingDays, text: str) -> str | None:
    found = days.first(day_of(day(text)))
    return None if found is None else str(date_of(found))


def test_every_day_goes_from_1970_to_9999() -> None:
    """Nothing outside, and no exception there."""
    assert (EVERY_DAY.names(0), EVERY_DAY.names(-1), EVERY_DAY.names(LAST_DAY), EVERY_DAY.names(LAST_DAY + 1)) == (
        True,
        False,
        True,
        False,
    )
    assert (EVERY_DAY.first(-9), EVERY_DAY.first(7), EVERY_DAY.first(LAST_DAY + 1)) == (0, 7, None)


def test_one_day_is_one_day() -> None:
    """`once` names it and no other."""
    rule = OneDay(7)
    assert ([rule.names(n) for n in (6, 7, 8)], [rule.first(n) for n in (6, 7, 8)]) == (
        [False, True, False],
        [7, 7, None],
    )


@pytest.mark.parametrize(
    ("nth", "since", "expected"),
    [
        (1, "2027-05-01", "2027-05-03"),
        (1, "2027-05-03", "2027-05-03"),
        (1, "2027-05-04", "2027-06-01"),
        (-1, "2027-05-31", "2027-05-31"),
        (-1, "2027-06-01", "2027-06-30"),
        (23, "2027-05-01", "2027-07-01"),
    ],
)
def test_the_nth_working_day_comes_each_month_that_has_it(nth: int, since: str, expected: str) -> None:
    """From any day on, the next one; December leads into January."""
    rule = MonthlyBusinessDay(nth, UK_2027)
    found = rule.first(day_of(day(since)))
    if nth == 23:  # the first month from May 2027 with 23 working days
        assert found is not None
        assert date_of(found).strftime("%Y-%m") >= "2027-07"
        assert UK_2027.nth_of_month(date_of(found).year, date_of(found).month, 23) == date_of(found)
    else:
        assert found == day_of(day(expected))
        assert rule.names(found)
        assert not rule.names(found + 1)


def test_a_month_never_has_thirty_working_days_and_the_search_ends() -> None:
    """Bounded by fifty years, and by the end of dates."""
    assert MonthlyBusinessDay(30, UK_2027).first(0) is None
    assert MonthlyBusinessDay(-1, ALL_DAYS).first(LAST_DAY) == LAST_DAY
    assert MonthlyBusinessDay(1, ALL_DAYS).first(LAST_DAY) is None
    assert MonthlyBusinessDay(1, ALL_DAYS).first(LAST_DAY + 1) is None
    assert MonthlyBusinessDay(1, ALL_DAYS).first(-40) == 0
    assert MonthlyBusinessDay(1, UK_2027).first(day_of(date(2027, 12, 2))) == day_of(date(2028, 1, 3))


def test_days_off_are_dropped() -> None:
    """Spec 2.3: a landing day that is no working day has no firings."""
    assert first(landing(UK_2027), "2027-05-15") == "2027-05-18"
    assert not landing(UK_2027).names(day_of(day("2027-05-17")))
    assert landing(UK_2027).names(day_of(day("2027-05-18")))


def test_weekdays_and_months_filter_too() -> None:
    """`days` and `months` beside any form (spec 2.2)."""
    assert first(landing(days=(0, 2)), "2027-05-18") == "2027-05-19"
    assert first(landing(months=(8, 12)), "2027-05-18") == "2027-08-01"
    assert first(landing(days=(0,), months=(8,)), "2027-05-18") == "2027-08-02"
    assert not landing(days=(0,)).names(day_of(day("2027-05-18")))
    assert not landing(months=(4,)).names(day_of(day("2027-05-18")))


def test_the_first_and_the_last_date_are_included() -> None:
    """`start` and `end` bound the landing day, both inclusive (DESIGN 8 row 14)."""
    bounded = landing(start=day("2027-05-10"), end=day("2027-05-12"))
    assert first(bounded, "2027-01-01") == "2027-05-10"
    assert first(bounded, "2027-05-12") == "2027-05-12"
    assert first(bounded, "2027-05-13") is None
    assert [bounded.names(day_of(day(f"2027-05-{n:02}"))) for n in (9, 10, 12, 13)] == [False, True, True, False]


def test_a_start_far_away_is_waited_for() -> None:
    """Fifty years bound a search in vain, not a date that is named."""
    assert first(landing(start=day("2150-01-01")), "2027-01-01") == "2150-01-01"
    assert first(landing(rule=OneDay(day_of(day("2150-01-01"))), calendar=UK_2027), "2027-01-01") == "2150-01-01"


def test_a_search_in_vain_ends() -> None:
    """A calendar without working days is refused by config; here it costs fifty years of looking and no more."""
    assert first(landing(BusinessCalendar("never", frozenset())), "2027-01-01") is None
    assert landing(BusinessCalendar("never", frozenset())).first_bare(day_of(day("2027-01-01"))) is not None
    assert landing(days=(0,), rule=OneDay(1)).first_bare(0) is None
    assert landing(end=day("2027-01-01")).first_bare(day_of(day("2027-01-02"))) is None
    assert landing(days=(0,)).first_bare(day_of(day("2027-05-18"))) == day_of(day("2027-05-24"))


def test_only_without_filters_is_it_every_day() -> None:
    """What counting multiplies instead of walking."""
    assert landing().is_every_day
    assert landing(start=day("2027-01-01")).is_every_day
    assert landing(BusinessCalendar("none", frozenset(range(7)))).is_every_day
    assert not landing(UK_2027).is_every_day
    assert not landing(days=(1,)).is_every_day
    assert not landing(months=(1,)).is_every_day
    assert not landing(rule=OneDay(1)).is_every_day


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "2027-05-17 is a holiday of calendar uk"),
        ({"days": (1,)}, "2027-05-17 is a Monday, which its `days` leave out"),
        ({"months": (4,)}, "month 5 is not among its `months`"),
        ({"start": date(2027, 6, 1)}, "the schedule starts on 2027-06-01"),
        ({"end": date(2027, 5, 16)}, "the schedule ended on 2027-05-16"),
    ],
)
def test_what_drops_a_day_is_said(fields: dict[str, object], expected: str) -> None:
    """`pysched why` says the first reason, the author's own filters before the calendar."""
    assert landing(UK_2027, **fields).why_not(day_of(day("2027-05-17"))) == expected


def test_a_day_that_is_not_named_needs_no_reason() -> None:
    """Nothing drops what was never there, and nothing drops what fires."""
    assert landing(UK_2027).why_not(day_of(day("2027-05-18"))) == ""
    assert landing(UK_2027, rule=OneDay(3)).why_not(day_of(day("2027-05-17"))) == ""
    assert landing(UK_2027).why_not(-1) == ""
    assert landing(UK_2027).why_not(LAST_DAY + 1) == ""
