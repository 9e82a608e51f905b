from __future__ import annotations

from datetime import time

import pytest

from pyscheduler.timetable.times import Grid, Listed, Times, clock_times, cron_times, second_of_day

DAY = 86400


def all_of(times: Times) -> list[int]:
    found, second = [], 0
    while (at := times.first(second)) is not None:
        found.append(at)
        second = at + 1
    return found


@pytest.mark.parametrize(
    ("fields", "count", "first", "last"),
    [
        (("0", "0", "9"), 1, 9 * 3600, 9 * 3600),
        (("0", "*/15", "*"), 96, 0, 23 * 3600 + 45 * 60),
        (("*", "*", "*"), 86400, 0, 86399),
        (("10,50", "5,7", "3-4"), 8, 3 * 3600 + 310, 4 * 3600 + 470),
        (("0", "30", "*/7"), 4, 1800, 21 * 3600 + 1800),
    ],
)
def test_a_grid_names_every_hour_at_every_minute_and_second(
    fields: tuple[str, str, str], count: int, first: int, last: int
) -> None:
    """Three rows of numbers stand for all their combinations, in order."""
    found = all_of(cron_times(*fields))
    assert (len(found), found[0], found[-1]) == (count, first, last)
    assert found == sorted(set(found))


@pytest.mark.parametrize("times", [Grid([3, 4, 23], [0, 5, 7, 59], [0, 10, 59]), Listed([0, 61, 86399]), Listed([])])
def test_counting_before_a_second_agrees_with_walking_to_it(times: Times) -> None:
    """`before` is what `missed` multiplies by days: it must be exact at every second."""
    named = set(all_of(times))
    passed = 0
    for second in range(DAY):
        assert times.before(second) == passed
        passed += second in named
    assert times.before(DAY) == passed == len(named)


def test_first_includes_the_second_it_is_asked_for() -> None:
    """At 09:00:00 the nine o'clock firing is still to come."""
    grid = cron_times("0", "0,30", "9")
    assert [grid.first(it) for it in (0, 32400, 32401, 34200, 34201)] == [32400, 32400, 34200, 34200, None]
    assert Listed([5, 5, 3]).first(4) == 5


def test_clock_times_are_seconds_of_the_day() -> None:
    """In any order, each once."""
    assert second_of_day(time(7, 15, 30)) == 26130
    assert all_of(clock_times([time(19), time(7, 15), time(19)])) == [26100, 68400]
