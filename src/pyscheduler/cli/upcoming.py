"""`next`: when jobs fire, computed from the configuration file alone, so also for one that is not in force yet.

Spec: jobs.md 14.1; DESIGN 8 row 4, 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from pyscheduler.cli.complete import job_argument
from pyscheduler.cli.faults import no_such_job
from pyscheduler.cli.forecast import expected, forecast_table
from pyscheduler.cli.history import not_begun, typical_durations
from pyscheduler.cli.moments import MOMENT, window
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import Times, json_instant

if TYPE_CHECKING:
    from pyscheduler.config import Config
    from pyscheduler.model.firing import Firing
    from pyscheduler.model.job import Job

RULE: Final = "CLOCK CHANGE"
MAX_COUNT: Final = 1000
FOLLOWING_DAYS: Final = 31
"""How far `next` looks for the runs of a job that follows others."""


@verb(
    "next",
    "pysched next",
    "pysched next nightly-load -n 10",
    "pysched next nightly-load --after 2027-03-27   # over a clock change",
)
@job_argument(required=False)
@click.option(
    "-n", "--count", type=click.IntRange(1, MAX_COUNT), default=5, show_default=True, help="How many firings."
)
@click.option("--after", type=MOMENT, metavar="WHEN", help="From this date or time on, instead of from now.")
@json_option
@pass_session
def next_(session: Session, job: str | None, count: int, after: date | None, as_json: bool) -> None:
    """Show when jobs fire next, and what clock changes do.

    Each firing is given in the job's own zone, which its schedule speaks of, and in UTC, with the run date it is for.
    Where the clocks go forward or back that night, the last column says which rule was applied. Without JOB the next
    firing of every job is shown.

    The answer comes from the configuration file; a scheduler that has not reloaded it may still follow an older one.
    """
    config = session.load()
    since, _ = window(after, None, config.settings.timezone, session.now(), days=1, at_most=1)
    if job is None:
        _next_of_all(session, config, since, as_json=as_json)
        return
    definition = config.jobs.get(job)
    if definition is None:
        raise no_such_job(job, config.jobs, config.path)
    firings = list(islice(_firings(config, definition, since), count))
    if as_json:
        session.print_json(_next_document(config, definition, firings))
    elif firings:
        session.say_all(_firing_table(session, config, definition, firings))
        session.say_all(_rules_cut_off(session, config, definition, firings))
    else:
        _tell_without_firings(session, config, definition, since, count)


def _firings(config: Config, job: Job, since: datetime) -> Iterator[Firing]:
    timetable = config.timetable(job.name)
    at = since
    while job.enabled and (firing := timetable.next(at)) is not None:
        yield firing
        at = firing.scheduled_at


def _next_document(config: Config, job: Job, firings: Sequence[Firing]) -> dict[str, object]:
    from pyscheduler.timetable.wording import schedule_text

    return {
        "job": job.name,
        "timezone": job.timezone,
        "enabled": job.enabled,
        "schedules": [*map(schedule_text, job.schedules), *(["manual"] if job.manual else [])],
        "depends_on": [dependency.job for dependency in job.depends_on],
        "firings": [_firing_json(config, job, firing) for firing in firings],
    }


def _firing_json(config: Config, job: Job, firing: Firing) -> dict[str, object]:
    return {
        "scheduled_at": json_instant(firing.scheduled_at),
        "local": Times.of(job.timezone).local(firing.scheduled_at).isoformat(),
        "run_date": firing.run_date.isoformat(),
        "jitter_seconds": firing.jitter_s,
        "rule": config.timetable(job.name).rule_at(firing),
    }


def _firing_table(session: Session, config: Config, job: Job, firings: Sequence[Firing]) -> Iterator[str]:
    here, there = config.settings.timezone, job.timezone
    headers = [f"LOCAL ({there})", *([f"HERE ({here})"] if here != there else []), "UTC", "RUN DATE", RULE]
    rows = []
    for firing in firings:
        at = firing.scheduled_at
        times = [Times.of(there).full(at), *([Times.of(here).full(at)] if here != there else []), _utc(at)]
        rows.append([*times, str(firing.run_date), config.timetable(job.name).rule_at(firing)])
    return _table(session, headers, rows)


def _table(session: Session, headers: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield a table whose last column is there only where a clock change gives it something to say."""
    if not any(row[-1] for row in rows):
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    return table(headers, rows, session.terminal)


def _rules_cut_off(session: Session, config: Config, job: Job, firings: Sequence[Firing]) -> Iterator[str]:
    """Yield what clock changes do in full, where the table's last column has no room for it."""
    if session.terminal.width is not None:
        rules = (config.timetable(job.name).rule_at(firing) for firing in firings)
        yield from dict.fromkeys(rule for rule in rules if rule)


def _utc(instant: datetime) -> str:
    return json_instant(instant.replace(microsecond=0)).replace("T", " ")


def _tell_without_firings(session: Session, config: Config, job: Job, since: datetime, count: int) -> None:
    if not job.enabled or not job.dependency_only:
        session.say(f"{job.name} does not fire: {_why_silent(job)}")
        return
    session.say(f"{job.name} has no schedule of its own: {_why_silent(job)}.")
    until = since + timedelta(days=FOLLOWING_DAYS)
    entries = not_begun(config, expected(config, since, until, typical_durations(config)), session.now())
    found = [entry for entry in entries if entry.job == job.name]
    if found:
        session.say_all(forecast_table(session, config, found[:count]))
    else:
        session.say(f"No run of it is expected within {FOLLOWING_DAYS} days.")


def _why_silent(job: Job) -> str:
    if not job.enabled:
        return "it is disabled"
    if job.dependency_only:
        return "it follows " + ", ".join(dict.fromkeys(dependency.job for dependency in job.depends_on))
    return "its schedules are over" if job.schedules else "it runs when somebody triggers it"


def _next_of_all(session: Session, config: Config, since: datetime, *, as_json: bool) -> None:
    found = [(job, next(_firings(config, job, since), None)) for job in config.jobs.values()]
    if as_json:
        session.print_json({"jobs": [_next_document(config, job, [firing] if firing else []) for job, firing in found]})
        return
    firing = [(job, first) for job, first in found if first is not None]
    silent = [(job.name, _why_silent(job)) for job, first in found if first is None]
    if firing:
        firing.sort(key=lambda pair: (pair[1].scheduled_at, pair[0].name))
        rows = [_row_of_all(config, job, first) for job, first in firing]
        session.say_all(_table(session, ["JOB", "LOCAL", "UTC", "RUN DATE", RULE], rows))
    if silent:
        session.say_all([""] * bool(firing))
        session.say_all(table(["JOB", "DOES NOT FIRE"], silent, session.terminal))


def _row_of_all(config: Config, job: Job, firing: Firing) -> list[str]:
    local = Times.of(job.timezone).full(firing.scheduled_at)
    rule = config.timetable(job.name).rule_at(firing)
    return [job.name, local, _utc(firing.scheduled_at), str(firing.run_date), rule]
