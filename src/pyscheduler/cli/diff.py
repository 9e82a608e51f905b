"""`diff`: what a changed configuration changes, before it is put in force. The work is config's (`config/diff.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pyscheduler.cli.faults import counted
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import Cell, table
from pyscheduler.cli.times import Times, json_instant

if TYPE_CHECKING:
    from datetime import datetime

    from pyscheduler.config.diff import ConfigDiff, FiringChange

_COLOURS: Final = {"added": "green", "lost": "red", "moved": "yellow", "redated": "yellow"}


@verb(
    "diff",
    "pysched diff pysched.yaml new.yaml",
    "pysched diff old.yaml new.yaml --days 400 --json",
)
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--days", type=click.IntRange(1, 3660), default=90, show_default=True, help="How far to look ahead.")
@json_option
@pass_session
def diff(session: Session, old: str, new: str, days: int, as_json: bool) -> None:
    """Show what a changed configuration adds, loses or moves.

    Compares two configuration files and, for the coming days, the runs they lead to: firings that come, go or move,
    runs that get another run date, dependencies that are waited for or no longer. Jobs that only follow others are
    looked at with their upstreams. Nothing is started and no scheduler asked; the exit code is 0 whatever differs.
    """
    from pyscheduler.config import config_diff, firing_diff

    before, after = session.load(Path(old)), session.load(Path(new))
    now = session.now()
    written = config_diff(before, after)
    coming = firing_diff(before, after, now, now + timedelta(days=days))
    if as_json:
        session.print_json({"days": days, **_written_json(written), "firings": [_firing_json(each) for each in coming]})
        return
    if not written and not coming:
        session.say("Nothing differs.")
        return
    session.say_all(_written_lines(written))
    if coming:
        session.say(f"\nIn the next {counted(days, 'day')}:")
        session.say_all(_firing_lines(session, coming, Times.of(after.settings.timezone)))
    else:
        session.say(f"\nNo run of the next {counted(days, 'day')} comes, goes or moves.")


# --------------------------------------------------------------------------- what is written


def _written_json(written: ConfigDiff) -> dict[str, Any]:
    return {
        "added": list(written.added),
        "removed": list(written.removed),
        "changed": {job: list(names) for job, names in written.changed.items()},
        "settings": _pairs_json(written.settings),
        "pools": _pairs_json(written.pools),
        "calendars": list(written.calendars),
    }


def _pairs_json(pairs: Mapping[str, tuple[Any, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"old": _plain(old), "new": _plain(new)} for name, (old, new) in pairs.items()}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _written_lines(written: ConfigDiff) -> Iterator[str]:
    for job in written.added:
        yield f"job {job} is new"
    for job in written.removed:
        yield f"job {job} is gone"
    for job, names in written.changed.items():
        yield f"job {job} differs in {', '.join(names)}"
    for what, pairs in (("scheduler", written.settings), ("pool", written.pools)):
        for name, (old, new) in pairs.items():
            yield f"{what} {name}: {_shown(old)} -> {_shown(new)}"
    for calendar in written.calendars:
        yield f"calendar {calendar} has other days"


def _shown(value: object) -> str:
    return "not there" if value is None else str(value)


# --------------------------------------------------------------------------- what will happen


def _firing_json(change: FiringChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "job": change.job,
        "run_date": None if change.run_date is None else change.run_date.isoformat(),
        "before": None if change.before is None else json_instant(change.before),
        "after": None if change.after is None else json_instant(change.after),
        "text": change.text,
    }


def _firing_lines(session: Session, changes: list[FiringChange], times: Times) -> Iterator[str]:
    """Yield the waits and remarks as they are worded, then a table of the firings."""
    firings = [change for change in changes if change.run_date is not None]
    for change in changes:
        if change.run_date is None:
            yield f"  {change.text}"
    if firings:
        rows = [_firing_row(change, times, seconds=not session.terminal.is_narrow) for change in firings]
        yield from table(["CHANGE", "JOB", "RUN DATE", "BEFORE", "AFTER"], rows, session.terminal)


def _firing_row(change: FiringChange, times: Times, *, seconds: bool) -> list[str | Cell]:
    def shown(instant: datetime | None) -> str:
        return "" if instant is None else times.full(instant, seconds=seconds)

    kind = Cell(change.kind, _COLOURS.get(change.kind))
    return [kind, change.job, str(change.run_date), shown(change.before), shown(change.after)]
