"""`pause` and `resume`: of one job, or of everything. DESIGN 5 (what becomes of dropped firings)."""

from __future__ import annotations

import click

from pyscheduler.cli.client import segment
from pyscheduler.cli.complete import job_argument
from pyscheduler.cli.faults import WrongUsage
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session

_EVERYTHING = click.option("--all", "everything", is_flag=True, help="The whole scheduler instead of one job.")


@verb("pause", "pysched pause load", 'pysched pause --all --reason "database upgrade"')
@job_argument(required=False)
@_EVERYTHING
@reason_option
@json_option
@pass_session
def pause(session: Session, job: str | None, everything: bool, reason: str | None, as_json: bool) -> None:
    """Let a job, or everything, rest: nothing of it starts.

    What runs goes on to its end. Queued runs wait, and so do those that become ready. Firings that come due get no run;
    when the pause ends, the logbook says how many there were. A pause outlives restarts of the scheduler.
    """
    answer = session.client().post(_path(job, "pause", everything=everything), {"reason": reason})
    if as_json:
        session.print_json(answer)
    else:
        session.say(f"{_what(job)}: paused")


@verb("resume", "pysched resume load", "pysched resume --all --catch-up")
@job_argument(required=False)
@_EVERYTHING
@click.option("--catch-up", is_flag=True, help="Apply each job's catch_up rule to the firings that were dropped.")
@reason_option
@json_option
@pass_session
def resume(
    session: Session, job: str | None, everything: bool, catch_up: bool, reason: str | None, as_json: bool
) -> None:
    """End a pause; the job starts from now.

    Firings that were dropped stay dropped, unless --catch-up is given. Ending the pause of everything leaves jobs
    paused that were paused by themselves.
    """
    body = {"reason": reason, "catch_up": catch_up or None}
    answer = session.client().post(_path(job, "resume", everything=everything), body)
    if as_json:
        session.print_json(answer)
    else:
        session.say(f"{_what(job)}: resumed")


def _path(job: str | None, action: str, *, everything: bool) -> str:
    """Return the route. Raises WrongUsage unless exactly one of the two is meant."""
    if everything == (job is not None):
        raise WrongUsage(f"{action} needs a job, or --all for the whole scheduler", mend=f"pysched {action} --help")
    return "/api/scheduler/" + action if job is None else f"/api/jobs/{segment(job)}/{action}"


def _what(job: str | None) -> str:
    return "the scheduler" if job is None else job
