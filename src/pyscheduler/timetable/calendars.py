"""Business calendars: which days count as working days, and how to step over the others.

A calendar is made of dates that config has already resolved (holidays of a country, an ICS file, included calendars);
nothing is looked up here. What always holds: `extra_days` beat `holidays`, which beat `weekdays`; every search ends
after 3660 days with None, and so does one that runs out of dates. Spec: jobs.md 1.7, 4.5.
"""

from __future__ import annotations

import calendar as gregorian
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from pyscheduler.model.job import CalendarSpec

SEARCH_DAYS: Final = 3660
"""How far the next or previous working day is looked for."""

_ONE_DAY: Final = timedelta(days=1)
WEEKDAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class BusinessCalendar:
    """Which days are working days. Equal when name and content are.

    `ends` is the last date its sources speak for, None for ever; after it only the weekdays are known, and it goes on.
    """

    name: str
    weekdays: frozenset[int] = frozenset({0, 1, 2, 3, 4})
    holidays: frozenset[date] = frozenset()
    extra_days: frozenset[date] = frozenset()
    ends: date | None = None
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        content = (self.name, self.weekdays, self.holidays, self.extra_days, self.ends)
        object.__setattr__(self, "_hash", hash(content))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # The hash of a text differs from process to process: it is taken again, never carried over.
        return BusinessCalendar, (self.name, self.weekdays, self.holidays, self.extra_days, self.ends)

    @classmethod
    def of(cls, spec: CalendarSpec) -> BusinessCalendar:
        """Return the calendar that a configuration describes."""
        return cls(spec.name, spec.weekdays, spec.holidays, spec.extra_days, spec.ends)

    def is_business_day(self, day: date) -> bool:
        """Return whether `day` is a working day."""
        if day in self.extra_days:
            return True
        return day.weekday() in self.weekdays and day not in self.holidays

    def next(self, day: date) -> date | None:
        """Return the first working day strictly after `day`; None where 3660 days hold none."""
        return self._search(day, _ONE_DAY)

    def previous(self, day: date) -> date | None:
        """Return the last working day strictly before `day`; None where 3660 days hold none."""
        return self._search(day, -_ONE_DAY)

    def shift(self, day: date, n: int) -> date | None:
        """Return the date `n` working days after `day` (before it, where `n` is negative).

        0 leaves `day` as it is, also on a day off. From a day off, one step leads to the nearest working day.
        """
        step = _ONE_DAY if n > 0 else -_ONE_DAY
        at: date | None = day
        for _ in range(abs(n)):
            if at is None:
                break
            at = self._search(at, step)
        return at

    def unshift(self, day: date, n: int) -> tuple[date, ...]:
        """Return every run date R that lies `n` working days from `day`: `shift(R, n) == day`.

        R is a working day, and so must `day` be: a hand-made run on a day off has no dependants a day later. With
        `n` 0, R is `day` itself whatever it is: an upstream run by hand on a Saturday takes its dependants along.
        """
        if n == 0:
            return (day,)
        if not self.is_business_day(day):
            return ()
        found = self.shift(day, -n)
        return () if found is None else (found,)

    def nth_of_month(self, year: int, month: int, nth: int) -> date | None:
        """Return the `nth` working day of a month, counted from its end where `nth` is negative; None: too few."""
        last = gregorian.monthrange(year, month)[1]
        numbers = range(1, last + 1) if nth > 0 else range(last, 0, -1)
        missing = abs(nth)
        for number in numbers:
            day = date(year, month, number)
            if self.is_business_day(day):
                missing -= 1
                if missing == 0:
                    return day
        return None

    def why_not(self, day: date) -> str:
        """Say why `day` is no working day, in words; empty where it is one."""
        if self.is_business_day(day):
            return ""
        if day in self.holidays:
            return f"{day} is a holiday of calendar {self.name}"
        return f"{day} is a {WEEKDAY_NAMES[day.weekday()]}, no working day of calendar {self.name}"

    def _search(self, day: date, step: timedelta) -> date | None:
        for _ in range(SEARCH_DAYS):
            try:
                day += step
            except OverflowError:
                return None
            if self.is_business_day(day):
                return day
        return None


ALL_DAYS: Final = BusinessCalendar("none", frozenset(range(7)))
"""The built-in calendar `none`: every day is a working day."""

FAR_DAYS: Final = 400
"""A run date further away than this is taken for a slip of the pen, and remarked upon."""


def remark_on_date(day: date, today: date, calendar: BusinessCalendar) -> str:
    """Return what is odd about a run date that somebody typed: far away, to come, or a day off; empty where nothing."""
    remarks = []
    away = (day - today).days
    if abs(away) > FAR_DAYS:
        remarks.append(f"{day} is {abs(away)} days {'ahead' if away > 0 else 'ago'}")
    elif away > 0:
        remarks.append(f"{day} is still to come")
    if off := calendar.why_not(day):
        remarks.append(off)
    return "; ".join(remarks)
