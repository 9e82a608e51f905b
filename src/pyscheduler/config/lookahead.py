"""What will go wrong months from now: runs that would wait for ever, run dates that several runs share.

Only jobs on dependency edges are looked at, and what their schedules name is worked out once for each (schedule, zone,
calendar). The work has two seconds of processor time; jobs it did not reach are named in one warning and left in
`Config.pending`, for `deferred_checks` to go on with. What was not looked at is never called good or bad. Spec: jobs.md
12.2; DESIGN 8 row 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Final

from pyscheduler.config.coming import HORIZON_DAYS, Coming
from pyscheduler.config.complaints import Spot
from pyscheduler.config.result import Config
from pyscheduler.model.job import Job
from pyscheduler.model.problem import Problem, Severity
from pyscheduler.timetable.calendars import BusinessCalendar

BUDGET_S: Final = 2.0


def look_ahead(
    jobs: Mapping[str, Job],
    spots: Mapping[str, Spot],
    calendar_of: Callable[[Job], BusinessCalendar],
    star: str,
    today: date,
) -> tuple[str, ...]:
    """Warn of everything that can be seen coming; return the jobs there was no time for.

    All references between the jobs must be sound. `spots` are the jobs' mappings.
    """
    coming = Coming(jobs, calendar_of, star, today, BUDGET_S)
    for name, shared in coming.shared_dates():
        spots[name].warning(("schedule",), _shared(name, *shared, coming), at_key=True)
    for name, wait in coming.endless_waits():
        day, number, root = wait
        spots[name].warning(("depends_on", number), _endless(day, jobs[name].depends_on[number].job, root))
    if coming.unknown:
        first = min(coming.unknown)
        what = f"look-ahead not finished: no time for {len(coming.unknown)} of {coming.total} jobs with dependencies"
        spots[first].warning((), what, "nothing is known to be wrong with them")
    return tuple(sorted(coming.unknown))


def deferred_checks(config: Config, today: date | None = None) -> Iterator[Problem]:
    """Yield the warnings that a loading had no time for; takes as long as it takes, so call it in the background.

    `today` is the day from which to look ahead, by default the one the configuration was loaded on.
    """
    if not config.pending:
        return
    wanted = set(config.pending)
    coming = Coming(config.jobs, config.calendar_for, config.settings.cron_star, today or config.loaded_on, None)
    for name, shared in coming.shared_dates():
        if wanted & set(coming.dependants(name)):
            yield _problem(config.jobs[name], f"schedule: {_shared(name, *shared, coming)}")
    for name, (day, number, root) in coming.endless_waits():
        if name in wanted:
            job = config.jobs[name]
            yield _problem(job, f"depends_on: {_endless(day, job.depends_on[number].job, root)}")


def _problem(job: Job, message: str) -> Problem:
    where = job.source
    return Problem(where.file, where.line, where.column, message, "", job.name, Severity.WARNING)


def _shared(name: str, day: date, count: int, coming: Coming) -> str:
    waiting = coming.dependants(name)
    others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    return f'{count} firings share the run date {day}, and "{waiting[0]}"{others} will look at the latest only'


def _endless(day: date, upstream: str, root: str) -> str:
    chain = f'"{upstream}"' if root == upstream else f'"{upstream}", which waits for "{root}"'
    return (
        f"on run date {day} it would wait for ever for {chain}: within {HORIZON_DAYS} days there is no run of that date"
    )
