"""`backup` and `restore`: a copy of the store, and the way back. The work is the store's. DESIGN 5, 7."""

from __future__ import annotations

from pathlib import Path

import click

from pyscheduler.cli.faults import CommandError, WrongUsage
from pyscheduler.cli.options import json_option, only_at_home, verb
from pyscheduler.cli.session import Session, pass_session


@only_at_home
@verb("backup", "pysched backup /backup/pysched.db", 'pysched backup "/backup/pysched-$(date +%F).db"')
@click.argument("target", type=click.Path(), metavar="FILE")
@json_option
@pass_session
def backup(session: Session, target: str, as_json: bool) -> None:
    """Copy the store, while the scheduler runs or not.

    FILE becomes one consistent copy of everything the scheduler remembers, as of one instant, read through and checked
    before it gets its name. An earlier backup of that name is replaced at the very end; any other file is left alone.
    Logs are files of their own and no part of it.
    """
    from pyscheduler.store import Peek

    file = Path(target)
    place = session.place
    store = Peek.open(place.state_dir, url=place.store_url(session.environ))
    if store is None:
        raise CommandError("there is no store yet", where=str(place.state_dir), mend="the first start makes it")
    replaced = file.exists()
    with store:
        store.backup(file)
    size = file.stat().st_size
    if as_json:
        session.print_json({"file": str(file), "bytes": size, "replaced": replaced})
    else:
        session.say(f"{file}: {size:,} bytes, checked" + (", in the place of an earlier backup" if replaced else ""))


@only_at_home
@verb("restore", "pysched restore /backup/pysched.db", "pysched restore /backup/pysched.db --yes")
@click.argument("source", type=click.Path(), metavar="FILE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_session
def restore(session: Session, source: str, yes: bool, as_json: bool) -> None:
    """Put a backup of the store back in its place.

    The backup is read through first, and a scheduler that runs is never disturbed: stop it before. The present store is
    moved aside, not removed. What ran after the backup was made is unknown to it, so at its next start the scheduler
    holds back what it takes for missed, until `pysched catch-up` says what to do.
    """
    from pyscheduler.store import Store
    from pyscheduler.store.postgres.words import NO_BACKUP

    file, state_dir = Path(source), session.place.state_dir
    if session.place.store_url(session.environ) is not None:
        raise CommandError("the store is on a server, and no file takes its place", mend=NO_BACKUP)
    Store.check(file)
    if not yes:
        if as_json:
            raise WrongUsage("--json asks no questions: give --yes too")
        click.confirm(f"{file} is whole. Make it the store of {state_dir}?", abort=True, err=True)
    aside = Store.restore(file, state_dir)
    if as_json:
        session.print_json({"state_dir": str(state_dir), "moved_aside": None if aside is None else str(aside)})
        return
    session.say(f"{state_dir} has the store of {file} now")
    if aside is not None:
        session.say(f"the one before is {aside}")
    session.say("next: pysched serve, then pysched catch-up --dry-run")
