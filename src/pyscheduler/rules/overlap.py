"""The overlap rule: may a ready run stand in line while another run of its job still goes? Spec: jobs.md 5.1.

Only *active* runs (queued or running) hold others back. Under `queue` at most one fresh run waits for each run date:
the newest stays. Catch-up runs of a `catch_up: all` job are exempt from that, so every missed firing runs (DESIGN 8
row 3). Runs that were tried before only ever wait.
"""

from __future__ import annotations

from datetime import date, datetime

from pyscheduler.model import event as ev
from pyscheduler.model.job import CatchUp, Job, Overlap
from pyscheduler.model.run import Cause, Run, RunState, Trigger

WAITS = "waiting for previous run"
WAITS_AGAIN = "waiting for another run"
"""Of a run that was tried before: what holds it back may well be a later one."""


def meet_overlap(run: Run, job: Job, *, busy: bool, newest_waiter: Run | None) -> ev.Event:
    """Return what becomes of a run whose dependencies are met.

    `busy`: another run of the job is active. `newest_waiter`: the newest other fresh overlap-waiter of the run date.
    """
    if not busy or job.overlap is Overlap.ALLOW:
        return ev.BecameReady()
    if not run.is_fresh:
        return ev.MustWait(WAITS_AGAIN, Cause.OVERLAP)
    if is_exempt(run, job):
        return ev.MustWait(WAITS, Cause.OVERLAP)
    if job.overlap is Overlap.SKIP:
        return ev.OverlapRefused()
    if newest_waiter is not None and age_key(newest_waiter) > age_key(run):
        return ev.Superseded()
    return ev.MustWait(WAITS, Cause.OVERLAP)


def meet_overlap_again(job: Job, *, busy: bool) -> ev.Event:
    """Return what becomes of a run whose wait for the next try is over."""
    return ev.RetryHeldUp(WAITS_AGAIN) if busy and job.overlap is not Overlap.ALLOW else ev.RetryDue()


def is_exempt(run: Run, job: Job) -> bool:
    """Whether a run neither supersedes nor is superseded."""
    return run.trigger is Trigger.CATCH_UP and job.catch_up is CatchUp.ALL


def waits_for_overlap(run: Run) -> bool:
    """Whether a run is held back by another run of its job and by nothing else."""
    return run.state is RunState.WAITING and run.cause is Cause.OVERLAP


def may_be_superseded(run: Run, job: Job) -> bool:
    """Whether a newer waiter of the same run date takes this one's place."""
    return waits_for_overlap(run) and run.is_fresh and not is_exempt(run, job)


def age_key(run: Run) -> tuple[datetime, int]:
    """Return the key by which waiters of one run date are compared; the greatest is the newest."""
    return (run.scheduled_at, run.seq)


def turn_key(run: Run) -> tuple[date, datetime, int]:
    """Return the key by which waiting runs of one job take their turn: earliest run date first."""
    return (run.run_date, run.scheduled_at, run.seq)
