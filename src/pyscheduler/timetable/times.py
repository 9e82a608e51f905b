"""Times of day: at which seconds of a local day a schedule names a firing, the same on every day.

Two shapes: a grid (every named hour at every named minute and second) and a list. Both answer in a few steps however
many times they name: a grid of 86,400 is three short rows of numbers. Seconds of a day run from 0 to 86,399, as the
clock on the wall shows them; what a clock change makes of them is zone.py's affair.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import time
from functools import lru_cache
from typing import Protocol

from cronsim import CronSim

from pyscheduler.timetable.moments import EPOCH, HOUR_S, MINUTE_S


class Times(Protocol):
    """Which seconds of a day are named."""

    def first(self, second: int) -> int | None:
        """Return the first named second at `second` or later, None where the day has no more."""
        ...

    def before(self, second: int) -> int:
        """Return how many named seconds lie before `second`."""
        ...


class Listed:
    """Times given one by one."""

    __slots__ = ("_seconds",)

    def __init__(self, seconds: Iterable[int]) -> None:
        self._seconds = tuple(sorted(set(seconds)))

    def first(self, second: int) -> int | None:
        at = bisect_left(self._seconds, second)
        return self._seconds[at] if at < len(self._seconds) else None

    def before(self, second: int) -> int:
        return bisect_left(self._seconds, second)


class Grid:
    """Every one of `hours` at every one of `minutes` and `seconds`; none of the three is empty."""

    __slots__ = ("_hours", "_minutes", "_seconds", "_start")

    def __init__(self, hours: Iterable[int], minutes: Iterable[int], seconds: Iterable[int]) -> None:
        self._hours, self._minutes, self._seconds = (tuple(sorted(row)) for row in (hours, minutes, seconds))
        self._start = self._minutes[0] * MINUTE_S + self._seconds[0]

    def first(self, second: int) -> int | None:
        hour, rest = divmod(second, HOUR_S)
        at = bisect_left(self._hours, hour)
        if at == len(self._hours):
            return None
        if self._hours[at] == hour:
            within = self._first_in_hour(rest)
            if within is not None:
                return hour * HOUR_S + within
            at += 1
        return self._hours[at] * HOUR_S + self._start if at < len(self._hours) else None

    def _first_in_hour(self, second: int) -> int | None:
        minute, rest = divmod(second, MINUTE_S)
        at = bisect_left(self._minutes, minute)
        if at < len(self._minutes) and self._minutes[at] == minute:
            within = bisect_left(self._seconds, rest)
            if within < len(self._seconds):
                return minute * MINUTE_S + self._seconds[within]
            at += 1
        return self._minutes[at] * MINUTE_S + self._seconds[0] if at < len(self._minutes) else None

    def before(self, second: int) -> int:
        hour, rest = divmod(second, HOUR_S)
        minute, rest = divmod(rest, MINUTE_S)
        at_hour = bisect_left(self._hours, hour)
        count = at_hour * len(self._minutes) * len(self._seconds)
        if at_hour == len(self._hours) or self._hours[at_hour] != hour:
            return count
        at_minute = bisect_left(self._minutes, minute)
        count += at_minute * len(self._seconds)
        if at_minute == len(self._minutes) or self._minutes[at_minute] != minute:
            return count
        return count + bisect_left(self._seconds, rest)


@lru_cache(maxsize=4096)
def cron_times(seconds: str, minutes: str, hours: str) -> Grid:
    """Return the times of day of three checked cron fields."""
    read = CronSim(f"{seconds} {minutes} {hours} * * *", EPOCH)
    return Grid(read.hours, read.minutes, read.seconds)


def clock_times(times: Iterable[time]) -> Listed:
    """Return the times of day of clock times."""
    return Listed(map(second_of_day, times))


def second_of_day(at: time) -> int:
    """Return a clock time as a second of the day."""
    return at.hour * HOUR_S + at.minute * MINUTE_S + at.second
