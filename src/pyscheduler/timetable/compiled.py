"""A compiled schedule: it answers when, and never changes.

What always holds: a schedule depends on nothing but what it was compiled from and the zone data, and is shared by all
jobs that say the same. Its firings carry the landing day as run date; a job's own rule is applied in `firings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from pyscheduler.model.firing import Firing
from pyscheduler.model.job import ScheduleSpec
from pyscheduler.timetable.days import LandingDays
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.moments import LAST_SECOND, date_of, instant_of, second_of
from pyscheduler.timetable.walks import Landing, Walk
from pyscheduler.timetable.wording import schedule_text
from pyscheduler.timetable.zone import Zone


class Schedule:
    """One schedule of one job, or of many. Immutable; pickled as the call that made it."""

    __slots__ = ("_made_by", "_walk", "days", "excluded", "spec", "zone")

    def __init__(
        self,
        spec: ScheduleSpec,
        zone: Zone,
        days: LandingDays,
        excluded: Excluded,
        walk: Walk,
        made_by: tuple[Callable[..., Schedule], tuple[Any, ...]],
    ) -> None:
        self.spec, self.zone, self.days, self.excluded = spec, zone, days, excluded
        self._walk, self._made_by = walk, made_by

    def __reduce__(self) -> tuple[Callable[..., Schedule], tuple[Any, ...]]:
        return self._made_by

    def __repr__(self) -> str:
        return f"<Schedule {self.text()} in {self.zone.name}>"

    def next(self, after: datetime) -> Firing | None:
        """Return the first firing strictly after `after` (aware); None where fifty years hold none. NaiveTime."""
        found = self.first(second_of(after) + 1)
        return None if found is None else Firing(instant_of(found[0]), date_of(found[1]))

    def between(self, since: datetime, until: datetime) -> Iterator[Firing]:
        """Yield the firings in (since, until], ascending. NaiveTime."""
        second, last = second_of(since) + 1, second_of(until)
        while (found := self.first(second)) is not None and found[0] <= last:
            yield Firing(instant_of(found[0]), date_of(found[1]))
            second = found[0] + 1

    def text(self) -> str:
        """Return the schedule in words (spec: jobs.md 13.5)."""
        return schedule_text(self.spec)

    # ----------------------------------------------------------------------- in numbers, for this room

    def first(self, second: int) -> Landing | None:
        """Return the first firing at `second` or later as (instant, landing day)."""
        found = self._walk.first(second)
        return None if found is None or found[0] > LAST_SECOND else found

    def count(self, first: int, last: int) -> int:
        """Return how many firings lie from `first` to `last`, both included, by arithmetic."""
        return self._walk.count(max(first, 0), min(last, LAST_SECOND)) if first <= last else 0

    def on(self, day: int) -> Iterator[int]:
        """Yield the instants that belong to a landing day, ascending."""
        return self._walk.on(day)

    def change(self, second: int) -> str:
        """Say what a clock change did to the firing at `second`; empty where nothing, or where none is."""
        found = self.first(second)
        return self._walk.change(second) if found is not None and found[0] == second else ""

    def why_not(self, day: int) -> str:
        """Say what keeps a landing day that the bare rule names from firing; empty where the rule does not name it."""
        reason = self.days.why_not(day)
        if reason or not self.days.names(day) or next(self.on(day), None) is not None:
            return reason
        if self.excluded:
            return f"its exclude windows cover every time on {date_of(day)}"
        return f"the clocks of {self.zone.name} leave out every time it names on {date_of(day)}"
