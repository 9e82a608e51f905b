"""The day fields of a cron expression, walked by cronsim.

cronsim reads the fields and steps from day to day; this subclass adds what it lacks: `nW` and `L-n`, and the choice
between two readings of "both day fields are restricted" (DESIGN 8, jobs.md 2.1; field case FC-002):

- `lone`: a field is unrestricted only where it is a lone `*`. `*/2` restricts; both restricted: either may match.
- `leading`: Debian's rule, a field that begins with `*` counts as a star; then both must match.
"""

from __future__ import annotations

from calendar import monthrange
from copy import copy
from dataclasses import replace
from datetime import date, datetime, time
from functools import lru_cache

from cronsim import CronSim

from pyscheduler.timetable.cron_text import CronText
from pyscheduler.timetable.days import EVERY_DAY, DayRule
from pyscheduler.timetable.moments import LAST_DAY, date_of, day_of

STARS = ("lone", "leading")
_ANY_MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001 - days have no zone


class CronDays(CronSim):
    """The days that a cron expression names."""

    def __init__(self, text: CronText, star: str) -> None:
        # The months come apart from the days: cronsim refuses pairs such as 31 and April by a bare field name, where
        # `check_can_fire` says it in words.
        super().__init__(f"0 0 {text.days or '*'} * {text.weekdays}", _ANY_MIDNIGHT)
        self.months = CronSim(f"0 0 * {text.months} *", _ANY_MIDNIGHT).months
        if not text.days:
            self.days = set()
        self._from_end, self._nearest = text.days_from_end, text.nearest_weekdays
        self.day_and = any(_is_star(field, star) for field in text.day_fields)

    def names(self, day: int) -> bool:
        local = date_of(day)
        return local.month in self.months and self.match_day(local)

    def first(self, day: int) -> int | None:
        if day > LAST_DAY:
            return None
        if self.names(max(day, 0)):
            return max(day, 0)
        walker = copy(self)  # the walk moves `dt`; this object is shared and stays as it is
        walker.dt = datetime.combine(date_of(max(day, 0)), time())
        try:
            walker.advance()
        except (StopIteration, OverflowError):
            return None
        return day_of(walker.dt.date())

    def match_dom(self, d: date) -> bool:
        if super().match_dom(d):
            return True
        if self._from_end and monthrange(d.year, d.month)[1] - d.day in self._from_end:
            return True
        return any(_nearest_weekday(d.year, d.month, target) == d.day for target in self._nearest)


def _is_star(field: str, star: str) -> bool:
    return field == "*" if star == "lone" else field.startswith("*")


def _nearest_weekday(year: int, month: int, target: int) -> int | None:
    """Return the day from Monday to Friday nearest to a day of the month, in the same month; None: no such day."""
    last = monthrange(year, month)[1]
    if target > last:
        return None
    weekday = date(year, month, target).weekday()
    if weekday == 5:
        return target - 1 if target > 1 else target + 2
    if weekday == 6:
        return target + 1 if target < last else target - 2
    return target


def cron_days(text: CronText, star: str) -> DayRule:
    """Return the rule for a text's day fields; texts with the same ones share it."""
    return _days(replace(text, seconds="", minutes="", hours=""), star)


@lru_cache(maxsize=4096)
def _days(text: CronText, star: str) -> DayRule:
    return EVERY_DAY if (*text.day_fields, text.months) == ("*", "*", "*") else CronDays(text, star)
