"""`events`: the logbook, whoever and whatever it speaks of. Spec: jobs.md 3.4, 13.4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, Final

import click

from pyscheduler.cli.asking import View, check_job, pages_of
from pyscheduler.cli.complete import job_names, run_ids
from pyscheduler.cli.moments import MOMENT, moment_after, start_of
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.show import detail_text
from pyscheduler.cli.table import table
from pyscheduler.cli.times import json_instant, parse_instant

HEADERS: Final = ("AT", "WHO", "WHAT", "ABOUT", "DETAIL")
MOST: Final = 100_000


@verb(
    "events",
    "pysched events",
    "pysched events --job load --since yesterday",
    "pysched events --action firings_dropped",
    "pysched events --by ann --limit 500 --json",
)
@click.option("--job", metavar="JOB", shell_complete=job_names, help="Lines about this job and its runs.")
@click.option("--run", metavar="RUN", shell_complete=run_ids, help="Lines about this run.")
@click.option("--action", metavar="WHAT", help="Lines of this kind, such as killed or firings_dropped.")
@click.option("--by", "actor", metavar="WHO", help="What this user did; `scheduler` for what it did itself.")
@click.option("--since", type=MOMENT, metavar="WHEN", help="Written at this date or time, or later.")
@click.option("--until", type=MOMENT, metavar="WHEN", help="Written before this time, or on this date at the latest.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True, help="How many at most.")
@json_option
@pass_session
def events(session: Session, /, limit: int, as_json: bool, **asked: Any) -> None:
    """Show the logbook: who did what, the newest line first.

    What the scheduler and operators did to runs and jobs, and what concerns the scheduler as a whole: reloads, pauses,
    firings that were dropped while a job was paused, restarts. Every option narrows it. `pysched show RUN` has the
    lines of one run in order.
    """
    client = session.looking()
    found = list(islice(pages_of(client, "events", limit + 1, **_query(session, **asked)), limit + 1))
    more = len(found) > limit
    if not found and asked["job"] is not None:
        check_job(session, client, asked["job"])
    if as_json:
        session.print_json({"events": found[:limit], "more": more})
    elif found:
        session.say_all(_table(session, found[:limit]))
    else:
        session.say("no lines match")
    if more and not as_json:
        session.note(f"there are more than {limit}: --limit shows more of them")


def _query(
    session: Session,
    *,
    job: str | None,
    run: str | None,
    action: str | None,
    actor: str | None,
    since: date | None,
    until: date | None,
) -> dict[str, object]:
    zone = session.place.timezone
    return {
        "job": job,
        "run": run,
        "action": action,
        "actor": actor,
        "since": None if since is None else json_instant(start_of(session.settle(since), zone)),
        "until": None if until is None else json_instant(moment_after(session.settle(until), zone)),
    }


def _table(session: Session, found: Sequence[View]) -> Iterator[str]:
    """Yield the lines as a table; on a narrow terminal today's without their date."""
    times = session.place.times
    today = times.local(session.now()).date()
    rows = []
    for line in found:
        at = parse_instant(line["at"])
        shown = times.on(today, at, short=True) if session.terminal.is_narrow else times.full(at)
        about = line["run_id"] or line["job"] or ""
        rows.append([shown, line["actor"], line["action"], about, detail_text(session, line["detail"])])
    return table(HEADERS, rows, session.terminal)
