from __future__ import annotations

from datetime import date, datetime, time

import pytest

from pyscheduler.model.job import AtSpec, Window
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.days import EVERY_DAY, LandingDays
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.moments import DAY_S, LAST_DAY, local_of, wall_of
from pyscheduler.timetable.named import NamedTimes
from pyscheduler.timetable.times import Listed, cron_times
from tests.unit.timetable.support import UK_2027


def named(
    calendar: BusinessCalendar = ALL_DAYS,
    *windows: Window,
    minutes: str = "0,30",
    hours: str = "9-10",
    **fields: object,
) -> NamedTimes:
    spec = AtSpec(times=(), exclude=windows, **fields)  # type: ignore[arg-type]
    return NamedTimes(LandingDays(EVERY_DAY, spec, calendar), cron_times("0", minutes, hours), Excluded(windows))


NIGHT_AND_DAY = Window(start=datetime(2027, 5, 18, 9), end=datetime(2027, 5, 19, 9))


def wall(text: str) -> int:
    return wall_of(datetime.fromisoformat(text))


def first(times: NamedTimes, text: str) -> str | None:
    found = times.first(wall(text))
    return None if found is None else local_of(found).isoformat(timespec="minutes")


def walked(times: NamedTimes, since: int, until: int) -> int:
    count = 0
    while (found := times.first(since)) is not None and found <= until:
        count += 1
        since = found + 1
    return count


def test_the_first_named_time_may_be_this_very_second() -> None:
    """Inclusive; from the last time of a day on to the next day."""
    times = named()
    assert first(times, "2027-05-20T09:30") == "2027-05-20T09:30"
    assert first(times, "2027-05-20T09:30:01") == "2027-05-20T10:00"
    assert first(times, "2027-05-20T10:31") == "2027-05-21T09:00"


def test_days_off_are_passed_over_whole() -> None:
    """From Friday's last time to the Tuesday behind the holiday, at its first time and not at Friday's hour."""
    assert first(named(UK_2027), "2027-05-14T10:31") == "2027-05-18T09:00"
    assert first(named(UK_2027), "2027-05-15T10:00") == "2027-05-18T09:00"


def test_excluded_times_are_passed_over() -> None:
    """To the next free time, on this day or a later one."""
    assert (
        first(named(ALL_DAYS, Window(start_time=time(9), end_time=time(9, 45))), "2027-05-20T09:00")
        == "2027-05-20T10:00"
    )
    feast = Window(start=datetime(2027, 5, 20, 9, 30), end=datetime(2027, 5, 22, 9, 0))
    assert first(named(ALL_DAYS, feast), "2027-05-20T09:00") == "2027-05-20T09:00"
    assert first(named(ALL_DAYS, feast), "2027-05-20T09:01") == "2027-05-22T09:30"


def test_a_search_in_vain_ends() -> None:
    """All times excluded on every day, or for longer than fifty years of days."""
    everything = Window(start_time=time(0), end_time=time(23, 59))
    assert named(ALL_DAYS, everything).first(0) is None
    assert NamedTimes(named().days, Listed([]), Excluded([])).first(0) is None
    sundays_only = named(ALL_DAYS, Window(start=datetime(2027, 1, 1)), days=(6,))
    assert sundays_only.first(wall("2027-05-20T09:00")) is None
    assert named().first((LAST_DAY + 1) * DAY_S) is None


def test_time_before_1970_begins_in_1970() -> None:
    """A wall west of Greenwich shows 1969 at the first instant."""
    assert named().first(-5 * 3600) == 9 * 3600


@pytest.mark.parametrize(
    "times",
    [
        named(),
        named(UK_2027),
        named(start=date(2027, 5, 12), end=date(2027, 5, 25)),
        named(days=(0, 4)),
        named(ALL_DAYS, Window(start_time=time(9, 15), end_time=time(9, 45))),
        named(ALL_DAYS, Window(start=datetime(2027, 5, 18, 9, 15), end=datetime(2027, 5, 20, 9, 15))),
        named(
            ALL_DAYS, Window(start=datetime(2027, 5, 18, 9), end=datetime(2027, 5, 19, 9)), minutes="0,59", hours="0,23"
        ),
        named(UK_2027, Window(start=datetime(2027, 5, 18, 10, 0), end=datetime(2027, 5, 18, 10, 0)), minutes="*"),
    ],
    ids=["plain", "calendar", "bounded", "weekdays", "daily", "dated", "ends of days", "one-minute"],
)
@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2027-05-10T00:00", "2027-05-31T23:59:59"),
        ("2027-05-14T09:30", "2027-05-20T09:30"),
        ("2027-05-14T09:30:01", "2027-05-20T09:29:59"),
        ("2027-05-20T09:10", "2027-05-20T10:10"),
        ("2027-05-20T09:10", "2027-05-21T09:10"),
        ("2027-05-20T09:30", "2027-05-20T09:30"),
        ("2027-05-20T09:30", "2027-05-20T09:29:59"),
        ("2027-05-30T09:30", "2027-05-20T09:30"),
    ],
)
def test_counting_agrees_with_walking(times: NamedTimes, since: str, until: str) -> None:
    """Sums and products in place of steps, exact at both ends."""
    assert times.count(wall(since), wall(until)) == walked(times, wall(since), wall(until))
