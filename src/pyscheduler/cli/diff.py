"""`diff`: what a changed configuration changes, before it is put in force. The work is config's (`config/diff.py`).

Two files are compared here. Without an old one the old one is what is in force: where the new one is the scheduler's
own file that is the scheduler's to compare, for another file it is the scheduler's file as it lies on disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pyscheduler.cli.changes import firing_lines, written_lines
from pyscheduler.cli.faults import WrongUsage, counted
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.times import Times, json_instant

if TYPE_CHECKING:
    from pyscheduler.config.diff import ConfigDiff, FiringChange

IN_FORCE_DAYS: Final = 366
"""How far ahead a running scheduler compares."""

Document = Mapping[str, Any]


@verb(
    "diff",
    "pysched diff                       # what a reload would change",
    "pysched diff new.yaml",
    "pysched diff old.yaml new.yaml --days 400 --json",
)
@click.argument("files", nargs=-1, type=click.Path(), metavar="[OLD] [NEW]")
@click.option("--days", type=click.IntRange(1, 3660), default=90, show_default=True, help="How far to look ahead.")
@click.option("--all", "every", is_flag=True, help="Show each change by itself, however many are alike.")
@json_option
@pass_session
def diff(session: Session, files: tuple[str, ...], days: int, every: bool, as_json: bool) -> None:
    """Show what a changed configuration adds, loses or moves.

    Compares two configuration files and, for the coming days, the runs they lead to: firings that come, go or move,
    runs that get another run date, dependencies that are waited for or no longer. Jobs that only follow others are
    looked at with their upstreams. Changes of a job that are alike are one line with their number and the first of
    them.

    Without OLD the configuration in force is compared, without NEW with its file as it is on disk: what a reload would
    change. Nothing is started; the exit code is 0 whatever differs.
    """
    if len(files) > 2:
        raise WrongUsage("diff compares two files", mend="pysched diff OLD NEW")
    found = _of_files(session, *_pair(session, files), days) if _is_here(session, files) else _in_force(session, days)
    if as_json:
        session.print_json(found)
        return
    written, firings = list(written_lines(found)), found["firings"]
    if not written and not firings:
        session.say("Nothing differs.")
        return
    session.say_all(written)
    if firings:
        session.say(f"\nIn the next {counted(days, 'day')}:")
        session.say_all(firing_lines(session, firings, Times.of(found["timezone"]), every=every))
    else:
        session.say(f"\nNo run of the next {counted(days, 'day')} comes, goes or moves.")


def _is_here(session: Session, files: tuple[str, ...]) -> bool:
    """Whether two files are to be compared, and not what is in force with its own file."""
    if len(files) == 2:
        return True
    return bool(files) and os.path.realpath(files[0]) != os.path.realpath(session.config_path)


def _pair(session: Session, files: tuple[str, ...]) -> tuple[Path, Path]:
    if len(files) == 2:
        return Path(files[0]), Path(files[1])
    session.note(f"compared with {session.config_path} as it is on disk; `pysched diff` says whether that is in force")
    return session.config_path, Path(files[0])


def _in_force(session: Session, days: int) -> Document:
    """Ask the scheduler what its file on disk changes. Raises WrongUsage, Unreachable, Refused."""
    if days > IN_FORCE_DAYS:
        what = f"a running scheduler looks {IN_FORCE_DAYS} days ahead at most"
        raise WrongUsage(what, mend="ask for less, or compare two files")
    answer = session.client().get("/api/diff", days=days)
    pairs = {
        kind: {name: {"old": old, "new": new} for name, (old, new) in answer[kind].items()}
        for kind in ("settings", "pools")
    }
    wanted = ("added", "removed", "changed", "calendars", "firings")
    return {"days": days, "timezone": session.place.timezone, **{name: answer[name] for name in wanted}, **pairs}


def _of_files(session: Session, old: Path, new: Path, days: int) -> Document:
    from pyscheduler.config import config_diff, firing_diff

    before, after = session.load(old), session.load(new)
    now = session.now()
    coming = firing_diff(before, after, now, now + timedelta(days=days))
    return {
        "days": days,
        "timezone": after.settings.timezone,
        **_written_json(config_diff(before, after)),
        "firings": [_firing_json(each) for each in coming],
    }


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


def _firing_json(change: FiringChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "job": change.job,
        "run_date": None if change.run_date is None else change.run_date.isoformat(),
        "before": None if change.before is None else json_instant(change.before),
        "after": None if change.after is None else json_instant(change.after),
        "text": change.text,
    }
