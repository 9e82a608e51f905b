"""`forecast`: the runs to expect, computed from the configuration file alone.

Nothing is asked of a running scheduler, so it also answers for a file that is not in force yet. Where the state
directory holds a history, jobs' typical durations come from it. Spec: jobs.md 12.1, 14.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

import click

from pyscheduler.cli.faults import counted, no_such_job
from pyscheduler.cli.history import not_begun, typical_durations
from pyscheduler.cli.moments import MOMENT, window
from pyscheduler.cli.options import file_argument, json_option, use_file, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import Times, duration_text, json_instant
from pyscheduler.errors import StoreError

if TYPE_CHECKING:
    from pyscheduler.config import Config
    from pyscheduler.timetable import ForecastEntry

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
def forecast_(
    session: Session, file: str | None, start: date | None, end: date | None, only: str | None, as_json: bool
) -> None:
    """Show the runs to expect, and when they should start.

    Jobs with a schedule start when they fire; jobs that only depend on others as soon as, of each of those, the latest
    run of the date so far should have ended. Typical durations come from the history in the state directory, if there
    is one; an unknown one counts as nothing. Left out are disabled jobs, jobs that only start by hand or wait for one,
    and what has begun already. The window spans 366 days at most.
    """
    use_file(session, file)
    config = session.load()
    if only is not None and only not in config.jobs:
        raise no_such_job(only, config.jobs, config.path)
    since, until = window(start, end, config.settings.timezone, session.now(), days=1, at_most=FORECAST_DAYS)
    times = Times.of(config.settings.timezone)
    entries = not_begun(config, expected(config, since, until, _history(session, config)), session.now())
    entries = [entry for entry in entries if only in (None, entry.job)]
    if as_json:
        session.print_json({"entries": [_entry_json(entry) for entry in entries]})
    elif entries:
        session.say_all(forecast_table(session, config, entries))
        number = counted(len(entries), "run")
        session.say(f"\n{number} expected from {times.full(since)} to {times.full(until)}")
    else:
        session.say(f"No run is expected from {times.full(since)} to {times.full(until)}.")


def _history(session: Session, config: Config) -> Mapping[str, float]:
    """Return what is known of durations; a history that cannot be read is done without, and that is said."""
    try:
        return typical_durations(config)
    except StoreError as error:
        session.note(f"remark: without typical durations, since the history cannot be read: {error}")
        return {}


def expected(config: Config, since: datetime, until: datetime, typical: Mapping[str, float]) -> list[ForecastEntry]:
    """Return what is expected in (since, until]; `typical` are jobs' durations in seconds, as far as known."""
    from pyscheduler.timetable import forecast

    return forecast(config.jobs, config.timetable, config.calendar_for, since, until, typical)


def _entry_json(entry: ForecastEntry) -> dict[str, object]:
    return {
        "job": entry.job,
        "run_date": entry.run_date.isoformat(),
        "expected_start": json_instant(entry.expected_start),
        "expected_duration_seconds": entry.expected_duration_s,
        "expected_end": json_instant(entry.expected_end),
        "via": entry.via,
    }


def forecast_table(session: Session, config: Config, entries: Sequence[ForecastEntry]) -> Iterator[str]:
    """Yield the entries as a table."""
    times = Times.of(config.settings.timezone)
    rows = [
        [
            entry.job,
            str(entry.run_date),
            times.full(entry.expected_start),
            "" if entry.expected_duration_s is None else duration_text(entry.expected_duration_s),
            "its schedule" if entry.via is None else f"the end of {entry.via}",
        ]
        for entry in entries
    ]
    return table(["JOB", "RUN DATE", "EXPECTED START", "TAKES", "BECAUSE OF"], rows, session.terminal)
