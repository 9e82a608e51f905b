"""The whole answer for a run that has not been decided yet: dependencies first, then overlap.

`evaluate` is asked whenever something around an undecided run changes; it returns the event to feed to the state
machine, or None where the run already stands as it should.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyscheduler.model import event as ev
from pyscheduler.model.job import Job
from pyscheduler.model.run import Cause, Run, RunState
from pyscheduler.rules.dependencies import Say, Upstream, combined
from pyscheduler.rules.overlap import meet_overlap


@dataclass(frozen=True, slots=True)
class Facts:
    """What surrounds one run at one moment.

    `busy`: another run of the job is active. `newest_waiter`: the newest other fresh overlap-waiter of its run date.
    `waived`: an operator's release from the line counts as the wait, so dependencies are not asked again (spec 11).
    `patience_over`: its `max_wait` has run out.
    """

    upstreams: Sequence[Upstream] = ()
    busy: bool = False
    newest_waiter: Run | None = None
    waived: bool = False
    patience_over: bool = False


def evaluate(run: Run, job: Job, facts: Facts) -> ev.Event | None:
    """Return what happens to an undecided run (scheduled, waiting, blocked), None if nothing does."""
    event = _verdict(run, job, facts)
    return None if _stands(run, event) else event


def _verdict(run: Run, job: Job, facts: Facts) -> ev.Event:
    if job.inactive:
        return ev.MustNotStart(f"blocked: {job.name} {job.inactive}", Cause.CONFIG)
    if not facts.waived:
        spoken = combined(facts.upstreams)
        if spoken.say is Say.SKIP:
            return ev.NotNeeded(spoken.reason)
        if spoken.say is not Say.READY and facts.patience_over:
            return ev.WaitExpired(f"upstream missing: {spoken.reason}")
        if spoken.say is Say.BLOCK:
            return ev.MustNotStart(spoken.reason)
        if spoken.say is Say.WAIT:
            return ev.MustWait(spoken.reason, Cause.DEPENDENCY)
    return meet_overlap(run, job, busy=facts.busy, newest_waiter=facts.newest_waiter)


def _stands(run: Run, event: ev.Event) -> bool:
    match event:
        case ev.MustWait(reason, cause):
            return (run.state, run.reason, run.cause) == (RunState.WAITING, reason, cause)
        case ev.MustNotStart(reason, cause):
            return (run.state, run.reason, run.cause) == (RunState.BLOCKED, reason, cause)
    return False
