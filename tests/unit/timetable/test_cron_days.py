from __future__ import annotations

from datetime import date, timedelta

import pytest

from pyscheduler.timetable.cron_days import CronDays, cron_days
from pyscheduler.timetable.cron_text import read_cron
from pyscheduler.timetable.days import EVERY_DAY
from pyscheduler.timetable.moments import LAST_DAY, date_of, day_of


def named(days: str, year: int, month: int, star: str = "lone") -> list[int]:
    """Return the days of a month that `days` (day-of-month, month, day-of-week) names."""
    rule = cron_days(read_cron(f"0 0 {days}"), star)
    first = date(year, month, 1)
    month_days = [first + timedelta(n) for n in range(31) if (first + timedelta(n)).month == month]
    return [day.day for day in month_days if rule.names(day_of(day))]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ("15 * wed", [1, 8, 15, 22, 29]),
        ("L * *", [30]),
        ("1,L * *", [1, 30]),
        ("LW * *", [30]),
        ("L-3 * *", [27]),
        ("L-29 * *", [1]),
        ("L-30 * *", []),
        ("15W * *", [15]),
        ("18W * *", [17]),
        ("19W * *", [20]),
        ("4W * *", [3]),
        ("31W * *", []),
        ("* * wed#1", [1]),
        ("* * wed#5", [29]),
        ("* * mon#5", []),
        ("* * friL", [24]),
        ("* * 0L", [26]),
        ("* * 7L", [26]),
        ("* * 7", [5, 12, 19, 26]),
        ("* * fri-sun", [3, 4, 5, 10, 11, 12, 17, 18, 19, 24, 25, 26]),
        ("31 * *", []),
        ("* 10 *", []),
        ("* sep mon", [6, 13, 20, 27]),
    ],
)
def test_days_of_september_2027(days: str, expected: list[int]) -> None:
    """It begins on a Wednesday and has thirty days: every word of the day fields, by hand (spec 2.1)."""
    assert named(days, 2027, 9) == expected


@pytest.mark.parametrize(
    ("days", "year", "month", "expected"),
    [
        ("1W * *", 2027, 5, [3]),  # the 1st is a Saturday: not back into April
        ("31W * *", 2027, 10, [29]),  # the 31st is a Sunday: not on into November
        ("30W * *", 2027, 5, [31]),
        ("LW * *", 2027, 10, [29]),
        ("L-1 * *", 2028, 2, [28]),
        ("L * *", 2028, 2, [29]),
        ("29 2 *", 2027, 2, []),
        ("29 2 *", 2028, 2, [29]),
    ],
)
def test_the_ends_of_a_month_hold(days: str, year: int, month: int, expected: list[int]) -> None:
    """The nearest weekday stays in its month, and February is what it is."""
    assert named(days, year, month) == expected


@pytest.mark.parametrize(
    ("days", "lone", "leading"),
    [
        ("*/2 * 1", [1, 3, 5, 7, 9, 10, 11, 13, 15, 17, 19, 21, 23, 24, 25, 27, 29, 31], [3, 17, 31]),
        ("*/1 * 1", list(range(1, 32)), [3, 10, 17, 24, 31]),
        ("1 * */2", [1, 2, 4, 6, 8, 9, 11, 13, 15, 16, 18, 20, 22, 23, 25, 27, 29, 30], [1]),
        ("13 * 5", [7, 13, 14, 21, 28], [7, 13, 14, 21, 28]),
        ("* * 1", [3, 10, 17, 24, 31], [3, 10, 17, 24, 31]),
        ("13 * *", [13], [13]),
        ("15W,* * 1", list(range(1, 32)), list(range(1, 32))),
        ("*,15W * 1", list(range(1, 32)), [3, 10, 17, 24, 31]),
    ],
)
def test_what_counts_as_a_star_decides_between_either_and_both(days: str, lone: list[int], leading: list[int]) -> None:
    """May 2027 begins on a Saturday. By default only a lone star is one; Debian's rule is there for who wants it."""
    assert (named(days, 2027, 5), named(days, 2027, 5, "leading")) == (lone, leading)


def test_the_first_day_is_found_and_no_state_is_kept() -> None:
    """A rule is shared: asking it moves nothing."""
    rule = cron_days(read_cron("0 0 29 2 *"), "lone")
    for _ in range(2):
        assert date_of(rule.first(day_of(date(2027, 1, 1))) or 0) == date(2028, 2, 29)
        assert date_of(rule.first(day_of(date(2096, 3, 1))) or 0) == date(2104, 2, 29)
        assert date_of(rule.first(day_of(date(2028, 2, 29))) or 0) == date(2028, 2, 29)


def test_a_day_that_never_comes_is_none_and_the_ends_of_time_too() -> None:
    """Bounded, and without an exception."""
    assert cron_days(read_cron("0 0 31 4 *"), "lone").first(day_of(date(2027, 1, 1))) is None
    mondays = cron_days(read_cron("0 0 * * mon"), "lone")
    assert mondays.first(LAST_DAY + 1) is None
    assert mondays.first(LAST_DAY) is None  # a Friday
    assert date_of(mondays.first(-400) or 0) == date(1970, 1, 5)
    assert cron_days(read_cron("0 0 1 1 *"), "lone").first(LAST_DAY - 3) is None


def test_open_day_fields_are_every_day_and_equal_ones_are_shared() -> None:
    """Ten thousand jobs of two thousand schedules have few day rules."""
    assert cron_days(read_cron("5 7 * * *"), "lone") is EVERY_DAY
    assert cron_days(read_cron("5 7 * * 1-5"), "lone") is cron_days(read_cron("*/2 9 * * 1-5"), "lone")
    assert isinstance(cron_days(read_cron("5 7 * 1 *"), "lone"), CronDays)
    assert cron_days(read_cron("5 7 */1 * *"), "lone") is not EVERY_DAY
