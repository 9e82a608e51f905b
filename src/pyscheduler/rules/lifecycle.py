"""The run state machine: one table, one function.

`TABLE` is plain data: it draws the manual's diagram and a test walks every pair. `decide` answers one event with the
run as it becomes, the attempt row if one changes, the effects that make it so, and the logbook lines that tell it. A
pair that is not in the table is our bug: it raises ImpossibleTransition, which is no member of the error family, and
the engine stops loudly. Spec: jobs.md 3.2 and 3.3, DESIGN 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Protocol

from pyscheduler.model import event as ev
from pyscheduler.model.effect import Discard, Effect, Launch, Terminate, WakeAt
from pyscheduler.model.run import FINAL_STATES, Attempt, Cause, LogbookLine, Run, RunState

SCHEDULED, WAITING, BLOCKED = RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED
QUEUED, RUNNING, RETRY_WAIT, HELD = RunState.QUEUED, RunState.RUNNING, RunState.RETRY_WAIT, RunState.HELD
SUCCEEDED, FAILED = RunState.SUCCEEDED, RunState.FAILED
SKIPPED, CANCELLED = RunState.SKIPPED, RunState.CANCELLED

_UNDECIDED: Final = (SCHEDULED, WAITING, BLOCKED)
_IDLE: Final = (*_UNDECIDED, QUEUED, RETRY_WAIT, HELD)
_FINAL: Final = (SUCCEEDED, FAILED, SKIPPED, CANCELLED)

Key = tuple[RunState, type[ev.Event]]


def _rows(states: tuple[RunState, ...], event: type[ev.Event], to: RunState) -> dict[Key, RunState]:
    return {(state, event): to for state in states}


TABLE: Final[Mapping[Key, RunState]] = MappingProxyType(
    {
        # decided before it starts
        **_rows(_UNDECIDED, ev.MustWait, WAITING),
        **_rows(_UNDECIDED, ev.MustNotStart, BLOCKED),
        **_rows(_UNDECIDED, ev.NotNeeded, SKIPPED),
        **_rows(_UNDECIDED, ev.OverlapRefused, CANCELLED),
        **_rows(_UNDECIDED, ev.Superseded, CANCELLED),
        **_rows(_UNDECIDED, ev.WaitExpired, FAILED),
        **_rows(_UNDECIDED, ev.BecameReady, QUEUED),
        **_rows((QUEUED, SKIPPED), ev.UpstreamReopened, SCHEDULED),
        # attempts
        (QUEUED, ev.SlotGranted): RUNNING,
        (QUEUED, ev.Offered): QUEUED,
        (QUEUED, ev.OfferWithdrawn): QUEUED,
        (QUEUED, ev.AttemptStarted): RUNNING,
        (RUNNING, ev.AttemptSucceeded): SUCCEEDED,
        (RUNNING, ev.AttemptFailed): RETRY_WAIT,
        (RUNNING, ev.TriesSpent): FAILED,
        (RUNNING, ev.Adopted): RUNNING,
        (RUNNING, ev.GuardChanged): RUNNING,
        (RETRY_WAIT, ev.RetryDue): QUEUED,
        (RETRY_WAIT, ev.RetryHeldUp): WAITING,
        # by hand
        **_rows((*_UNDECIDED, QUEUED, RETRY_WAIT), ev.Held, HELD),
        (HELD, ev.Released): SCHEDULED,
        **_rows(_IDLE, ev.ForceStarted, QUEUED),
        **_rows(_IDLE, ev.SkippedByHand, SKIPPED),
        **_rows(_IDLE, ev.CancelledByHand, CANCELLED),
        **_rows((*_IDLE, *_FINAL), ev.MarkedSuccess, SUCCEEDED),
        **_rows((*_IDLE, *_FINAL), ev.MarkedFailed, FAILED),
        **_rows(_FINAL, ev.Rerun, SCHEDULED),
        (RUNNING, ev.KillAsked): RUNNING,
        # by a new configuration
        **_rows((*_UNDECIDED, QUEUED), ev.Redefined, SCHEDULED),
        (QUEUED, ev.KeptInLine): QUEUED,
        (RETRY_WAIT, ev.Redefined): RETRY_WAIT,
        (HELD, ev.Redefined): HELD,
        **_rows(_IDLE, ev.JobWithdrawn, CANCELLED),
    }
)


class ImpossibleTransition(AssertionError):
    """An event met a run in a state that cannot have it: our bug, and the engine stops."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one event."""

    run: Run
    attempt: Attempt | None = None
    effects: tuple[Effect, ...] = ()
    lines: tuple[LogbookLine, ...] = ()


def decide(run: Run, event: ev.Event, now: datetime) -> Decision:
    """Answer one event: the run as it becomes, and the effects that make it so.

    `now` is the wall clock, aware UTC. Raises ImpossibleTransition where TABLE has no row.
    """
    to = TABLE.get((run.state, type(event)))
    if to is None:
        raise ImpossibleTransition(f"{run.run_id} is {run.state} and cannot meet {event}")
    after = replace(run, **(_stale(run, to) | _changes(run, event, now)), state=to, updated_at=now)
    return Decision(after, getattr(event, "attempt", None), _effects(run, after, event), _lines(run, after, event, now))


def _changes(run: Run, event: ev.Event, now: datetime) -> dict[str, Any]:
    """Return the fields that the event itself moves."""
    match event:
        case ev.MustWait(reason, cause) | ev.MustNotStart(reason, cause):
            return {"reason": reason, "cause": cause}
        case ev.NotNeeded(reason):
            return {"reason": reason, "cause": Cause.DEPENDENCY}
        case ev.WaitExpired(reason):
            return {"reason": reason, "cause": Cause.PATIENCE}
        case ev.OverlapRefused():
            return {"reason": "skipped: overlap", "cause": Cause.OVERLAP}
        case ev.Superseded():
            return {"reason": "superseded", "cause": Cause.OVERLAP}
        case ev.BecameReady() | ev.RetryDue():
            return {"reason": "", "cause": Cause.NONE, "queued_at": now}
        case ev.RetryHeldUp(reason):
            return {"reason": reason, "cause": Cause.OVERLAP}
        case ev.UpstreamReopened(wait_until):
            return {"reason": "", "cause": Cause.NONE, "wait_until": wait_until}
        case ev.JobWithdrawn(reason):
            return {"reason": reason, "cause": Cause.CONFIG}
        case ev.Redefined(version, wait_until):
            return {"config_version": version, "wait_until": wait_until}
        case ev.KeptInLine(version):
            return {"config_version": version}
        case _:
            return _attempt_changes(run, event, now) or _hand_changes(run, event, now)


def _attempt_changes(run: Run, event: ev.Event, now: datetime) -> dict[str, Any]:
    match event:
        case ev.Offered() | ev.OfferWithdrawn():
            return {"offered_at": now if isinstance(event, ev.Offered) else None}
        case ev.SlotGranted(attempt) | ev.AttemptStarted(attempt):
            granted = {"attempt": attempt.attempt, "config_version": attempt.config_version}
            return granted | {"reason": "", "cause": Cause.NONE}
        case ev.AttemptSucceeded():
            return {"reason": "", "cause": Cause.NONE}
        case ev.AttemptFailed(attempt, retry_at, allowed):
            return {"reason": f"retry {run.tries}/{allowed} after {attempt.reason}", "not_before": retry_at}
        case ev.TriesSpent(attempt):
            return {"reason": attempt.reason, "cause": Cause.NONE}
        case ev.GuardChanged(remark):
            return {"reason": remark}
    return {}


def _hand_changes(run: Run, event: ev.Event, now: datetime) -> dict[str, Any]:
    match event:
        case ev.Held(by, why):
            return _by_hand("held", by, why) | {"held_from": run.state}
        case ev.Released(by, wait_until, why):
            return _by_hand("released", by, why) | {"wait_until": wait_until}
        case ev.ForceStarted(by, why):
            place = {"forced": True, "queued_at": run.queued_at or now, "not_before": None}
            return place | _by_hand("force-started", by, why)
        case ev.SkippedByHand(by, why):
            return _by_hand("skip", by, why)
        case ev.CancelledByHand(by, why):
            return _by_hand("cancelled", by, why)
        case ev.MarkedSuccess(by, why):
            return _by_hand("mark_success", by, why)
        case ev.MarkedFailed(by, why):
            return _by_hand("mark_failed", by, why)
        case ev.Rerun(by, wait_until, why):
            fresh = {"attempt_base": run.attempt, "reruns": run.reruns + 1, "wait_until": wait_until}
            return fresh | _by_hand("rerun", by, why)
    return {}


def _by_hand(deed: str, by: str, why: str) -> dict[str, Any]:
    """Return reason and cause of an operator's deed: who did what and, where they said it, why."""
    return {"reason": f"{deed} by {by}: {why}" if why else f"{deed} by {by}", "cause": Cause.HAND}


def _stale(run: Run, to: RunState) -> dict[str, Any]:
    """Return the fields that a run on its way to `to` has no use for any more, emptied."""
    gone: dict[str, Any] = {}
    if run.state is HELD and to is not HELD:
        gone["held_from"] = None
    if run.state is RETRY_WAIT and to is not RETRY_WAIT:
        gone["not_before"] = None
    if run.state is QUEUED and to is not QUEUED:
        gone |= {"queued_at": None, "forced": False, "not_before": None, "offered_at": None}
    if to is RUNNING or to in FINAL_STATES:
        gone |= {"wait_until": None, "not_before": None}
    return gone


def next_wake(run: Run) -> datetime | None:
    """Return when the run has to be looked at again even if nothing happens around it."""
    if run.state in (RETRY_WAIT, QUEUED):
        return run.not_before
    if run.state in (WAITING, BLOCKED):
        return run.wait_until
    return None


def _effects(before: Run, after: Run, event: ev.Event) -> tuple[Effect, ...]:
    run_id = after.run_id
    effects: list[Effect] = []
    if next_wake(before) != next_wake(after):
        effects.append(WakeAt(run_id, next_wake(after)))
    if isinstance(event, ev.SlotGranted):
        effects.append(Launch(run_id, after.attempt))
    if isinstance(event, ev.KillAsked):
        effects.append(Terminate(run_id, after.attempt, "kill", event.by))
    if after.is_final and after.attempt:
        effects.append(Discard(run_id))
    return tuple(effects)


def _lines(before: Run, after: Run, event: ev.Event, now: datetime) -> tuple[LogbookLine, ...]:
    """Tell what the scheduler did by itself; an operator's own line is written by the action."""

    def line(action: str, **detail: object) -> LogbookLine:
        return LogbookLine(at=now, actor="scheduler", action=action, run_id=after.run_id, job=after.job, detail=detail)

    lines: list[LogbookLine] = []
    match event:
        case ev.SlotGranted(attempt) | ev.AttemptStarted(attempt):
            lines.append(line("attempt_started", attempt=attempt.attempt))
        case ev.AttemptSucceeded(attempt) | ev.TriesSpent(attempt):
            lines.append(_ended(line, attempt))
        case ev.AttemptFailed(attempt, retry_at):
            lines.append(_ended(line, attempt))
            lines.append(line("retry_scheduled", attempt=attempt.attempt, at=retry_at.isoformat()))
        case ev.Adopted(attempt):
            lines.append(line("attempt_adopted", attempt=attempt.attempt, pid=attempt.pid))
    if after.is_final and (not before.is_final or before.state is not after.state):
        lines.append(line("finished", state=after.state.value, reason=after.reason))
    return tuple(lines)


class _LineMaker(Protocol):
    def __call__(self, action: str, **detail: object) -> LogbookLine: ...


def _ended(line: _LineMaker, attempt: Attempt) -> LogbookLine:
    outcome = attempt.outcome.value if attempt.outcome else None
    return line("attempt_ended", attempt=attempt.attempt, outcome=outcome, reason=attempt.reason)
