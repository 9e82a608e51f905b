"""Whether every schedule can fire, and whether every program is there. Spec: jobs.md 12.2 (Schedules), DESIGN 8 row 17.

A schedule that can never fire is an error; one that has fired for the last time is a warning. Each (schedule, zone,
calendar) is asked once, however many jobs share it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from pyscheduler.config.complaints import shown
from pyscheduler.config.jobs import Draft
from pyscheduler.model.job import CalendarSpec, CronSpec, Job, OnceSpec, ScheduleSpec
from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.cron_text import read_cron
from pyscheduler.timetable.schedule import ScheduleError, check_can_fire

TWO_READINGS: Final = "fires on days that match either day field; Debian's cron would want both to match"
ONE_READING: Final = "write 1-31/2 or 0-6/2 for the first reading, or set scheduler.cron_star: leading for the second"


def check_schedules(drafts: Mapping[str, Draft], calendars: Mapping[str, CalendarSpec], star: str, today: date) -> None:
    """Complain about every schedule that can never fire, or never again. Jobs on an unknown calendar are left out."""
    known: dict[str | None, BusinessCalendar] = {name: BusinessCalendar.of(spec) for name, spec in calendars.items()}
    known[None] = ALL_DAYS
    asked: dict[tuple[ScheduleSpec, str, str | None], ScheduleError | None] = {}
    for draft in drafts.values():
        job = draft.job
        if job.calendar not in known or draft.spot.complaints.full:
            continue
        for number, spec in zip(draft.numbers, job.schedules, strict=True):
            key = (spec, job.timezone, job.calendar)
            if key not in asked:
                asked[key] = _why_never(spec, job.timezone, known[job.calendar], star)
            error = asked[key]
            if error is not None:
                draft.spot.error(("schedule", number), error.what, error.mend)
            elif _is_over(spec, today):
                draft.spot.warning(("schedule", number), "lies in the past: it will not fire any more", "remove it")
            elif star == "lone" and isinstance(spec, CronSpec) and read_cron(spec.text).hangs_on_star:
                draft.spot.warning(("schedule", number), TWO_READINGS, ONE_READING)


def _why_never(spec: ScheduleSpec, zone: str, calendar: BusinessCalendar, star: str) -> ScheduleError | None:
    try:
        check_can_fire(spec, zone, calendar, star)
    except ScheduleError as error:
        return error
    return None


def _is_over(spec: ScheduleSpec, today: date) -> bool:
    if spec.end is not None and spec.end < today:
        return True
    return isinstance(spec, OnceSpec) and spec.at.date() < today


# --------------------------------------------------------------------------- programs


def check_programs(drafts: Mapping[str, Draft], env_path: str) -> None:
    """Warn of list commands whose program is not there. `env_path` is the PATH a job inherits.

    Only what can be known is said: a program with placeholders, a relative one with a slash (it depends on `cwd`), a
    job with a PATH of its own that has placeholders, and jobs on agents are passed over.
    """
    find = lru_cache(maxsize=None)(_is_there)
    for draft in drafts.values():
        program = _program(draft.job)
        path = draft.job.env.get("PATH", env_path)
        if program is None or "{" in path or "$" in path or draft.job.agent or draft.job.agent_tags:
            continue
        if not find(program, path):
            what = f"{shown(program)} is no program" if "/" in program else f"no program {shown(program)} on the PATH"
            draft.spot.warning(("command", 0), what, "the first run would end as a start error")


def _program(job: Job) -> str | None:
    if not isinstance(job.command, tuple):
        return None
    program = job.command[0]
    knowable = "{" not in program and "$" not in program and ("/" not in program or program.startswith("/"))
    return program if knowable else None


def _is_there(program: str, path: str) -> bool:
    if program.startswith("/"):
        return os.path.isfile(program)
    return shutil.which(program, path=path) is not None
