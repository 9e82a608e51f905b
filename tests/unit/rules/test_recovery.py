"""What a start makes of what it finds, seed 000 step 3 and jobs.md 9.2."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pyscheduler.model import event as ev
from pyscheduler.model.firing import Firing, Missed
from pyscheduler.model.job import CatchUp, RetryPolicy
from pyscheduler.model.result import AttemptResult
from pyscheduler.rules.recovery import KEEP, catch_up, found_ended, missing_row
from tests.builders import DAY, NOON, a_job, an_attempt, running

HOUR = timedelta(hours=1)


def missed(count: int, keep: int) -> Missed:
    """Return `count` hourly firings up to noon, of which the newest `keep` + 1 are at hand."""
    firings = [Firing(NOON - HOUR * n, DAY) for n in reversed(range(min(count, keep + 1)))]
    if not count:
        return Missed(0, None, None, ())
    return Missed(count, Firing(NOON - HOUR * (count - 1), DAY), firings[-1], tuple(firings))


@pytest.mark.parametrize(
    ("rule", "count", "runs", "dropped"),
    [
        (CatchUp.LATEST, 4, 1, 3),
        (CatchUp.ALL, 4, 4, 0),
        (CatchUp.ALL, 1200, 1000, 200),
        (CatchUp.NONE, 4, 0, 4),
        (CatchUp.LATEST, 0, 0, 0),
        (CatchUp.NONE, 0, 0, 0),
    ],
)
def test_each_rule_keeps_what_the_seed_says(rule: CatchUp, count: int, runs: int, dropped: int) -> None:
    """`latest` one, `all` at most the latest 1000, `none` none; the rest is counted."""
    found = catch_up(missed(count, KEEP[rule]), rule, existing=())
    assert (len(found.run), found.dropped) == (runs, dropped)
    assert list(found.run) == sorted(found.run)
    if runs:
        assert found.run[-1].scheduled_at == NOON
    if dropped:
        assert found.first is not None
        assert found.first.scheduled_at == NOON - HOUR * (count - 1)
        assert found.last is not None
        assert found.last.scheduled_at == NOON - HOUR * runs


def test_a_firing_that_has_its_run_gets_no_other() -> None:
    """Runs are unique by job and due time: neither run again nor told as dropped."""
    already: set[datetime] = {NOON}
    assert catch_up(missed(1, 1), CatchUp.LATEST, already).run == ()
    found = catch_up(missed(4, 1000), CatchUp.ALL, {NOON - HOUR})
    assert [firing.scheduled_at for firing in found.run] == [NOON - 3 * HOUR, NOON - 2 * HOUR, NOON]
    assert catch_up(missed(4, 0), CatchUp.NONE, {NOON - HOUR}).dropped == 3


def test_the_wait_for_a_retry_counts_from_the_attempts_own_end() -> None:
    """Found ended an hour ago, with a delay of a minute: the retry is overdue and starts at once."""
    run = running()
    job = a_job(retries=RetryPolicy(count=1, delay_s=60))
    event = found_ended(run, an_attempt(run), AttemptResult(exit_code=1, ended_at=NOON - HOUR), job, NOON, 0.0)
    assert isinstance(event, ev.AttemptFailed)
    assert event.retry_at == NOON - HOUR + timedelta(minutes=1)


def test_a_kill_before_the_crash_still_counts() -> None:
    """A kill in the logbook makes it killed, not retried, even if the note says exit 0 (DESIGN 8 row 1)."""
    run = running()
    job = a_job(retries=RetryPolicy(count=5))
    event = found_ended(run, an_attempt(run, kill_by="ann"), AttemptResult(exit_code=0), job, NOON, 0.0)
    assert isinstance(event, ev.TriesSpent)
    assert event.attempt.reason == "killed by ann"


def test_a_missing_row_is_made_up_so_that_it_can_be_closed() -> None:
    """A crash mid-commit leaves a running run without an attempt: it is lost, and its row says so."""
    run = running(attempt=3)
    assert (missing_row(run).attempt, missing_row(run).key) == (3, "")
