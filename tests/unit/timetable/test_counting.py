from __future__ import annotations

from datetime import datetime, time

import pytest

from pyscheduler.model.job import AtSpec, CronSpec, EverySpec, OnceSpec, RebootSpec, ScheduleSpec, Window
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar, Schedule
from pyscheduler.timetable.counting import count_firings, newest_from
from pyscheduler.timetable.moments import second_of
from pyscheduler.timetable.schedule import boot_schedule
from tests.unit.timetable.support import UK_2027, at, compiled


def cron(text: str, **fields: object) -> CronSpec:
    return CronSpec(text=text, **fields)  # type: ignore[arg-type]


def together(schedules: list[Schedule], first: int, last: int) -> list[int]:
    """Return every instant that one schedule or another names, by walking."""
    found = set()
    for schedule in schedules:
        second = first
        while (landing := schedule.first(second)) is not None and landing[0] <= last:
            found.add(landing[0])
            second = landing[0] + 1
    return sorted(found)


UNIONS: dict[str, list[ScheduleSpec]] = {
    "none": [],
    "one": [cron("*/7 * * * *")],
    "apart": [AtSpec(times=(time(7),)), AtSpec(times=(time(19),))],
    "falling together": [cron("*/10 * * * *"), cron("*/15 2-5 * * *"), cron("0 0 1 * *")],
    "over midnight": [EverySpec(every_s=1800, opens=time(23), closes=time(0, 30)), cron("0 0,1 * * *")],
    "whole days and fixed times": [EverySpec(every_s=25200), cron("0 7 * * 1-5"), cron("30 2 * * *")],
    "with windows": [
        cron("0 * * * *", exclude=(Window(start=datetime(2026, 10, 24, 12), end=datetime(2026, 10, 25, 3)),)),
        cron("0 */2 * * *", exclude=(Window(start_time=time(4), end_time=time(9)),)),
    ],
    "once and daily": [OnceSpec(at=datetime(2026, 10, 24, 7)), AtSpec(times=(time(7), time(8)))],
}


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns"])
@pytest.mark.parametrize("calendar", [ALL_DAYS, UK_2027], ids=["none", "uk"])
def test_what_falls_together_counts_once(name: str, zone: str, calendar: BusinessCalendar) -> None:
    """Weeks around clock changes, from any edge to any other: days alike are counted once, and rightly."""
    schedules = [compiled(spec, zone, calendar) for spec in UNIONS[name]]
    for change in ("2026-10-25T01:00", "2027-03-28T01:00", "2006-10-29T02:31"):
        middle = second_of(at(change))
        begin, end = middle - 9 * 86400, middle + 6 * 86400
        edges = (begin, middle - 86399, middle - 1800, middle, middle + 5400, end)
        firings = together(schedules, begin, end)
        for first in edges:
            for last in edges:
                expected = sum(first <= it <= last for it in firings)
                assert count_firings(schedules, first, last) == expected, (change, first - middle, last - middle)


def test_a_boot_counts_on_its_day_only() -> None:
    """Beside a schedule of every day, a single moment must not be taken for every day's."""
    boot = boot_schedule(RebootSpec(), "UTC", ALL_DAYS, at("2027-05-20T10:00:01"))
    daily = compiled("0 10 * * *")
    assert count_firings([boot, daily], second_of(at("2027-05-01T00:00")), second_of(at("2027-05-31T00:00"))) == 31


def test_every_second_taken_is_not_walked() -> None:
    """Ten years of every second beside every minute: a number, at once."""
    both = [compiled(EverySpec(every_s=1)), compiled("* * * * *")]
    first, last = second_of(at("2016-07-12T00:00:01")), second_of(at("2026-07-12T00:00"))
    assert count_firings(both, first, last) == 315_532_800


@pytest.mark.parametrize("text", ["* * * * * *", "0 * * * *", "0 12 * * *", "0 0 29 2 *", "* * 1 1 *", "*/7 3 * * mon"])
@pytest.mark.parametrize("keep", [1, 3, 100])
def test_the_newest_few_begin_where_so_many_are_left(text: str, keep: int) -> None:
    """At least so many and not many more, whether firings lie evenly, in bursts or years apart."""
    schedules = [compiled(text)]
    first, last = second_of(at("2000-01-01T00:00")), second_of(at("2027-05-20T12:00"))
    count = count_firings(schedules, first, last)
    begin = newest_from(schedules, first, last, keep, count)
    assert min(keep, count) <= count_firings(schedules, begin, last) <= 2 * keep + 32


def test_few_firings_are_all_the_newest() -> None:
    """Nothing to search for."""
    assert newest_from([compiled("0 0 29 2 *")], 5, 10**9, 50, 7) == 5
    assert newest_from([], 5, 9, 1, 0) == 5


def test_nothing_is_counted_outside_of_time() -> None:
    """Before 1970, behind 9999, and where the end lies before the beginning."""
    hourly = [compiled("0 * * * *"), compiled("30 * * * *")]
    assert count_firings(hourly, -9999999, -1) == 0
    assert count_firings(hourly, 10, 5) == 0
    assert count_firings(hourly, second_of(at("9999-12-31T22:00")), 10**12) == 4
