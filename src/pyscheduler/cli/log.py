"""`log`: what an attempt has written, byte for byte, once or as it comes. Spec: jobs.md 14.1; field case FC-048."""

from __future__ import annotations

import click

from pyscheduler.cli.asking import run_meant
from pyscheduler.cli.complete import run_argument
from pyscheduler.cli.faults import WrongUsage
from pyscheduler.cli.follow import Follower, Reader, copy_once
from pyscheduler.cli.options import verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.spout import spout


@verb(
    "log",
    "pysched log load.2027-05-20.1",
    "pysched log load -f",
    "pysched log load.2027-05-20.1 --stderr --tail 50",
    "pysched log load.2027-05-20.1 --attempt 1 > first.txt",
)
@run_argument()
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, from attempt to attempt, to the run's end.")
@click.option("--stderr", is_flag=True, help="The log of standard error; jobs that merge the two have none.")
@click.option("--tail", type=click.IntRange(1, 5000), metavar="N", help="Only the last N lines.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Of this attempt. Default: the latest.")
@pass_session
def log(session: Session, run: str, follow: bool, stderr: bool, tail: int | None, attempt: int | None) -> None:
    """Print what an attempt has written; -f follows it.

    RUN is a run's id, or the name of a job for the newest of its runs. Into a pipe or a file the bytes go as they were
    written. With -f the command ends when the run has ended, and Ctrl-C leaves the run alone. While no scheduler runs
    the log is read where it lies; -f goes on through a restart and ends once the scheduler has said how the run ended.
    """
    if follow and attempt is not None:
        raise WrongUsage("--follow goes from attempt to attempt, so --attempt does not go with it")
    client = session.looking()
    reader = Reader(client, run_meant(session, client, run), "stderr" if stderr else "stdout", spout(session.terminal))
    if follow:
        Follower(reader, session.note).follow(tail)
    else:
        copy_once(reader, attempt, tail, session.note)
        reader.write.end()
