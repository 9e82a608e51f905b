"""The overlap rule, jobs.md 5.1 and DESIGN 8 row 3."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pyscheduler.model import event as ev
from pyscheduler.model.job import CatchUp, Overlap
from pyscheduler.model.run import Cause, RunState, Trigger
from pyscheduler.rules.overlap import (
    WAITS,
    WAITS_AGAIN,
    may_be_superseded,
    meet_overlap,
    meet_overlap_again,
    turn_key,
    waits_for_overlap,
)
from tests.builders import DAY, NOON, a_job, a_run

HOUR = timedelta(hours=1)
WAIT = ev.MustWait(WAITS, Cause.OVERLAP)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_free_job_lets_its_run_go(overlap: Overlap) -> None:
    """Nothing active, nothing to overlap."""
    assert meet_overlap(a_run(), a_job(overlap=overlap), busy=False, newest_waiter=None) == ev.BecameReady()


def test_allow_lets_it_go_while_another_runs() -> None:
    """`allow` never looks."""
    assert meet_overlap(a_run(), a_job(overlap=Overlap.ALLOW), busy=True, newest_waiter=None) == ev.BecameReady()


def test_skip_refuses_a_fresh_run_and_lets_a_tried_one_wait() -> None:
    """Retries and reruns only ever wait; they are never skipped."""
    job = a_job(overlap=Overlap.SKIP)
    assert meet_overlap(a_run(), job, busy=True, newest_waiter=None) == ev.OverlapRefused()
    assert meet_overlap(a_run(attempt=1), job, busy=True, newest_waiter=None) == ev.MustWait(WAITS_AGAIN, Cause.OVERLAP)


def test_queue_keeps_the_newest_waiter_of_each_date() -> None:
    """The newest by (scheduled_at, number) stays; the other one is superseded."""
    job = a_job()
    older, newer = a_run(seq=1), a_run(seq=2, scheduled_at=NOON + HOUR)
    assert meet_overlap(newer, job, busy=True, newest_waiter=older) == WAIT
    assert meet_overlap(older, job, busy=True, newest_waiter=newer) == ev.Superseded()
    assert meet_overlap(a_run(seq=9), job, busy=True, newest_waiter=a_run(seq=11)) == ev.Superseded()


def test_missed_firings_of_catch_up_all_all_run() -> None:
    """Only catch-up runs of a `catch_up: all` job are exempt; all others obey (DESIGN 8 row 3)."""
    job = a_job(catch_up=CatchUp.ALL)
    missed = a_run(trigger=Trigger.CATCH_UP)
    newer = a_run(seq=2, scheduled_at=NOON + HOUR, trigger=Trigger.CATCH_UP)
    assert meet_overlap(missed, job, busy=True, newest_waiter=newer) == WAIT
    waiting = a_run(trigger=Trigger.CATCH_UP, state=RunState.WAITING, cause=Cause.OVERLAP)
    assert not may_be_superseded(waiting, job)
    assert may_be_superseded(waiting, a_job(catch_up=CatchUp.LATEST))
    assert may_be_superseded(a_run(state=RunState.WAITING, cause=Cause.OVERLAP), job)


def test_a_run_that_waits_for_an_upstream_is_no_overlap_waiter() -> None:
    """Only what overlap alone holds back can be superseded."""
    assert waits_for_overlap(a_run(state=RunState.WAITING, cause=Cause.OVERLAP))
    assert not waits_for_overlap(a_run(state=RunState.WAITING, cause=Cause.DEPENDENCY))
    assert not waits_for_overlap(a_run(state=RunState.QUEUED, cause=Cause.OVERLAP))
    assert not may_be_superseded(a_run(state=RunState.WAITING, cause=Cause.OVERLAP, attempt=1), a_job())


def test_a_retry_waits_for_the_run_that_went_meanwhile() -> None:
    """A run between two tries holds nobody back, and then waits its turn."""
    assert meet_overlap_again(a_job(), busy=False) == ev.RetryDue()
    assert meet_overlap_again(a_job(), busy=True) == ev.RetryHeldUp(WAITS_AGAIN)
    assert meet_overlap_again(a_job(overlap=Overlap.SKIP), busy=True) == ev.RetryHeldUp(WAITS_AGAIN)
    assert meet_overlap_again(a_job(overlap=Overlap.ALLOW), busy=True) == ev.RetryDue()


def test_waiters_take_their_turn_by_run_date_first() -> None:
    """The earliest business day goes first, whenever it was created."""
    tomorrow = a_run(day=DAY + timedelta(days=1), scheduled_at=NOON - HOUR)
    assert sorted([tomorrow, a_run(seq=2), a_run(seq=1)], key=turn_key) == [a_run(seq=1), a_run(seq=2), tomorrow]
