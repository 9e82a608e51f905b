"""A stretch of days as the bits of one whole number, so that joining and comparing a year of dates is one operation.

Bit 0 is the first day of the stretch. Days beyond it do not exist: what is moved over the edge is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from pyscheduler.timetable.calendars import BusinessCalendar
from pyscheduler.timetable.compiled import Schedule
from pyscheduler.timetable.moments import day_of


class Stretch:
    """`length` days from `first` on, and how calendars move dates within them."""

    def __init__(self, first: date, length: int) -> None:
        self.first, self.length = first, length
        self._shifts: dict[tuple[BusinessCalendar, int], tuple[int | None, ...]] = {}

    def day(self, number: int) -> date:
        """Return the day of a bit."""
        return self.first + timedelta(days=number)

    def landing_days(self, schedule: Schedule) -> int:
        """Return the days on which a schedule fires."""
        first = day_of(self.first)
        return sum(1 << day - first for day in landing_days(schedule, first, first + self.length - 1))

    def to_previous(self, bits: int, calendar: BusinessCalendar) -> int:
        """Move each day to the working day before it."""
        moved, last = 0, None
        for number in range(self.length):
            if bits >> number & 1 and last is not None:
                moved |= 1 << last
            if calendar.is_business_day(self.day(number)):
                last = number
        return moved

    def waiting_for(self, bits: int, calendar: BusinessCalendar, offset: int) -> int:
        """Return the days R for which the day `offset` working days from R is among `bits` (spec: jobs.md 4.5)."""
        if offset == 0 or not bits:
            return bits
        table = self._shift_table(calendar, offset)
        return sum(1 << number for number, target in enumerate(table) if target is not None and bits >> target & 1)

    def shifted(self, number: int, calendar: BusinessCalendar, offset: int) -> int | None:
        """Return the day `offset` working days from a day; None for days off and beyond the edge."""
        return number if offset == 0 else self._shift_table(calendar, offset)[number]

    def _shift_table(self, calendar: BusinessCalendar, offset: int) -> tuple[int | None, ...]:
        key = (calendar, offset)
        if key not in self._shifts:
            working = [number for number in range(self.length) if calendar.is_business_day(self.day(number))]
            rank = {number: at for at, number in enumerate(working)}
            targets = (rank[number] + offset if number in rank else -1 for number in range(self.length))
            self._shifts[key] = tuple(working[at] if 0 <= at < len(working) else None for at in targets)
        return self._shifts[key]


def landing_days(schedule: Schedule, first: int, last: int) -> Iterator[int]:
    """Yield the days, as the timetable numbers them, from `first` to `last` on which a schedule fires."""
    day = schedule.days.first(first)
    while day is not None and day <= last:
        if not schedule.excluded or next(schedule.on(day), None) is not None:
            yield day
        day = schedule.days.first(day + 1)
