"""`forecast`: the runs to expect, computed from the configuration file alone, or told by a scheduler with an address.

Nothing is asked of a scheduler here, so it also answers for a file that is not in force yet. Where the state
directory holds a history, jobs' typical durations come from it. Spec: jobs.md 12.1, 14.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

import click

from pyscheduler.cli.ahead import Document, ahead
from pyscheduler.cli.faults import counted
from pyscheduler.cli.moments import MOMENT, window
from pyscheduler.cli.options import file_argument, json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import Times, parse_instant
from pyscheduler.lengths import length

FORECAST_DAYS: Final = 366


@verb(
    "forecast",
    "pysched forecast",
    "pysched forecast new.yaml --from 2027-05-20 --to 2027-05-21",
    "pysched forecast --job nightly-load --to 2027-12-31 --json",
)
@file_argument
@click.option("--from", "start", type=MOMENT, metavar="WHEN", help="Default: now.")
@click.option("--to", "end", type=MOMENT, metavar="WHEN", help="Default: a day after the start. A date counts whole.")
@click.option("--job", "only", metavar="JOB", help="Show this job alone.")
@json_option
@pass_session
def forecast_(session: Session, start: date | None, end: date | None, only: str | None, as_json: bool) -> None:
    """Show the runs to expect, and when they should start.

    Jobs with a schedule start when they fire; jobs that only depend on others as soon as, of each of those, the latest
    run of the date so far should have ended. Typical durations come from the history in the state directory, if there
    is one; an unknown one counts as nothing. Left out are disabled jobs, jobs that only start by hand or wait for one,
    and what has begun already. The window spans 366 days at most, and 31 where a scheduler is named with --url: it is
    asked for what it has in force.
    """
    source = ahead(session)
    times = Times.of(source.timezone)
    since, until = window(start, end, source.timezone, session.now(), days=1, at_most=FORECAST_DAYS)
    entries = source.expected(since, until, only)
    if as_json:
        session.print_json({"entries": entries})
    elif entries:
        session.say_all(forecast_table(session, times, entries))
        number = counted(len(entries), "run")
        session.say(f"\n{number} expected from {times.full(since)} to {times.full(until)}")
    else:
        session.say(f"No run is expected from {times.full(since)} to {times.full(until)}.")


def forecast_table(session: Session, times: Times, entries: Sequence[Document]) -> Iterator[str]:
    """Yield the entries as a table."""
    rows = [
        [
            entry["job"],
            entry["run_date"],
            times.full(parse_instant(entry["expected_start"])),
            "" if (seconds := entry["expected_duration_seconds"]) is None else length(seconds),
            "its schedule" if entry["via"] is None else f"the end of {entry['via']}",
        ]
        for entry in entries
    ]
    return table(["JOB", "RUN DATE", "EXPECTED START", "TAKES", "BECAUSE OF"], rows, session.terminal)
