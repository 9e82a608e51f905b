"""Named times: the wall seconds that a schedule names, before any clock has had its say.

Landing days times times of day, less the exclude windows. What always holds: `count` says how many steps `first` would
take, without taking them: a day is a sum, and days alike are a product (field case FC-024).
"""

from __future__ import annotations

from pyscheduler.timetable.days import LandingDays
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.moments import DAY_S, HORIZON_DAYS
from pyscheduler.timetable.times import Times


class NamedTimes:
    """Wall seconds, ascending."""

    __slots__ = ("_per_day", "days", "excluded", "times")

    def __init__(self, days: LandingDays, times: Times, excluded: Excluded) -> None:
        self.days, self.times, self.excluded = days, times, excluded
        self._per_day = sum(times.before(last + 1) - times.before(first) for first, last in excluded.daily_free)

    def first(self, wall: int) -> int | None:
        """Return the first named wall second, `wall` or later; None where fifty years hold none."""
        if not self._per_day:
            return None
        day, second = divmod(wall, DAY_S)
        limit = None
        while True:
            named = self.days.first(day)
            if named is None or (limit is not None and named > limit):
                return None
            at = self.times.first(second if named == day else 0)
            if at is None:
                day, second = named + 1, 0
                continue
            taken = self.excluded.end_of(named * DAY_S + at) if self.excluded else None
            if taken is None:
                return named * DAY_S + at
            limit = named + HORIZON_DAYS if limit is None else limit
            day, second = divmod(taken + 1, DAY_S)

    def count(self, first: int, last: int) -> int:
        """Return how many wall seconds from `first` to `last`, both included, are named."""
        if last < first:
            return 0
        first_day, first_second = divmod(first, DAY_S)
        last_day, last_second = divmod(last, DAY_S)
        if first_day == last_day:
            return self._on(first_day, first_second, last_second)
        edges = self._on(first_day, first_second, DAY_S - 1) + self._on(last_day, 0, last_second)
        return edges + self._whole_days(first_day + 1, last_day - 1)

    def _on(self, day: int, first: int, last: int) -> int:
        """Count the seconds of one day, `first` to `last` of it."""
        if not self.days.names(day):
            return 0
        spans = ((max(start, first), min(end, last)) for start, end in self.excluded.free(day))
        return sum(self.times.before(end + 1) - self.times.before(start) for start, end in spans if start <= end)

    def _whole_days(self, first: int, last: int) -> int:
        if last < first:
            return 0
        alike = not self.excluded.touches(first * DAY_S, last * DAY_S + DAY_S - 1)
        if alike and self.days.is_every_day:
            days = min(last, self.days.last_day) - max(first, self.days.first_day) + 1
            return max(days, 0) * self._per_day
        total, day = 0, self.days.first(first)
        while day is not None and day <= last:
            total += self._per_day if alike else self._on(day, 0, DAY_S - 1)
            day = self.days.first(day + 1)
        return total
