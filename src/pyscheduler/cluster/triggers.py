"""When a task is due: cron text, every so often, or a function of the last date. Spec: claims.md A1.

What must always hold: a trigger is a pure function, the same in every process: where two schedulers ask for the dates
between two instants they get the same ones, and each later date is strictly later. What makes no sense is refused when
the trigger is made. Cron is the house's own `timetable`; `every` counts multiples from its anchor, so it never drifts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from pyscheduler.cluster.durations import seconds_of
from pyscheduler.errors import BadSchedule, NaiveTime
from pyscheduler.model.firing import Firing, Missed
from pyscheduler.model.job import CronSpec, EverySpec
from pyscheduler.timetable import (
    ALL_DAYS,
    ScheduleError,
    Timetable,
    UnknownZone,
    check_can_fire,
    compile_schedule,
    spec_from_text,
    zone,
)
from pyscheduler.timetable.wording import duration_text

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MOST_LOOKED_AT: Final = 1_000_000
"""Dates of a callback that are looked through for the missed ones; more is a callback that does not move on."""


class Trigger(Protocol):
    """When a task is due."""

    @property
    def label(self) -> str:
        """How it is written in lists and messages."""
        ...

    def next(self, after: datetime) -> Firing | None:
        """Return the first due instant strictly after `after` (aware), None where there is none any more."""
        ...

    def missed(self, since: datetime, until: datetime, keep: int) -> Missed:
        """Return what lies in (since, until]: how many, the first, the last, and the newest `keep`, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class Dated:
    """A trigger by a timetable: cron text, or a configured job's schedules."""

    timetable: Timetable
    label: str

    def next(self, after: datetime) -> Firing | None:
        """Return the first due instant strictly after `after`."""
        return self.timetable.next(after)

    def missed(self, since: datetime, until: datetime, keep: int) -> Missed:
        """Return what lies in (since, until]."""
        return self.timetable.missed(since, until, keep)


@dataclass(frozen=True, slots=True)
class Every:
    """Multiples of a step, counted from the anchor, which is the first date; the end is inclusive."""

    step: timedelta
    anchor: datetime
    end: datetime | None
    label: str

    def next(self, after: datetime) -> Firing | None:
        """Return the first multiple strictly after `after`."""
        at = self._at(max(0, (after - self.anchor) // self.step + 1))
        return None if at is None else _firing(at)

    def missed(self, since: datetime, until: datetime, keep: int) -> Missed:
        """Return what lies in (since, until], by arithmetic."""
        until = until if self.end is None else min(until, self.end)
        first, last = max(0, (since - self.anchor) // self.step + 1), (until - self.anchor) // self.step
        if last < first:
            return Missed(0, None, None, ())
        numbers = range(max(first, last - keep + 1), last + 1) if keep > 0 else range(0)
        newest = tuple(_firing(self.anchor + number * self.step) for number in numbers)
        begin, end = (_firing(self.anchor + number * self.step) for number in (first, last))
        return Missed(last - first + 1, begin, end, newest)

    def _at(self, number: int) -> datetime | None:
        try:
            at = self.anchor + number * self.step
        except OverflowError:
            return None
        return None if self.end is not None and at > self.end else at


@dataclass(frozen=True, slots=True)
class Callback:
    """Any function from a date to a strictly later one, or None where it is exhausted."""

    function: Callable[[datetime], datetime | None]
    label: str

    def next(self, after: datetime) -> Firing | None:
        """Return what the function says comes after `after`. Raises BadSchedule where that is not later."""
        at = self.function(after)
        if at is None:
            return None
        if at.tzinfo is None:
            raise NaiveTime(f"{self.label} returned {at} without a time zone", mend="return an aware datetime")
        if at <= after:
            raise BadSchedule(f"{self.label} returned {at}, which is not later than {after}.")
        return _firing(at.astimezone(UTC))

    def missed(self, since: datetime, until: datetime, keep: int) -> Missed:
        """Return what lies in (since, until], asking for one date after the other."""
        newest: deque[Firing] = deque(maxlen=max(keep, 1))
        count, first = 0, None
        for firing in self._walk(since, until):
            count, first = count + 1, first or firing
            newest.append(firing)
        return Missed(count, first, newest[-1] if newest else None, tuple(newest) if keep > 0 else ())

    def _walk(self, since: datetime, until: datetime) -> Iterator[Firing]:
        for _ in range(MOST_LOOKED_AT):
            firing = self.next(since)
            if firing is None or firing.scheduled_at > until:
                return
            yield firing
            since = firing.scheduled_at
        raise BadSchedule(f"{self.label} names more than {MOST_LOOKED_AT:,} dates up to {until}.")


def cron(text: str, *, timezone: str = "UTC") -> Trigger:
    """Return the trigger of a cron expression of five or six fields, or a macro, in an IANA zone. BadSchedule."""
    try:
        spec = spec_from_text(text)
        if not isinstance(spec, CronSpec | EverySpec):
            raise BadSchedule(f"The trigger {text!r} belongs to a scheduler that knows its machine's boot.")
        check_can_fire(spec, timezone)
        table = Timetable((compile_schedule(spec, timezone),), zone(timezone), ALL_DAYS)
    except (ScheduleError, UnknownZone) as error:
        raise BadSchedule(f"The trigger {text!r} makes no sense: {error}") from error
    return Dated(table, f"cron({text})" if timezone == "UTC" else f"cron({text}, {timezone})")


def every(length: object, *, start: datetime | None = None, end: datetime | None = None) -> Trigger:
    """Return the trigger of a step: seconds, a timedelta, or a text such as `20m`; a second or more.

    With `start` that is the first date and the others are counted from it; without, multiples since 1970, so that
    every process counts alike. `end` is inclusive. Both are aware. Raises BadSchedule, NaiveTime.
    """
    seconds = seconds_of(length, "The interval")
    if seconds < 1:
        raise BadSchedule("The interval must be a second or more.")
    for at in (start, end):
        if at is not None and at.tzinfo is None:
            raise NaiveTime(f"the bound {at} has no time zone", mend="give an aware datetime")
    if start is not None and end is not None and end < start:
        raise BadSchedule("The interval's end lies before its start.")
    anchor = EPOCH if start is None else start.astimezone(UTC)
    words = duration_text(int(seconds)) if seconds == int(seconds) else f"{seconds:g} seconds"
    return Every(timedelta(seconds=seconds), anchor, None if end is None else end.astimezone(UTC), f"every({words})")


def callback(function: Callable[[datetime], datetime | None], label: str) -> Trigger:
    """Return the trigger of a function from a date to the next one; `label` is how lists name it. BadSchedule."""
    if not callable(function):
        raise BadSchedule(f"The trigger {label!r} needs a function from a date to the next.")
    if not label.strip():
        raise BadSchedule("A callback needs a label: it is how lists name the trigger.")
    return Callback(function, label)


def trigger_of(given: object, *, timezone: str = "UTC") -> Trigger:
    """Return the trigger that a task was given: one of this module, cron text, or a timedelta. Raises BadSchedule."""
    match given:
        case str():
            return cron(given, timezone=timezone)
        case timedelta():
            return every(given)
        case Dated() | Every() | Callback():
            return given
        case _ if hasattr(given, "next") and hasattr(given, "missed") and hasattr(given, "label"):
            own: Trigger = given
            return own
        case _:
            raise BadSchedule("A trigger is cron text, every(…), callback(…) or an object with next and missed.")


def _firing(at: datetime) -> Firing:
    return Firing(at, at.date())
