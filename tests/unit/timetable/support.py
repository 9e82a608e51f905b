"""What the timetable's unit tests share: short ways to say instants, jobs and rows of firings."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

from pyscheduler.model.firing import Firing
from pyscheduler.model.job import CronSpec, Job, ScheduleSpec, SourceRef
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar, Schedule, Timetable, compile_schedule

UK_2027 = BusinessCalendar("uk", holidays=frozenset({date(2027, 5, 17)}))
"""Monday to Friday, with a holiday on Monday 17 May 2027: the calendar of the spec's examples."""

FOREVER = datetime.max.replace(tzinfo=UTC)


def at(text: str) -> datetime:
    """Return the instant of a text such as `2027-05-20T10:00`, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def day(text: str) -> date:
    return date.fromisoformat(text)


def compiled(
    spec: ScheduleSpec | str, zone: str = "UTC", calendar: BusinessCalendar = ALL_DAYS, star: str = "lone"
) -> Schedule:
    return compile_schedule(CronSpec(text=spec) if isinstance(spec, str) else spec, zone, calendar, star=star)


def shown(firing: Firing) -> str:
    return firing.scheduled_at.isoformat()[:19].removesuffix(":00")


def rows(schedule: Schedule | Timetable, since: str, count: int) -> list[str]:
    """Return the first `count` firings after `since`, as UTC texts without seconds where there are none."""
    return [shown(firing) for firing in islice(schedule.between(at(since), FOREVER), count)]


def rows_between(schedule: Schedule | Timetable, since: str, until: str) -> list[str]:
    return [shown(firing) for firing in schedule.between(at(since), at(until))]


def job(*schedules: ScheduleSpec | str, name: str = "nightly", **fields: Any) -> Job:
    specs = tuple(CronSpec(text=it) if isinstance(it, str) else it for it in schedules)
    return Job(name=name, source=SourceRef("pysched.yaml", 1), schedules=specs, **fields)


def timetable(*schedules: ScheduleSpec | str, calendar: BusinessCalendar = ALL_DAYS, **fields: Any) -> Timetable:
    return Timetable.of(job(*schedules, **fields), calendar)
