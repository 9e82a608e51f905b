"""A board's order: what most needs a hand comes first, whatever order the runs come in."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.web.worst_first import Group, Pace, criticality_of, deadline_of, group_of, is_late, is_short, order_key
from tests.builders import NOON, a_job, a_run

MINUTE = timedelta(minutes=1)
UNKNOWN = Pace()


def group(state: RunState, job: Job | None = None, now: datetime = NOON, pace: Pace = UNKNOWN, **fields: Any) -> Group:
    return group_of(a_run(state=state, **fields), job, now, pace)


def test_every_state_has_a_group_and_failures_come_first() -> None:
    """No state is forgotten, and nothing stands above what has failed."""
    groups = {state: group(state) for state in RunState}
    assert min(groups.values()) is groups[RunState.FAILED] is Group.FAILED
    assert max(groups.values()) is groups[RunState.SUCCEEDED] is Group.SUCCEEDED
    assert len(set(groups.values())) == len(RunState)


def test_a_critical_failure_is_pinned_above_the_others() -> None:
    """Critical jobs only: a failed job of high criticality stands among the failures, first of them."""
    assert group(RunState.FAILED, a_job(criticality=Criticality.CRITICAL)) is Group.FAILED_CRITICAL
    assert group(RunState.FAILED, a_job(criticality=Criticality.HIGH)) is Group.FAILED
    assert group(RunState.FAILED, None) is Group.FAILED


def test_the_whole_order() -> None:
    """The order of the manual, by example, from any shuffle."""
    critical, high = a_job("c", criticality=Criticality.CRITICAL), a_job("h", criticality=Criticality.HIGH)
    rows: list[tuple[Run, Job | None, Pace]] = [
        (a_run("c", state=RunState.FAILED, attempt=1), critical, Pace()),
        (a_run("h", state=RunState.FAILED, attempt=1), high, Pace()),
        (a_run("early", state=RunState.FAILED, attempt=1, scheduled_at=NOON - MINUTE), None, Pace()),
        (a_run("a", state=RunState.FAILED, attempt=1), None, Pace()),
        (a_run("a", seq=2, state=RunState.FAILED, attempt=1), None, Pace()),
        (a_run("blocked", state=RunState.BLOCKED), None, Pace()),
        (
            a_run("late", state=RunState.WAITING, scheduled_at=NOON - 60 * MINUTE, created_at=NOON - 60 * MINUTE),
            None,
            Pace(),
        ),
        (a_run("again", state=RunState.RETRY_WAIT, attempt=1), None, Pace()),
        (a_run("long", state=RunState.RUNNING, attempt=1), None, Pace(100.0, 10.0)),
        (a_run("held", state=RunState.HELD), None, Pace()),
        (a_run("queued", state=RunState.QUEUED), None, Pace()),
        (a_run("waiting", state=RunState.WAITING), None, Pace()),
        (a_run("running", state=RunState.RUNNING, attempt=1), None, Pace(10.0, 10.0)),
        (a_run("later", state=RunState.SCHEDULED), None, Pace()),
        (a_run("off", state=RunState.CANCELLED), None, Pace()),
        (a_run("over", state=RunState.SKIPPED), None, Pace()),
        (a_run("done", state=RunState.SUCCEEDED, attempt=1), None, Pace()),
    ]
    wanted = [run.run_id for run, _, _ in rows]
    random.Random(7).shuffle(rows)
    keyed = [
        (order_key(run, group_of(run, job, NOON, pace), criticality_of(job)), run.run_id) for run, job, pace in rows
    ]
    assert [run_id for _, run_id in sorted(keyed)] == wanted


@pytest.mark.parametrize("state", [RunState.SCHEDULED, RunState.WAITING, RunState.QUEUED])
def test_late_without_a_deadline_is_a_quarter_of_an_hour(state: RunState) -> None:
    """A run that could have started, and nothing of it did."""
    assert not is_late(a_run(state=state), a_job(), NOON + 15 * MINUTE)
    assert is_late(a_run(state=state), a_job(), NOON + 16 * MINUTE)
    assert not is_late(a_run(state=state, attempt=1), a_job(), NOON + 16 * MINUTE)


def test_a_catch_up_is_late_counting_from_its_creation() -> None:
    """It is due since yesterday and was created just now: nobody could have started it before."""
    run = a_run(state=RunState.QUEUED, scheduled_at=NOON - timedelta(days=1))
    assert not is_late(run, a_job(), NOON + MINUTE)


def test_jitter_is_no_lateness() -> None:
    """A run that must not start yet is not late."""
    run = a_run(state=RunState.QUEUED, not_before=NOON + 60 * MINUTE)
    assert not is_late(run, a_job(), NOON + 30 * MINUTE)


def test_a_deadline_decides_alone() -> None:
    """`must_start_by` as a duration: neither earlier nor later than it says."""
    job, run = a_job(must_start_by=3600.0), a_run(state=RunState.QUEUED)
    assert not is_late(run, job, NOON + 60 * MINUTE)
    assert is_late(run, job, NOON + 61 * MINUTE)
    assert not is_late(a_run(state=RunState.HELD), job, NOON + 61 * MINUTE)


def test_a_clock_deadline_lies_on_the_day_the_run_fired() -> None:
    """Spec 15.1: the local day of the firing in the job's zone, not the run date."""
    job = a_job(must_start_by=time(16, 0), timezone="Europe/Berlin")
    run = a_run(day=date(2027, 5, 14), state=RunState.QUEUED)
    assert deadline_of(run, job) == NOON + 120 * MINUTE


def test_a_run_created_after_its_deadline_has_none() -> None:
    """A backfill of last week cannot be late for last week."""
    job = a_job(must_start_by=60.0)
    assert deadline_of(a_run(scheduled_at=NOON - timedelta(days=7)), job) is None


def test_long_is_half_as_much_again_or_what_the_job_says() -> None:
    """150 % of the typical duration; `max_runtime` where that is shorter; never within the first seconds."""
    job = a_job(max_runtime_s=30.0)
    assert group(RunState.RUNNING, job, pace=Pace(31.0, 100.0)) is Group.LONG
    assert group(RunState.RUNNING, a_job(), pace=Pace(150.0, 100.0)) is Group.RUNNING
    assert group(RunState.RUNNING, a_job(), pace=Pace(151.0, 100.0)) is Group.LONG
    assert group(RunState.RUNNING, a_job(), pace=Pace(4.0, 0.1)) is Group.RUNNING
    assert group(RunState.RUNNING, a_job(), pace=Pace(9999.0, None)) is Group.RUNNING


def test_short_is_less_than_half() -> None:
    """A success that took suspiciously little time; what is always short is not."""
    assert is_short(a_job(), Pace(4.0, 10.0))
    assert not is_short(a_job(), Pace(5.0, 10.0))
    assert not is_short(a_job(), Pace(0.1, 1.0))
    assert is_short(a_job(min_runtime_s=3.0), Pace(2.0, None))
