"""The state machine: every pair of the table, and what each row leaves behind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pyscheduler.model import event as ev
from pyscheduler.model.effect import Discard, Launch, Terminate, WakeAt
from pyscheduler.model.run import FINAL_STATES, Cause, Outcome, Run, RunState
from pyscheduler.rules.lifecycle import TABLE, ImpossibleTransition, decide, next_wake
from tests.builders import NOON, a_run, an_attempt, ended_attempt, running

LATER = NOON + timedelta(minutes=5)
S = RunState


def example(event: type[ev.Event], run: Run) -> ev.Event:
    """Return one event of each kind, fitting the run."""
    attempt = an_attempt(run, attempt=run.attempt or 1)
    ended = ended_attempt(run, Outcome.FAILED, "exit 1", attempt=run.attempt or 1)
    examples: dict[type[ev.Event], ev.Event] = {
        ev.MustWait: ev.MustWait("waiting for extract (2027-05-20)", Cause.DEPENDENCY),
        ev.MustNotStart: ev.MustNotStart("blocked: extract (2027-05-20) failed"),
        ev.NotNeeded: ev.NotNeeded("skipped: guard (2027-05-20) did not fail"),
        ev.OverlapRefused: ev.OverlapRefused(),
        ev.Superseded: ev.Superseded(),
        ev.BecameReady: ev.BecameReady(),
        ev.WaitExpired: ev.WaitExpired("upstream missing: waiting for extract (2027-05-20): no run yet"),
        ev.SlotGranted: ev.SlotGranted(an_attempt(run, attempt=run.attempt + 1, config_version=7)),
        ev.Offered: ev.Offered(),
        ev.OfferWithdrawn: ev.OfferWithdrawn(),
        ev.AttemptStarted: ev.AttemptStarted(an_attempt(run, attempt=run.attempt + 1, config_version=7)),
        ev.AttemptSucceeded: ev.AttemptSucceeded(ended_attempt(run, Outcome.SUCCEEDED, attempt=run.attempt or 1)),
        ev.AttemptFailed: ev.AttemptFailed(ended, LATER, 3),
        ev.TriesSpent: ev.TriesSpent(ended),
        ev.RetryDue: ev.RetryDue(),
        ev.RetryHeldUp: ev.RetryHeldUp("waiting for previous run"),
        ev.UpstreamReopened: ev.UpstreamReopened(),
        ev.Held: ev.Held("ann"),
        ev.Released: ev.Released("ann"),
        ev.ForceStarted: ev.ForceStarted("ann"),
        ev.SkippedByHand: ev.SkippedByHand("ann"),
        ev.CancelledByHand: ev.CancelledByHand("ann"),
        ev.MarkedSuccess: ev.MarkedSuccess("ann"),
        ev.MarkedFailed: ev.MarkedFailed("ann"),
        ev.Rerun: ev.Rerun("ann"),
        ev.KillAsked: ev.KillAsked("ann", attempt),
        ev.Redefined: ev.Redefined(9),
        ev.KeptInLine: ev.KeptInLine(9),
        ev.JobWithdrawn: ev.JobWithdrawn("removed by reload"),
        ev.Adopted: ev.Adopted(attempt),
        ev.GuardChanged: ev.GuardChanged("minder gone, process 4711 still runs", attempt),
    }
    return examples[event]


def a_run_in(state: RunState) -> Run:
    """Return a run as it may stand in a state."""
    examples: dict[RunState, dict[str, Any]] = {
        S.RUNNING: {"attempt": 1},
        S.RETRY_WAIT: {"attempt": 1, "not_before": LATER},
        S.QUEUED: {"queued_at": NOON},
        S.HELD: {"held_from": S.WAITING},
        S.WAITING: {"wait_until": LATER},
        S.SUCCEEDED: {"attempt": 1},
        S.FAILED: {"attempt": 2},
    }
    return a_run(state=state, **examples.get(state, {}))


ALL_EVENTS = sorted({event for _, event in TABLE}, key=lambda event: event.__name__)


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("event", ALL_EVENTS, ids=lambda event: event.__name__)
def test_every_pair_of_state_and_event_is_in_the_table_or_impossible(state: RunState, event: type[ev.Event]) -> None:
    """Nothing is left to a default: a pair has its row, or it is our bug and says so."""
    run = a_run_in(state)
    if (state, event) in TABLE:
        after = decide(run, example(event, run), NOON).run
        assert after.state is TABLE[(state, event)]
        assert (after.run_id, after.job, after.scheduled_at) == (run.run_id, run.job, run.scheduled_at)
        assert after.updated_at == NOON
    else:
        with pytest.raises(ImpossibleTransition, match=run.run_id):
            decide(run, example(event, run), NOON)


def test_every_event_of_the_model_has_a_row() -> None:
    """An event that no state can meet would be a word without a meaning."""
    kinds = {kind for kind in vars(ev).values() if isinstance(kind, type) and issubclass(kind, ev.Event)}
    assert kinds - {ev.Event} == set(ALL_EVENTS)


def test_only_hands_and_a_reopened_upstream_move_an_ended_run() -> None:
    """Whatever news comes late, an ended run stays ended (DESIGN 8 row 5 is the one exception)."""
    moving = {event for (state, event) in TABLE if state in FINAL_STATES}
    assert moving == {ev.MarkedSuccess, ev.MarkedFailed, ev.Rerun, ev.UpstreamReopened}
    assert {state for state, event in TABLE if event is ev.UpstreamReopened} == {S.QUEUED, S.SKIPPED}


def test_a_running_attempt_ends_only_by_its_own_end() -> None:
    """No operator's word ends a running run: a kill asks, the guardian answers."""
    leaving = {event for (state, event), to in TABLE.items() if state is S.RUNNING and to is not S.RUNNING}
    assert leaving == {ev.AttemptSucceeded, ev.AttemptFailed, ev.TriesSpent}


@pytest.mark.parametrize("pair", TABLE, ids=lambda pair: f"{pair[0]}-{pair[1].__name__}")
def test_an_ended_run_keeps_nothing_of_its_waiting(pair: tuple[RunState, type[ev.Event]]) -> None:
    """What only an open run has is gone with its end, so that nothing wakes it."""
    run = a_run_in(pair[0])
    after = decide(run, example(pair[1], run), NOON).run
    if after.is_final:
        assert (after.forced, after.held_from, after.not_before, after.queued_at, after.wait_until) == (
            False,
            None,
            None,
            None,
            None,
        )
    if after.state is not S.QUEUED:
        assert not after.forced
        assert after.queued_at is None
    if after.state is not S.HELD:
        assert after.held_from is None


def test_a_granted_slot_writes_the_attempt_and_orders_the_launch() -> None:
    """The row of the attempt, the line that tells it and the order to start are one decision."""
    run = a_run(state=S.QUEUED, queued_at=NOON, attempt=2, forced=True, not_before=NOON)
    attempt = an_attempt(run, attempt=3, config_version=7)
    answer = decide(run, ev.SlotGranted(attempt), LATER)
    assert answer.attempt is attempt
    assert (answer.run.attempt, answer.run.config_version, answer.run.reason) == (3, 7, "")
    assert Launch(run.run_id, 3) in answer.effects
    assert [(line.action, line.detail) for line in answer.lines] == [("attempt_started", {"attempt": 3})]


def test_a_failed_attempt_says_which_retry_is_next_and_when() -> None:
    """The reason is the spec's text and the wake-up is the retry's instant."""
    run = running(attempt=4, attempt_base=3)
    ended = ended_attempt(run, Outcome.FAILED, "exit 3")
    answer = decide(run, ev.AttemptFailed(ended, LATER, 2), NOON)
    assert answer.run.reason == "retry 1/2 after exit 3"
    assert answer.run.not_before == LATER
    assert answer.effects == (WakeAt(run.run_id, LATER),)
    assert [line.action for line in answer.lines] == ["attempt_ended", "retry_scheduled"]
    assert answer.lines[0].detail == {"attempt": 4, "outcome": "failed", "reason": "exit 3"}


def test_a_kill_is_an_order_and_no_end() -> None:
    """The run goes on running until its guardian says that it has ended."""
    run = running()
    answer = decide(run, ev.KillAsked("ann", an_attempt(run, kill_by="ann")), NOON)
    assert answer.run.state is S.RUNNING
    assert answer.effects == (Terminate(run.run_id, 1, "kill", "ann"),)
    assert answer.attempt is not None
    assert answer.attempt.kill_by == "ann"


def test_an_end_is_told_once_and_the_files_may_go() -> None:
    """`finished` is written at every entry into a final state, an operator's included."""
    run = running()
    spent = decide(run, ev.TriesSpent(ended_attempt(run, Outcome.FAILED, "exit 1")), NOON)
    assert [line.action for line in spent.lines] == ["attempt_ended", "finished"]
    assert spent.lines[1].detail == {"state": "failed", "reason": "exit 1"}
    assert Discard(run.run_id) in spent.effects
    marked = decide(spent.run, ev.MarkedSuccess("ann"), LATER)
    assert [line.detail for line in marked.lines] == [{"state": "succeeded", "reason": "mark_success by ann"}]
    again = decide(marked.run, ev.MarkedSuccess("bob"), LATER)
    assert again.lines == ()


def test_a_rerun_opens_a_fresh_budget_and_counts_itself() -> None:
    """`reruns` is a count (DESIGN 8 row 12); the tries count from the attempts made before."""
    run = a_run(state=S.FAILED, attempt=4, attempt_base=2, reruns=1)
    after = decide(run, ev.Rerun("ann", LATER), NOON).run
    assert (after.state, after.attempt_base, after.reruns, after.tries, after.wait_until) == (
        S.SCHEDULED,
        4,
        2,
        0,
        LATER,
    )


def test_force_opens_a_hold_and_keeps_its_place() -> None:
    """A forced run stands in line whatever held it; the mark stays until it starts (DESIGN 8 row 10)."""
    held = a_run(state=S.HELD, held_from=S.RETRY_WAIT, attempt=1)
    after = decide(held, ev.ForceStarted("ann"), NOON).run
    assert (after.state, after.forced, after.held_from, after.queued_at) == (S.QUEUED, True, None, NOON)
    kept = decide(after, ev.KeptInLine(9), LATER).run
    assert (kept.forced, kept.queued_at, kept.config_version) == (True, NOON, 9)
    waiting_to_retry = a_run(state=S.RETRY_WAIT, attempt=1, not_before=LATER)
    forced = decide(waiting_to_retry, ev.ForceStarted("ann"), NOON)
    assert forced.run.not_before is None
    assert WakeAt(forced.run.run_id, None) in forced.effects


def test_a_run_wakes_for_its_retry_its_jitter_and_its_patience_only() -> None:
    """What has to be looked at without anything happening around it, and when."""
    assert next_wake(a_run(state=S.RETRY_WAIT, not_before=LATER)) == LATER
    assert next_wake(a_run(state=S.QUEUED, not_before=LATER)) == LATER
    assert next_wake(a_run(state=S.WAITING, wait_until=LATER, not_before=NOON)) == LATER
    assert next_wake(a_run(state=S.BLOCKED, wait_until=LATER)) == LATER
    assert next_wake(a_run(state=S.HELD, wait_until=LATER, not_before=LATER)) is None
    assert next_wake(running(wait_until=LATER)) is None


def test_a_changed_guard_is_told_in_the_reason() -> None:
    """ "running" alone would hide that nobody guards the process any more."""
    run = running()
    told = decide(run, ev.GuardChanged("minder gone, process 7 still runs", an_attempt(run)), NOON).run
    assert (told.state, told.reason) == (S.RUNNING, "minder gone, process 7 still runs")
