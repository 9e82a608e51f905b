"""Dates and instants as an operator types them, and the windows they make.

A date alone means the whole day in the scheduler's zone: its beginning as a start, its last second as an end. That way
a firing at midnight belongs to the day it opens, whichever end of the window it is on (spec: jobs.md 14.1 has it the
other way round and calls it a trap).
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Final

import click

from pyscheduler.cli.faults import WrongUsage

JUST_BEFORE: Final = timedelta(seconds=1)


class MomentType(click.ParamType[date]):
    """A date, or an ISO 8601 instant; without an offset it is read in the scheduler's zone."""

    name = "date or time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return a date or a datetime, naive where no offset was given; a usage error for anything else."""
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no date or time; write 2027-05-20, or 2027-05-20T06:30", param, ctx)


MOMENT: Final = MomentType()


def window(
    start: date | None, end: date | None, zone_name: str, now: datetime, *, days: int, at_most: int
) -> tuple[datetime, datetime]:
    """Return the instants (since, until] that two typed moments mean, both aware.

    Without a start it is now, without an end `days` after the start. Raises WrongUsage where the window is empty or
    longer than `at_most` days.
    """
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
