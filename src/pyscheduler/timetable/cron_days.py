"""The day fields of a cron expression: cronsim reads them and says whether a date matches.

This subclass adds what the library lacks: `nW` and `L-n`, and the choice between two readings of "both day fields are
restricted" (DESIGN 8, jobs.md 2.1; field case FC-002):

- `lone`: a field is unrestricted only where it is a lone `*`. `*/2` restricts; both restricted: either may match.
- `leading`: Debian's rule, a field that begins with `*` counts as a star; then both must match.

Which days of a month match hangs on nothing but the month's length and first weekday, whatever the expression. There
are 28 such shapes, so a search asks the library once for each and then steps from month to month: fifty years cost
less than a millisecond.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache

from cronsim import CronSim

from pyscheduler.timetable.cron_text import CronText
from pyscheduler.timetable.days import EVERY_DAY, DayRule
from pyscheduler.timetable.moments import HORIZON_DAYS, LAST_DAY, date_of, day_of

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
        self._shapes: dict[tuple[int, int], tuple[int, ...]] = {}

    def names(self, day: int) -> bool:
        local = date_of(day)
        return local.month in self.months and local.day in self._days_of(local.year, local.month)

    def first(self, day: int) -> int | None:
        if day > LAST_DAY:
            return None
        start = date_of(max(day, 0))
        begin = start.year * 12 + start.month - 1
        for number in range(begin, min(begin + HORIZON_DAYS // 30, 10000 * 12)):
            year, month = number // 12, number % 12 + 1
            if month not in self.months:
                continue
            days = self._days_of(year, month)
            at = bisect_left(days, start.day) if number == begin else 0
            if at < len(days):
                return day_of(date(year, month, days[at]))
        return None

    def _days_of(self, year: int, month: int) -> tuple[int, ...]:
        """Return the days of a month that match, whether or not the month itself is named."""
        shape = monthrange(year, month)
        if shape not in self._shapes:
            days = range(1, shape[1] + 1)
            self._shapes[shape] = tuple(number for number in days if self.match_day(date(year, month, number)))
        return self._shapes[shape]

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
