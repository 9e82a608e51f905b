"""What an action would bring about, before it is taken: whom a new run of a job calls for, which days a backfill fills.

Worked out from the store and the configuration in force, by the engine's own rules for creating runs (spec jobs.md 4.5,
11): reads only, and blocks, so it is for a helper thread. A preview is a promise about now; what others do meanwhile
may change it, and the answer to the action says what was done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from pyscheduler.config import Config
from pyscheduler.engine.actions import BACKFILL_DAYS
from pyscheduler.engine.book import DAY_TRIGGERS
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import DependsOn, Job
from pyscheduler.model.run import Run
from pyscheduler.store.reads import Reads

FOLLOWED: Final = 200
"""Jobs at most that a preview names."""

Day = tuple[str, date]


@dataclass(frozen=True, slots=True)
class Follower:
    """A job that hears of the new run's end. `is_new`: a run of it would be created; `run` is the one it has else."""

    job: str
    run_date: date
    upstream: str
    on: DependsOn
    is_new: bool
    run: Run | None


def followers(config: Config, store: Reads, name: str, day: date) -> list[Follower]:
    """Return who follows a new run of a job's date, nearest first, `FOLLOWED` at most. Raises StoreError."""
    found: dict[Day, Follower] = {}
    ahead: deque[Day] = deque([(name, day)])
    while ahead and len(found) < FOLLOWED:
        level = [ahead.popleft() for _ in range(len(ahead))]
        met = [each for one in level for each in _next_days(config, *one) if each[0] not in found]
        runs = _standing(store, {each[0] for each in met})
        for (job, run_date), upstream, on in met:
            if (job, run_date) in found or (job, run_date) == (name, day) or len(found) >= FOLLOWED:
                continue
            of_day = runs.get((job, run_date), [])
            is_new = config.jobs[job].dependency_only and not any(run.trigger in DAY_TRIGGERS for run in of_day)
            latest = max(of_day, key=lambda run: (run.scheduled_at, run.seq), default=None)
            found[job, run_date] = Follower(job, run_date, upstream, on, is_new, latest)
            if is_new:
                ahead.append((job, run_date))
    return list(found.values())


def _next_days(config: Config, name: str, day: date) -> Iterator[tuple[Day, str, DependsOn]]:
    for dependant in config.dependents(name):
        job = config.jobs[dependant]
        if job.enabled:
            for edge in job.depends_on:
                if edge.job == name:
                    for run_date in config.calendar_for(job).unshift(day, edge.run_date):
                        yield (dependant, run_date), name, edge.on


def _standing(store: Reads, days: set[Day]) -> dict[Day, list[Run]]:
    found: dict[Day, list[Run]] = {}
    for run in store.runs_of_days(days)[0] if days else ():
        found.setdefault((run.job, run.run_date), []).append(run)
    return found


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill of a range would do: the days that get a run, and why the others do not."""

    days: tuple[date, ...]
    with_runs: int
    not_working: int
    never_fires: int


def backfill(config: Config, store: Reads, job: Job, start: date, end: date, now: datetime) -> Backfill:
    """Return which days of a range would get a run. Raises BadRequest for a range that is none, StoreError."""
    if start > end:
        raise BadRequest(f"the range ends on {end}, before it starts on {start}", mend="swap the two dates")
    days = [start + timedelta(days=number) for number in range((end - start).days + 1)]
    if len(days) > BACKFILL_DAYS:
        raise BadRequest(f"the range spans {len(days)} days and a backfill takes {BACKFILL_DAYS}", mend="split it")
    calendar = config.calendar_for(job)
    working = [day for day in days if calendar.is_business_day(day)]
    taken = _standing(store, {(job.name, day) for day in working})
    free = [day for day in working if (job.name, day) not in taken]
    due = [day for day in free if _is_due(config, job, day, now)]
    return Backfill(tuple(due), len(working) - len(free), len(days) - len(working), len(free) - len(due))


def _is_due(config: Config, job: Job, day: date, now: datetime) -> bool:
    """Whether the date has a firing that is past; a job without schedules takes every date."""
    if not job.schedules:
        return True
    first = config.timetable(job.name).first_on(day)
    return first is not None and first.scheduled_at <= now
