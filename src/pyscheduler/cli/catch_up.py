"""`catch-up`: the missed firings that wait for a word after an older store was put back. DESIGN 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from pyscheduler.cli.faults import WrongUsage, counted
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import parse_instant


@verb(
    "catch-up", "pysched catch-up --dry-run", "pysched catch-up --accept", 'pysched catch-up --skip --reason "all ran"'
)
@click.option("--dry-run", is_flag=True, help="Show what --accept would run; the default.")
@click.option("--accept", is_flag=True, help="Run what each job's catch_up rule asks for.")
@click.option("--skip", is_flag=True, help="Run nothing of it, and go on from now.")
@reason_option
@json_option
@pass_session
def catch_up(session: Session, dry_run: bool, accept: bool, skip: bool, reason: str | None, as_json: bool) -> None:
    """Decide about firings missed by a restored store.

    A store that is older than its state directory does not know what ran after it was copied. So what it takes for
    missed is not started by itself: somebody who knows has to say. New firings run as ever in the meantime.
    """
    if dry_run + accept + skip > 1:
        raise WrongUsage("--dry-run, --accept and --skip exclude each other")
    client = session.client()
    if accept or skip:
        answer = client.post("/api/catch-up", {"decision": "accept" if accept else "skip", "reason": reason})
    else:
        answer = client.get("/api/catch-up")
    if as_json:
        session.print_json(answer)
    else:
        session.say_all(_lines(session, answer, done="accepted" if accept else "skipped" if skip else ""))


def _lines(session: Session, answer: Mapping[str, Any], *, done: str) -> Iterator[str]:
    if answer["since"] is None:
        yield "nothing is held: the store is as new as its state directory"
        return
    times = session.place.times
    since, until = (times.full(parse_instant(answer[end])) for end in ("since", "until"))
    yield f"{done or 'held'}: firings from {since} to {until}"
    if not answer["jobs"]:
        yield "no job fired in that time"
        return
    rows = [[job["job"], str(len(job["run"])), str(job["dropped"]), _dates(job["run"])] for job in answer["jobs"]]
    runs, dropped = (sum(int(row[column]) for row in rows) for column in (1, 2))
    yield from table(["JOB", "RUNS", "DROPPED", "RUN DATES"], rows, session.terminal, right=("RUNS", "DROPPED"))
    if not done:
        yield f"--accept starts {counted(runs, 'run')} and drops {counted(dropped, 'firing')}; --skip drops them all"


def _dates(runs: list[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(run["run_date"] for run in runs))
