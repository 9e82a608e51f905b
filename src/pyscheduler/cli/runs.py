"""`runs`: the list that every filter of the scheduler applies to. Spec: jobs.md 13.4, 14.1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, Final

import click

from pyscheduler.cli import moments
from pyscheduler.cli.asking import check_job, pages_of_runs
from pyscheduler.cli.complete import job_names
from pyscheduler.cli.moments import DATE, MOMENT
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import LOOKS, state_cell
from pyscheduler.cli.table import Row, table
from pyscheduler.cli.times import json_instant, parse_instant
from pyscheduler.model.run import Trigger

HEADERS: Final = ("RUN", "STATE", "TRY", "TRIGGER", "DUE", "REASON")
MOST: Final = 100_000


@verb(
    "runs",
    "pysched runs",
    "pysched runs --job load --state failed --since 2027-05-01",
    "pysched runs --date 2027-05-20 --limit 1000 --json",
)
@click.option("--job", metavar="JOB", shell_complete=job_names, help="Runs of this job.")
@click.option("--tag", metavar="TAG", help="Runs of the jobs with this tag.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice(sorted(LOOKS)), metavar="STATE", help="Several may be given."
)
@click.option(
    "--trigger", type=click.Choice([trigger.value for trigger in Trigger]), metavar="WHAT", help="What created them."
)
@click.option("--date", "day", type=DATE, metavar="DATE", help="Runs of this run date.")
@click.option("--since", type=MOMENT, metavar="WHEN", help="Due at this date or time, or later.")
@click.option("--until", type=MOMENT, metavar="WHEN", help="Due before this time, or on this date at the latest.")
@click.option("--text", metavar="TEXT", help="In names and tags, and in reasons where dates are given.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True, help="How many at most.")
@json_option
@pass_session
def runs(session: Session, /, limit: int, as_json: bool, **asked: Any) -> None:
    """List runs, the newest first.

    Every option narrows the list; what is given must hold together. Newest means by the time a run was due.
    """
    query = _query(session, **asked)
    client = session.looking()
    found = list(islice(pages_of_runs(client, limit + 1, **query), limit + 1))
    if not found and asked["job"] is not None:
        check_job(session, client, asked["job"])
    more = len(found) > limit
    if as_json:
        session.print_json({"runs": found[:limit], "more": more})
        return
    if not found:
        session.say("no runs match")
        return
    session.say_all(_table(session, found[:limit]))
    if more:
        session.note(f"there are more than {limit}: --limit shows more of them")


def _query(
    session: Session,
    *,
    job: str | None,
    tag: str | None,
    states: Sequence[str],
    trigger: str | None,
    day: date | None,
    since: date | None,
    until: date | None,
    text: str | None,
) -> dict[str, object]:
    zone = session.place.timezone
    return {
        "job": job,
        "tag": tag,
        "state": list(states) or None,
        "trigger": trigger,
        "run_date": None if day is None else session.settle(day).isoformat(),
        "since": None if since is None else json_instant(moments.start_of(session.settle(since), zone)),
        "until": None if until is None else json_instant(moments.moment_after(session.settle(until), zone)),
        "q": text,
    }


def _table(session: Session, found: Sequence[Any]) -> Iterator[str]:
    """Yield the list; a narrow terminal has no room for what created a run."""
    narrow, times = session.terminal.is_narrow, session.place.times
    today = times.local(session.now()).date()
    rows: list[Row] = []
    for run in found:
        due = parse_instant(run["scheduled_at"])
        rows.append(
            [
                run["run_id"],
                state_cell(run["state"], session.terminal),
                str(run["attempt"]) if run["attempt"] else "",
                *([] if narrow else [run["trigger"]]),
                times.on(today, due, short=True) if narrow else times.full(due),
                run["reason"],
            ]
        )
    headers = [header for header in HEADERS if not (narrow and header == "TRIGGER")]
    return table(headers, rows, session.terminal, right=("TRY",))
