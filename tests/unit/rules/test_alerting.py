"""From one change of a run, or a deadline, to what people are told. Spec: jobs.md 15.1."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from pyscheduler.model.alert import Alert, AlertKind
from pyscheduler.model.job import Criticality, Job, JobAlerts, JobKind
from pyscheduler.model.run import Outcome, Run, RunState
from pyscheduler.rules import alerting
from tests.builders import NOON, a_job, a_run, an_attempt, ended_attempt, running

LATER = NOON + timedelta(minutes=5)


def raised(before: Run, job: Job | None, outcome: Outcome | None = None, **after: Any) -> list[Alert]:
    """Return the alerts of a change; `outcome` closes the run's attempt with it."""
    run = replace(before, **after)
    ended = ended_attempt(run, outcome, reason="exit 1", note="why") if outcome else None
    return list(alerting.alerts_of(before, run, ended, job, LATER))


def kinds(found: list[Alert]) -> list[str]:
    return [alert.kind.value for alert in found]


def test_a_run_that_fails_says_which_and_why() -> None:
    (alert,) = raised(running(), a_job(criticality=Criticality.HIGH), state=RunState.FAILED, reason="exit 1")
    assert alert == Alert(
        alert_id="load.2027-05-20.1:failed:1",
        kind=AlertKind.FAILED,
        criticality="high",
        raised_at=LATER,
        message="load.2027-05-20.1 failed: exit 1",
        job="load",
        run_id="load.2027-05-20.1",
        run_date=date(2027, 5, 20),
        attempt=1,
        detail={"attempt": 1, "reason": "exit 1"},
    )
    assert alert.topic == "alert.failed.high.load"


def test_each_kind_is_raised_where_its_state_is_entered_and_nowhere_else() -> None:
    """Entering counts: a run that stays where it is tells nothing."""
    job = a_job(alerts=JobAlerts(on=("retrying",)))
    assert kinds(raised(a_run(), job, state=RunState.BLOCKED, reason="blocked: x failed")) == ["blocked"]
    assert kinds(raised(running(), job, state=RunState.RETRY_WAIT)) == ["retrying"]
    assert raised(a_run(state=RunState.FAILED), job, state=RunState.FAILED, reason="again") == []
    for quiet in (RunState.QUEUED, RunState.WAITING, RunState.HELD, RunState.SKIPPED, RunState.CANCELLED):
        assert raised(a_run(), job, state=quiet) == []


def test_a_reason_does_not_say_blocked_twice() -> None:
    (alert,) = raised(a_run(), a_job(), state=RunState.BLOCKED, reason="blocked: x (2027-05-20) failed")
    assert alert.message == "load.2027-05-20.1 is blocked: x (2027-05-20) failed"
    assert (alert.attempt, alert.detail) == (0, {"reason": "blocked: x (2027-05-20) failed"})


def test_a_lost_attempt_is_told_even_where_the_run_goes_on() -> None:
    assert kinds(raised(running(), a_job(), Outcome.LOST, state=RunState.RETRY_WAIT)) == ["lost"]
    found = raised(running(), a_job(), Outcome.LOST, state=RunState.FAILED, reason="lost")
    assert kinds(found) == ["failed", "lost"]
    assert found[1].detail == {"attempt": 1, "started_at": NOON.isoformat()}
    assert found[1].message == "attempt 1 of load.2027-05-20.1 is lost: why"


def test_a_watcher_that_gives_up_has_a_kind_of_its_own() -> None:
    watcher = a_job(kind=JobKind.FILE_WATCHER)
    assert kinds(raised(running(), watcher, Outcome.TIMEOUT, state=RunState.FAILED)) == ["failed", "watcher_timeout"]
    assert kinds(raised(running(), a_job(), Outcome.TIMEOUT, state=RunState.FAILED)) == ["failed"]


def test_a_success_that_was_too_fast() -> None:
    job, run = a_job(min_runtime_s=5.0), running()
    done = replace(run, state=RunState.SUCCEEDED)
    fast = replace(ended_attempt(run, Outcome.SUCCEEDED), ended_at=NOON + timedelta(seconds=0.4))
    (alert,) = alerting.alerts_of(run, done, fast, job, LATER)
    assert alert.detail == {"runtime_seconds": 0.4, "min_runtime_seconds": 5.0}
    assert alert.message == "load.2027-05-20.1 succeeded in 0.4s, and min_runtime is 5s"
    slow = replace(fast, ended_at=NOON + timedelta(seconds=5))
    assert alerting.alerts_of(run, done, slow, job, LATER) == ()
    assert (
        alerting.alerts_of(run, replace(run, state=RunState.FAILED), replace(fast, outcome=Outcome.FAILED), job, LATER)[
            0
        ].kind
        is AlertKind.FAILED
    )


@pytest.mark.parametrize(
    ("on", "off", "kind", "wanted"),
    [
        ((), (), "failed", True),
        ((), (), "retrying", False),
        ((), (), "recovered", False),
        (("retrying",), (), "retrying", True),
        ((), ("failed",), "failed", False),
        (("failed",), ("failed",), "failed", True),
    ],
)
def test_on_beats_off_and_two_kinds_are_off_by_default(
    on: tuple[str, ...], off: tuple[str, ...], kind: str, wanted: bool
) -> None:
    assert alerting.wants(a_job(alerts=JobAlerts(on=on, off=off)), AlertKind(kind)) is wanted


def test_recovery_is_told_where_repeats_are_held_back() -> None:
    """Who hears of a trouble once must hear that it is over."""
    quiet = JobAlerts(repeat_after_s=60.0)
    assert alerting.wants(a_job(alerts=quiet), AlertKind.RECOVERED)
    assert not alerting.wants(a_job(alerts=replace(quiet, off=("recovered",))), AlertKind.RECOVERED)
    assert not alerting.wants(None, AlertKind.RECOVERED)


def test_a_job_that_is_gone_is_told_of_as_by_default() -> None:
    (alert,) = raised(running(), None, state=RunState.FAILED, reason="lost")
    assert alert.criticality == "normal"


# --------------------------------------------------------------------------- deadlines


def test_a_clock_time_is_that_of_the_day_the_run_fired_in_the_jobs_zone() -> None:
    """`settle` fires Tuesday 00:40 in Berlin for the Friday before: `02:00` is Tuesday 00:00Z (spec 15.1)."""
    fired = datetime(2027, 5, 17, 22, 40, tzinfo=UTC)
    run = a_run("settle", date(2027, 5, 14), scheduled_at=fired, created_at=fired)
    job = a_job("settle", must_start_by=time(2), timezone="Europe/Berlin")
    assert alerting.start_deadline(run, job) == datetime(2027, 5, 18, tzinfo=UTC)


def test_a_duration_counts_from_when_the_run_was_due() -> None:
    assert alerting.start_deadline(a_run(), a_job(must_start_by=2700.0)) == NOON + timedelta(minutes=45)


@pytest.mark.parametrize(
    "run",
    [
        a_run(created_at=NOON + timedelta(hours=1)),
        a_run(attempt=1),
        a_run(state=RunState.SKIPPED),
        running(),
    ],
    ids=["made at its deadline", "has started before", "ended", "runs"],
)
def test_these_have_no_deadline_for_their_start(run: Run) -> None:
    assert alerting.start_deadline(run, a_job(must_start_by=3600.0)) is None


def test_a_run_that_has_not_started_says_where_it_stands() -> None:
    job, deadline = a_job(must_start_by=60.0, timezone="Europe/Berlin"), NOON + timedelta(minutes=1)
    waiting = a_run(state=RunState.WAITING, reason="waiting for x")
    alert = alerting.never_started(waiting, job, deadline, LATER)
    assert alert is not None
    assert alert.alert_id == "load.2027-05-20.1:never_started:0"
    assert alert.detail == {"deadline": deadline.isoformat(), "state": "waiting"}
    words = "has not started by 2027-05-20 14:01:00 Europe/Berlin: it is waiting (waiting for x)"
    assert alert.message == f"load.2027-05-20.1 {words}"
    assert alerting.never_started(running(), job, deadline, LATER) is None


def test_an_attempt_that_runs_too_long() -> None:
    job, run = a_job(max_runtime_s=3600.0), running()
    attempt = an_attempt(run)
    assert alerting.end_deadline(attempt, job) == NOON + timedelta(hours=1)
    assert alerting.end_deadline(attempt, a_job()) is None
    alert = alerting.too_long(run, attempt, job, NOON + timedelta(hours=1))
    assert alert is not None
    assert alert.detail == {"runtime_seconds": 3600.0, "max_runtime_seconds": 3600.0}
    assert alert.message == "load.2027-05-20.1 still runs after 1h00m, its max_runtime"
    assert alerting.too_long(replace(run, state=RunState.SUCCEEDED), attempt, job, LATER) is None


# --------------------------------------------------------------------------- of no run


def test_a_refused_reload_is_high_and_of_no_job() -> None:
    alert = alerting.reload_failed(["c.yaml:1: wrong", "c.yaml:2: too"], "ann", NOON)
    assert alert.topic == "alert.reload_failed.high._scheduler"
    assert alert.alert_id == "_scheduler:reload_failed:20270520T120000.000000Z"
    assert alert.detail == {"problems": ["c.yaml:1: wrong", "c.yaml:2: too"]}
    assert alert.message == "reload by ann refused: the configuration has 2 errors: c.yaml:1: wrong"


def test_silence_is_told_once_for_each_success_it_counts_from() -> None:
    job = a_job(max_silence_s=600.0)
    first, again = alerting.stale(job, NOON, LATER), alerting.stale(job, NOON, LATER + timedelta(hours=1))
    assert first.alert_id == again.alert_id != alerting.stale(job, LATER, LATER).alert_id


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.44, "0.4s"), (5, "5s"), (12.9, "12s"), (185, "3m05s"), (3720, "1h02m"), (183600, "2d03h")],
)
def test_lengths_of_time_are_short_and_exact_enough(seconds: float, text: str) -> None:
    assert alerting.span(seconds) == text


@pytest.mark.parametrize(
    ("sign_min", "outcome", "told"),
    [
        (10, Outcome.SUCCEEDED, True),
        (10, Outcome.FAILED, True),
        (31, Outcome.SUCCEEDED, False),
        (10, Outcome.LOST, False),
    ],
)
def test_an_overrun_that_nobody_saw_is_told_if_it_is_known(sign_min: int, outcome: Outcome, told: bool) -> None:
    """Its deadline fell after the last sign of life; how long a lost attempt ran, nobody knows."""
    run = running()
    start = an_attempt(run).started_at
    attempt = replace(an_attempt(run), outcome=outcome, ended_at=start + timedelta(minutes=45))
    job = a_job(max_runtime_s=1800.0)
    found = alerting.ran_too_long(run, attempt, job, start + timedelta(minutes=sign_min), LATER)
    assert (found is not None) is told
    if found is not None:
        assert found.alert_id == f"{run.run_id}:too_long:{attempt.attempt}"
        assert "ran 45m00s, longer than 30m00s" in found.message
    quiet = a_job(max_runtime_s=1800.0, alerts=JobAlerts(off=("too_long",)))
    assert alerting.ran_too_long(run, attempt, quiet, start, LATER) is None
    in_time = a_job(max_runtime_s=2700.0)
    assert alerting.ran_too_long(run, attempt, in_time, start, LATER) is None


@pytest.mark.parametrize(("seconds", "rings"), [(-1, False), (0, False), (1, True)])
def test_a_deadline_that_had_passed_before_is_no_news(seconds: int, rings: bool) -> None:
    """Whoever watches from an instant on hears of what falls after it; that instant itself was somebody else's."""
    assert alerting.may_ring(NOON + timedelta(seconds=seconds), NOON) is rings
