"""How named times become instants: on the wall, or in real time.

Two ways through a clock change (DESIGN 8 row 4, which follows Debian's cron):

- `OnTheWall`, for jobs at fixed times: each named time runs once. One that comes twice runs the first time; those that
  a gap swallows run at its end, all of them together once.
- `InRealTime`, for cron with a wildcard minute or hour: the job runs whenever the wall shows a named time, so twice in
  a repeated hour and not at all in a missing one.

What always holds: `first` goes through a schedule's firings in ascending order and never names an instant twice, and
`count` is the number of steps it would take. A firing is (instant, landing day), in this room's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, local_of
from pyscheduler.timetable.named import NamedTimes
from pyscheduler.timetable.zone import Stretch, Zone

Landing = tuple[int, int]
"""An instant and the day it belongs to."""


class Walk(Protocol):
    """The firings of one schedule."""

    def first(self, second: int) -> Landing | None:
        """Return the first firing at `second` or later."""
        ...

    def count(self, first: int, last: int) -> int:
        """Return how many firings lie from `first` to `last`, both included."""
        ...

    def on(self, day: int) -> Iterator[int]:
        """Return the instants that belong to a landing day, ascending."""
        ...

    def change(self, second: int) -> str:
        """Say what a clock change did to the firing at `second`; empty where nothing."""
        ...


class OnTheWall:
    """Named times that each run once."""

    __slots__ = ("_named", "_zone")

    def __init__(self, named: NamedTimes, zone: Zone) -> None:
        self._named, self._zone = named, zone

    def first(self, second: int) -> Landing | None:
        wall = self._named.first(self._zone.wall_from(second))
        return None if wall is None else (self._zone.first_pass(wall), wall // DAY_S)

    def count(self, first: int, last: int) -> int:
        total = self._named.count(self._zone.wall_from(first), self._zone.wall_from(last + 1) - 1)
        for stretch in _stretches(self._zone, first, last):
            if stretch.opens < stretch.begins and stretch.start >= first:
                total -= max(self._named.count(stretch.opens, stretch.begins) - 1, 0)
        return total

    def on(self, day: int) -> Iterator[int]:
        before = None
        wall = self._named.first(day * DAY_S)
        while wall is not None and wall // DAY_S == day:
            second = self._zone.first_pass(wall)
            if second != before:
                yield second
            before = second
            wall = self._named.first(wall + 1)

    def change(self, second: int) -> str:
        stretch = self._zone.stretch_at(second)
        if second == stretch.start and stretch.opens < stretch.begins:
            wall = self._named.first(stretch.opens)
            if wall is not None and wall < stretch.begins:
                return f"{clock(wall)} does not exist, {_jump(stretch)}: runs at the end of the gap"
        after = self._zone.stretch_at(stretch.end)
        if second + stretch.offset >= after.begins:
            return f"{clock(second + stretch.offset)} comes twice, {_jump(after)}: runs the first time only"
        return ""


class InRealTime:
    """Named times that run whenever the wall shows them."""

    __slots__ = ("_named", "_zone")

    def __init__(self, named: NamedTimes, zone: Zone) -> None:
        self._named, self._zone = named, zone

    def first(self, second: int) -> Landing | None:
        stretch = self._zone.stretch_at(second)
        searched = max(second, 0) + stretch.offset
        wall = self._named.first(searched)
        while wall is not None and wall >= stretch.closes:
            stretch = self._zone.stretch_at(stretch.end)
            # Where this stretch begins behind a gap, what was found may lie in the gap; where it begins with a fold,
            # times from before the search are shown again.
            if wall < stretch.begins or stretch.begins <= searched:
                searched = stretch.begins
                wall = self._named.first(searched)
        return None if wall is None else (wall - stretch.offset, wall // DAY_S)

    def count(self, first: int, last: int) -> int:
        return sum(
            self._named.count(max(first, it.start) + it.offset, min(last, it.end - 1) + it.offset)
            for it in _stretches(self._zone, first, last)
        )

    def on(self, day: int) -> Iterator[int]:
        midnight = day * DAY_S
        for stretch in _stretches(self._zone, midnight - 2 * DAY_S, midnight + 3 * DAY_S):
            wall = self._named.first(max(stretch.begins, midnight))
            while wall is not None and wall < min(stretch.closes, midnight + DAY_S):
                yield wall - stretch.offset
                wall = self._named.first(wall + 1)

    def change(self, second: int) -> str:
        stretch = self._zone.stretch_at(second)
        wall = second + stretch.offset
        after = self._zone.stretch_at(stretch.end)
        if wall < stretch.opens:
            return f"{clock(wall)} comes twice, {_jump(stretch)}: a wildcard minute or hour runs both times"
        if wall >= after.begins:
            return f"{clock(wall)} comes twice, {_jump(after)}: a wildcard minute or hour runs both times"
        return ""


class Moment:
    """One instant, whatever the wall shows then: the beginning of a boot."""

    __slots__ = ("_day", "_second")

    def __init__(self, second: int, day: int) -> None:
        self._second, self._day = second, day

    def first(self, second: int) -> Landing | None:
        return (self._second, self._day) if second <= self._second else None

    def count(self, first: int, last: int) -> int:
        return int(first <= self._second <= last)

    def on(self, day: int) -> Iterator[int]:
        return iter((self._second,) if day == self._day else ())

    def change(self, second: int) -> str:
        return ""


def _stretches(zone: Zone, first: int, last: int) -> Iterator[Stretch]:
    """Yield the stretches that hold the instants from `first` to `last`."""
    last = min(last, LAST_SECOND)
    stretch = zone.stretch_at(first)
    while stretch.start <= last:
        yield stretch
        stretch = zone.stretch_at(stretch.end)


def clock(wall: int) -> str:
    """Return a wall second as a clock shows it: `02:30`, with seconds only where there are any."""
    local = local_of(wall)
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _jump(stretch: Stretch) -> str:
    """Say which change opens a stretch."""
    direction = "forward" if stretch.opens < stretch.begins else "back"
    day = local_of(stretch.opens).date()
    return f"clocks go {direction} from {clock(stretch.opens)} to {clock(stretch.begins)} on {day}"
