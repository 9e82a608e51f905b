"""How many firings a stretch of time holds, without walking through them. Field case FC-024.

One schedule counts itself. For several, firings that fall together count once, so a day has to be walked; but days
alike are walked once: what makes a day is how the clocks go around it and which schedules name it and its neighbours.
What always holds: the count is the number of firings that a walk would yield.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyscheduler.timetable.compiled import Schedule
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND
from pyscheduler.timetable.zone import Zone

_SPARE: Final = 32
"""So many firings more than asked for are sooner walked through than avoided."""

_Kind = tuple[object, ...]


def count_firings(schedules: Sequence[Schedule], first: int, last: int) -> int:
    """Return how many instants from `first` to `last`, both included, one schedule or another names."""
    first, last = max(first, 0), min(last, LAST_SECOND)
    if not schedules or first > last:
        return 0
    if len(schedules) == 1:
        return schedules[0].count(first, last)
    total = 0
    known: dict[_Kind, int] = {}
    while first <= last:
        end = min(last, _end_of_day(schedules[0].zone, first))
        kind = _kind(schedules, first, end)
        if not kind or kind not in known:
            known[kind] = _count_together(schedules, first, end)
        total += known[kind]
        first = end + 1
    return total


def newest_from(schedules: Sequence[Schedule], first: int, last: int, keep: int, count: int) -> int:
    """Return an instant from which to `last` there are at least `keep` firings, and not many more; `first` if fewer.

    `count` is how many there are from `first`. The guess is where they would begin if all were evenly spread.
    """
    few, many = last + 1, first  # behind `few` there are fewer than `keep`, behind `many` more than wanted
    guess = first if count <= keep + _SPARE else max(first, last - (last - first) * keep * 2 // count)
    while count > keep + _SPARE:
        found = count_firings(schedules, guess, last)
        if keep <= found <= 2 * keep + _SPARE:
            break
        few, many = (guess, many) if found < keep else (few, guess)
        guess = (few + many) // 2
    return guess


def _end_of_day(zone: Zone, second: int) -> int:
    """Return the last instant of the local day that holds `second`, or of the stretch of constant offset."""
    stretch = zone.stretch_at(second)
    return min(second + DAY_S - (second + stretch.offset) % DAY_S, stretch.end) - 1


def _kind(schedules: Sequence[Schedule], first: int, end: int) -> _Kind:
    """Return what makes this part of a local day like others; empty where a dated window makes it like no other."""
    zone = schedules[0].zone
    day, second = divmod(first + zone.offset_at(first), DAY_S)
    if any(schedule.excluded.touches((day - 1) * DAY_S, (day + 2) * DAY_S) for schedule in schedules):
        return ()
    named = [schedule.days.names(near) for schedule in schedules for near in (day - 1, day, day + 1)]
    return (second, end - first, _clocks(zone, first), *named)


def _clocks(zone: Zone, around: int) -> tuple[tuple[int, int], ...]:
    """Return how the clocks change within two days of an instant: (seconds from it, new offset less the old)."""
    changes = []
    stretch = zone.stretch_at(around - 2 * DAY_S)
    while stretch.end <= around + 2 * DAY_S:
        after = zone.stretch_at(stretch.end)
        if after.offset != stretch.offset:
            changes.append((after.start - around, after.offset - stretch.offset))
        stretch = after
    return tuple(changes)


def _count_together(schedules: Sequence[Schedule], first: int, last: int) -> int:
    counts = [schedule.count(first, last) for schedule in schedules]
    if sum(counts) == max(counts) or max(counts) > last - first:
        return max(counts)  # nothing to fall together with, or every second is taken
    return len({second for schedule in schedules for second in _seconds(schedule, first, last)})


def _seconds(schedule: Schedule, first: int, last: int) -> list[int]:
    seconds = []
    while (found := schedule.first(first)) is not None and found[0] <= last:
        seconds.append(found[0])
        first = found[0] + 1
    return seconds
