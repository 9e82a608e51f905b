"""`jobs`: what is configured, as the scheduler has it in force. Spec: jobs.md 13.4, 14.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from pyscheduler.cli.asking import View, pages_of_runs
from pyscheduler.cli.client import Client
from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import state_cell
from pyscheduler.cli.table import Cell, Row, table
from pyscheduler.cli.times import parse_instant

DATE_OF_RUN: Final = "OF"
HEADERS: Final = ("JOB", "STANDS", "NEXT FIRING", "LAST RUN", DATE_OF_RUN, "SCHEDULE")
NEWEST_LOOKED_AT: Final = 1000
ASKED_ONE_BY_ONE: Final = 200
"""Jobs whose last run is asked for by name, where the newest runs hold none of theirs."""


@verb("jobs", "pysched jobs", "pysched jobs --tag nightly", "pysched jobs --text load --json")
@click.option("--tag", metavar="TAG", help="Jobs with this tag.")
@click.option("--text", metavar="TEXT", help="Jobs with this in name, tags, owner or description.")
@json_option
@pass_session
def jobs(session: Session, tag: str | None, text: str | None, as_json: bool) -> None:
    """List the jobs: schedule, next firing, last run.

    One line for each job of the configuration in force: whether it is on, paused, disabled or not active yet, when it
    fires next, how its last run stands, and what starts it. `pysched status` lists the runs of a day. While no
    scheduler runs, the jobs are those of the configuration file.
    """
    client = session.looking()
    found = _jobs(session, tag, text)
    last = _last_runs(client, [job["name"] for job in found])
    if as_json:
        session.print_json({"jobs": [{**job, "last_run": last.get(job["name"])} for job in found]})
    elif found:
        session.say_all(_table(session, found, last))
    else:
        session.say("no jobs match" if tag or text else f"{session.place.config} has no jobs yet")


def _jobs(session: Session, tag: str | None, text: str | None) -> list[View]:
    try:
        answer: View = session.client().get("/api/jobs", tag=tag, q=text)
    except Unreachable as error:
        if not error.nobody:
            raise
        return list(_of_file(session, tag, (text or "").casefold()))
    return list(answer["jobs"])


def _of_file(session: Session, tag: str | None, needle: str) -> Iterator[View]:
    """Yield the jobs of the configuration on disk in the API's shape; nothing fires while no scheduler runs."""
    from pyscheduler.api.views import job_view

    config = session.load()
    for job in sorted(config.jobs.values(), key=lambda job: job.name):
        texts = (job.name, job.owner, job.description, *job.tags)
        if (tag is None or tag in job.tags) and any(needle in each.casefold() for each in texts):
            yield job_view(job, config.timetable(job.name), None, None)


def _last_runs(client: Client, names: Sequence[str]) -> Mapping[str, View]:
    """Return the newest run of each job that has one: from the newest runs of all, the rest by name, within bounds."""
    wanted, found = set(names), dict[str, View]()
    try:
        for run in pages_of_runs(client, NEWEST_LOOKED_AT):
            if run["job"] in wanted:
                found.setdefault(run["job"], run)
    except Unreachable as error:
        if not error.nobody:
            raise
        return {}  # nothing has ever run here
    for name in [name for name in names if name not in found][:ASKED_ONE_BY_ONE]:
        found.update((name, run) for run in client.get("/api/runs", job=name, limit=1)["runs"])
    return found


def _table(session: Session, found: Sequence[View], last: Mapping[str, View]) -> Iterator[str]:
    times, narrow = session.place.times, session.terminal.is_narrow
    today = times.local(session.now()).date()
    rows: list[Row] = []
    for job in found:
        run, coming = last.get(job["name"]), job["next_firing"]
        firing = "" if coming is None else times.on(today, parse_instant(coming), short=narrow)
        state = state_cell(run["state"], session.terminal) if run else Cell("")
        day = [] if narrow else [run["run_date"] if run else ""]
        rows.append([job["name"], _stands(job), firing, state, *day, _schedule(job)])
    headers = [header for header in HEADERS if not (narrow and header == DATE_OF_RUN)]
    return table(headers, rows, session.terminal)


def _stands(job: Mapping[str, Any]) -> Cell:
    if job.get("inactive"):
        return Cell("not active", "yellow")
    if not job["enabled"]:
        return Cell("disabled", dim=True)
    return Cell("paused", "yellow") if job["paused"] else Cell("on")


def _schedule(job: Mapping[str, Any]) -> str:
    after = f"after {', '.join(dict.fromkeys(job['depends_on']))}" if job["depends_on"] else ""
    return "; ".join(filter(None, (*job["schedules"], after)))
