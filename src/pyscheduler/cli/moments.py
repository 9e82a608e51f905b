"""Dates and instants as an operator types them, and the windows they make.

A date alone means the whole day in the scheduler's zone: its beginning as a start, its last second as an end. That way
a firing at midnight belongs to the day it opens, whichever end of the window it is on (spec: jobs.md 14.1 has it the
other way round and calls it a trap).
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Self, TypeVar

import click

from pyscheduler.cli.faults import WrongUsage
from pyscheduler.cli.times import Times

T = TypeVar("T", bound=date)
JUST_BEFORE: Final = timedelta(seconds=1)


DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_TIME: Final = re.compile(r"(?:(?P<day>[a-z]+)[ T])?(?P<time>\d{1,2}:\d{2}(?::\d{2})?)")


def _time(text: str) -> time:
    return time.fromisoformat(text if text[2] == ":" else f"0{text}")


class RelativeDay(date):
    """A date that a word means: which one is known once the scheduler's zone is (`settled`)."""

    days: int

    @classmethod
    def of(cls, days: int) -> Self:
        """Return the date so many days after today."""
        found = cls(1, 1, 1)
        found.days = days
        return found


class RelativeTime(datetime):
    """A time of a day that a word means, today's where there is none."""

    days: int

    @classmethod
    def of(cls, days: int, at: time) -> Self:
        """Return the time on the date so many days after today."""
        found = cls(1, 1, 1, at.hour, at.minute, at.second)
        found.days = days
        return found


def settled(moment: T, today: date) -> T:
    """Return the moment as a date or time proper. A datetime stays one, naive where no offset was given."""
    if isinstance(moment, RelativeDay):
        return today + timedelta(days=moment.days)  # type: ignore[return-value]
    if isinstance(moment, RelativeTime):
        return datetime.combine(today + timedelta(days=moment.days), moment.time())  # type: ignore[return-value]
    return moment


class MomentType(click.ParamType[date]):
    """A date, or an ISO 8601 instant; without an offset it is read in the scheduler's zone. Or a word, a time alone."""

    name = "date or time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return a date or a datetime, naive where no offset was given; a usage error for anything else."""
        if isinstance(value, date):
            return value
        try:
            if value in DAYS:
                return RelativeDay.of(DAYS[value])
            if (match := _TIME.fullmatch(value)) is not None:
                return RelativeTime.of(DAYS[match["day"] or "today"], _time(match["time"]))
            return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except (ValueError, KeyError):
            what = f"{value!r} is no date or time; write 2027-05-20, 2027-05-20T06:30, 06:30, today or yesterday"
            self.fail(what, param, ctx)


MOMENT: Final = MomentType()


class DateType(click.ParamType[date]):
    """A date such as 2027-05-20, or a word for one."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return the date; a usage error for anything else."""
        if isinstance(value, date):
            return value
        if value in DAYS:
            return RelativeDay.of(DAYS[value])
        try:
            if len(value) != 10:
                raise ValueError
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no date; write it as 2027-05-20, or today, yesterday, tomorrow", param, ctx)


DATE: Final = DateType()


def window(
    start: date | None, end: date | None, zone_name: str, now: datetime, *, days: int, at_most: int
) -> tuple[datetime, datetime]:
    """Return the instants (since, until] that two typed moments mean, both aware.

    Without a start it is now, without an end `days` after the start. Raises WrongUsage where the window is empty or
    longer than `at_most` days.
    """
    today = Times.of(zone_name).local(now).date()
    start = None if start is None else settled(start, today)
    end = None if end is None else settled(end, today)
    since = now if start is None else start_of(start, zone_name) - JUST_BEFORE
    until = since + timedelta(days=days) if end is None else end_of(end, zone_name)
    if until < since:
        raise WrongUsage(f"the window ends at {end}, before it starts at {start or 'now'}", mend="swap the two")
    if until - since > timedelta(days=at_most + 1):
        raise WrongUsage(f"the window spans {(until - since).days} days", mend=f"ask for {at_most} at most")
    return since, until


def start_of(moment: date, zone_name: str) -> datetime:
    """Return the instant of a moment; a date's first."""
    from pyscheduler.timetable import zone

    if isinstance(moment, datetime):
        return moment if moment.tzinfo is not None else zone(zone_name).resolve(moment).instant
    return zone(zone_name).resolve(datetime.combine(moment, datetime.min.time())).instant


def end_of(moment: date, zone_name: str) -> datetime:
    """Return the instant of a moment; a date's last second."""
    return moment_after(moment, zone_name) - (timedelta(0) if isinstance(moment, datetime) else JUST_BEFORE)


def moment_after(moment: date, zone_name: str) -> datetime:
    """Return the instant before which something belongs to a moment: itself, or the midnight that ends a date."""
    return start_of(moment if isinstance(moment, datetime) else moment + timedelta(days=1), zone_name)
