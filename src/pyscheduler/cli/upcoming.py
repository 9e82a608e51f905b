"""`next`: when jobs fire, computed from the configuration file alone, so also for one that is not in force yet.

A scheduler with an address tells it of what it has in force. Spec: jobs.md 14.1; DESIGN 8 row 4, 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Final

import click

from pyscheduler.cli.ahead import Ahead, Document, ahead
from pyscheduler.cli.complete import job_argument
from pyscheduler.cli.forecast import forecast_table
from pyscheduler.cli.moments import MOMENT, window
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import Times, json_instant, parse_instant

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
    With --url it comes from the scheduler there.
    """
    source = ahead(session)
    since, _ = window(after, None, source.timezone, session.now(), days=1, at_most=1)
    if job is None:
        _next_of_all(session, source.jobs(since), as_json=as_json)
        return
    found = source.job(job, since, count)
    if as_json:
        session.print_json(found)
    elif found["firings"]:
        session.say_all(_firing_table(session, source.timezone, found))
        session.say_all(_rules_cut_off(session, found["firings"]))
    else:
        _tell_without_firings(session, source, found, since, count)


def _firing_table(session: Session, here: str, job: Document) -> Iterator[str]:
    there = job["timezone"]
    headers = [f"LOCAL ({there})", *([f"HERE ({here})"] if here != there else []), "UTC", "RUN DATE", RULE]
    rows = []
    for firing in job["firings"]:
        at = parse_instant(firing["scheduled_at"])
        times = [Times.of(there).full(at), *([Times.of(here).full(at)] if here != there else []), _utc(at)]
        rows.append([*times, firing["run_date"], firing["rule"]])
    return _table(session, headers, rows)


def _table(session: Session, headers: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield a table whose last column is there only where a clock change gives it something to say."""
    if not any(row[-1] for row in rows):
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    return table(headers, rows, session.terminal)


def _rules_cut_off(session: Session, firings: Sequence[Document]) -> Iterator[str]:
    """Yield what clock changes do in full, where the table's last column has no room for it."""
    if session.terminal.width is not None:
        yield from dict.fromkeys(firing["rule"] for firing in firings if firing["rule"])


def _utc(instant: datetime) -> str:
    return json_instant(instant.replace(microsecond=0)).replace("T", " ")


def _tell_without_firings(session: Session, source: Ahead, job: Document, since: datetime, count: int) -> None:
    name = job["job"]
    if not job["enabled"] or not _only_follows(job):
        session.say(f"{name} does not fire: {_why_silent(job)}")
        return
    session.say(f"{name} has no schedule of its own: {_why_silent(job)}.")
    found = source.expected(since, since + timedelta(days=FOLLOWING_DAYS), name)
    if found:
        session.say_all(forecast_table(session, Times.of(source.timezone), found[:count]))
    else:
        session.say(f"No run of it is expected within {FOLLOWING_DAYS} days.")


def _only_follows(job: Document) -> bool:
    """Whether its runs are created by its upstreams' runs (spec 4.5)."""
    return not job["schedules"] and bool(job["depends_on"])


def _why_silent(job: Document) -> str:
    if not job["enabled"]:
        return "it is disabled"
    if _only_follows(job):
        return "it follows " + ", ".join(dict.fromkeys(job["depends_on"]))
    has_schedule = any(schedule != "manual" for schedule in job["schedules"])
    return "its schedules are over" if has_schedule else "it runs when somebody triggers it"


def _next_of_all(session: Session, found: Sequence[Document], *, as_json: bool) -> None:
    if as_json:
        session.print_json({"jobs": found})
        return
    firing = [(job, job["firings"][0]) for job in found if job["firings"]]
    silent = [(job["job"], _why_silent(job)) for job in found if not job["firings"]]
    if firing:
        firing.sort(key=lambda pair: (parse_instant(pair[1]["scheduled_at"]), pair[0]["job"]))
        rows = [_row_of_all(job, first) for job, first in firing]
        session.say_all(_table(session, ["JOB", "LOCAL", "UTC", "RUN DATE", RULE], rows))
    if silent:
        session.say_all([""] * bool(firing))
        session.say_all(table(["JOB", "DOES NOT FIRE"], silent, session.terminal))


def _row_of_all(job: Document, firing: Document) -> list[str]:
    at = parse_instant(firing["scheduled_at"])
    return [job["job"], Times.of(job["timezone"]).full(at), _utc(at), firing["run_date"], firing["rule"]]
