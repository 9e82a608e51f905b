"""Landing days: which local dates a schedule fires on.

A *rule* is what the schedule itself says (a cron expression's day fields, every day, the n-th working day of a month).
`LandingDays` puts the filters over it that any schedule may have beside: weekdays, months, first and last date, and the
job's calendar. What always holds: `first` and `names` agree, and a search ends after fifty years with None.
Spec: jobs.md 2.2, 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Protocol

from pyscheduler.model.job import ScheduleSpec
from pyscheduler.timetable.calendars import ALL_DAYS, WEEKDAY_NAMES, BusinessCalendar
from pyscheduler.timetable.moments import HORIZON_DAYS, LAST_DAY, date_of, day_of


class DayRule(Protocol):
    """Which days a schedule names by itself. Days are numbers from 0 to LAST_DAY."""

    def names(self, day: int) -> bool:
        """Return whether the rule names this day."""
        ...

    def first(self, day: int) -> int | None:
        """Return the first day it names, `day` or later; None where fifty years hold none."""
        ...


class EveryDay:
    """All days."""

    __slots__ = ()

    def names(self, day: int) -> bool:
        return 0 <= day <= LAST_DAY

    def first(self, day: int) -> int | None:
        return max(day, 0) if day <= LAST_DAY else None


EVERY_DAY: Final = EveryDay()


@dataclass(frozen=True, slots=True)
class OneDay:
    """A single date."""

    day: int

    def names(self, day: int) -> bool:
        return day == self.day

    def first(self, day: int) -> int | None:
        return self.day if day <= self.day else None


@dataclass(frozen=True, slots=True)
class MonthlyBusinessDay:
    """The n-th working day of each month, counted from the month's end where n is negative."""

    nth: int
    calendar: BusinessCalendar

    def names(self, day: int) -> bool:
        local = date_of(day)
        return self.calendar.nth_of_month(local.year, local.month, self.nth) == local

    def first(self, day: int) -> int | None:
        start = date_of(max(day, 0)) if day <= LAST_DAY else None
        if start is None:
            return None
        months = start.year * 12 + start.month - 1
        for month in range(months, min(months + HORIZON_DAYS // 30, 9999 * 12 + 12)):
            found = self.calendar.nth_of_month(month // 12, month % 12 + 1, self.nth)
            if found is not None and found >= start:
                return day_of(found)
        return None


class LandingDays:
    """A rule and the filters over it."""

    __slots__ = ("_filtered", "calendar", "first_day", "last_day", "months", "rule", "weekdays")

    def __init__(self, rule: DayRule, spec: ScheduleSpec, calendar: BusinessCalendar) -> None:
        self.rule = rule
        self.calendar = calendar
        self.weekdays, self.months = frozenset(spec.days), frozenset(spec.months)
        self.first_day = 0 if spec.start is None else max(day_of(spec.start), 0)
        self.last_day = LAST_DAY if spec.end is None else day_of(spec.end)
        self._filtered = bool(self.weekdays or self.months or calendar != ALL_DAYS)

    @property
    def is_every_day(self) -> bool:
        """Whether all days from `first_day` to `last_day` are named."""
        return self.rule is EVERY_DAY and not self._filtered

    def names(self, day: int) -> bool:
        """Return whether the schedule fires on this day at all."""
        return self.first_day <= day <= self.last_day and self.rule.names(day) and not self._drops(day)

    def first(self, day: int) -> int | None:
        """Return the first day the schedule fires on, `day` or later; None where fifty years hold none."""
        found = self.rule.first(max(day, self.first_day))
        if found is None:
            return None
        limit = min(found + HORIZON_DAYS, self.last_day)
        while found is not None and found <= limit:
            if not self._filtered or not self._drops(found):
                return found
            found = self.rule.first(found + 1)
        return None

    def why_not(self, day: int) -> str:
        """Say what drops a day that the bare rule names; empty where nothing does or the rule does not name it."""
        if not 0 <= day <= LAST_DAY or not self.rule.names(day):
            return ""
        local = date_of(day)
        if self.weekdays and local.weekday() not in self.weekdays:
            return f"{local} is a {WEEKDAY_NAMES[local.weekday()]}, which its `days` leave out"
        if self.months and local.month not in self.months:
            return f"month {local.month} is not among its `months`"
        if day < self.first_day:
            return f"the schedule starts on {date_of(self.first_day)}"
        if day > self.last_day:
            return f"the schedule ended on {date_of(self.last_day)}"
        return self.calendar.why_not(local)

    def first_bare(self, day: int) -> int | None:
        """Return the first day, `day` or later, that only the calendar may still drop."""
        found = self.rule.first(max(day, self.first_day))
        limit = self.last_day if found is None else min(found + HORIZON_DAYS, self.last_day)
        while found is not None and found <= limit:
            if not self._left_out(date_of(found)):
                return found
            found = self.rule.first(found + 1)
        return None

    def _drops(self, day: int) -> bool:
        local = date_of(day)
        return self._left_out(local) or not self.calendar.is_business_day(local)

    def _left_out(self, local: date) -> bool:
        if self.weekdays and local.weekday() not in self.weekdays:
            return True
        return bool(self.months) and local.month not in self.months
