"""`every`: steps of real elapsed time from the opening of a window, one window a landing day. Spec: jobs.md 2.2, 2.4.

A window without `between` is the whole local day, so the steps begin anew at each local midnight and keep their phase
over restarts and reloads (field case FC-080); a day of 23 or 25 hours has fewer or more of them. A window that crosses
midnight belongs to the day on which it opened. Window bounds are wall times and move as any fixed time does.

What always holds: windows never run into the next one by more than a shared instant, which fires once, for the earlier
day; exclude windows drop a step by what the wall shows at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyscheduler.timetable.days import LandingDays
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.moments import DAY_S
from pyscheduler.timetable.walks import Landing
from pyscheduler.timetable.zone import Zone

_DAYS_IN_VAIN: Final = 1464
"""So many windows without a free step are enough to say "never" (spec: jobs.md 2.3): windows lie on days of the week or
the month, not on 29 February, and dated exclude windows are jumped over."""


class Steps:
    """Steps of `step` seconds, from `opens` to `closes` (seconds of the day, the end included)."""

    __slots__ = ("_closes", "_days", "_excluded", "_opens", "_step", "_zone")

    def __init__(
        self, days: LandingDays, zone: Zone, excluded: Excluded, *, step: int, opens: int, closes: int
    ) -> None:
        self._days, self._zone, self._excluded = days, zone, excluded
        self._step, self._opens = step, opens
        self._closes = closes if closes >= opens else closes + DAY_S

    def first(self, second: int) -> Landing | None:
        second = max(second, 0)
        day = self._days.first(self._zone.day_at(second) - 1)
        for _ in range(_DAYS_IN_VAIN):
            if day is None:
                return None
            opens, closes = self._window(day)
            at = self._free_step(opens, closes, second)
            if at is not None:
                return at, day
            taken = self._excluded.dated_end_of(closes + self._zone.offset_at(closes))
            day = self._days.first(max(day + 1, (taken or 0) // DAY_S - 1))
        return None

    def count(self, first: int, last: int) -> int:
        total, before = 0, -1
        day = self._days.first(self._zone.day_at(first) - 1)
        end = self._zone.day_at(last) + 1
        while day is not None and day <= end:
            opens, closes = self._window(day)
            total += self._count_window(opens, closes, max(first, before + 1), last)
            if closes >= opens:
                before = closes - (closes - opens) % self._step
            day = self._days.first(day + 1)
        return total

    def on(self, day: int) -> Iterator[int]:
        if not self._days.names(day):
            return
        opens, closes = self._window(day)
        at = self._free_step(opens, closes, opens)
        while at is not None:
            yield at
            at = self._free_step(opens, closes, at + 1)

    def change(self, second: int) -> str:
        day = self._zone.day_at(second)
        for named in (day - 1, day, day + 1):
            opens, closes = self._window(named)
            holds = self._days.names(named) and opens <= second <= closes
            if holds and self._zone.offset_at(opens) != self._zone.offset_at(second):
                return "the clocks changed in this window: steps are counted in real time"
        return ""

    def _window(self, day: int) -> tuple[int, int]:
        midnight = day * DAY_S
        opens = self._zone.first_pass(midnight + self._opens)
        if self._closes - self._opens == DAY_S:  # the whole day, up to the next midnight and without it
            return opens, self._zone.first_pass(midnight + DAY_S) - 1
        return opens, self._zone.first_pass(midnight + self._closes)

    def _free_step(self, opens: int, closes: int, second: int) -> int | None:
        """Return the first step of a window at `second` or later that is not excluded."""
        at = opens + _steps_to(second - opens, self._step) * self._step
        while at <= closes:
            stretch = self._zone.stretch_at(at)
            taken = self._excluded.end_of(at + stretch.offset) if self._excluded else None
            if taken is None:
                return at
            beyond = min(taken + 1 - stretch.offset, stretch.end)
            at = opens + _steps_to(beyond - opens, self._step) * self._step
        return None

    def _count_window(self, opens: int, closes: int, first: int, last: int) -> int:
        first, last = max(first, opens), min(last, closes)
        if not self._excluded:
            return _count_steps(opens, self._step, first, last)
        total = 0
        while first <= last:
            stretch = self._zone.stretch_at(first)
            wall = first + stretch.offset
            midnight = wall - wall % DAY_S - stretch.offset  # of this wall day, as an instant of this stretch
            end = min(last, stretch.end - 1, midnight + DAY_S - 1)
            for start, stop in self._excluded.free(wall // DAY_S):
                total += _count_steps(opens, self._step, max(first, midnight + start), min(end, midnight + stop))
            first = end + 1
        return total


def _steps_to(distance: int, step: int) -> int:
    """Return how many steps lead to a distance or beyond it; none to what lies behind."""
    return max(-(-distance // step), 0)


def _count_steps(opens: int, step: int, first: int, last: int) -> int:
    """Count opens, opens + step, ... from `first` (not before `opens`) to `last`."""
    if last < first:
        return 0
    return (last - opens) // step - _steps_to(first - opens, step) + 1
