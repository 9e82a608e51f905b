"""Small builders that tests share: a run, an attempt, a job, with only what the test is about spelled out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from pyscheduler.model.ids import make_run_id
from pyscheduler.model.job import Job, SourceRef
from pyscheduler.model.run import Attempt, Outcome, Run, RunState, Trigger

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY = date(2027, 5, 20)


def a_job(name: str = "load", **fields: Any) -> Job:
    """Return a job; `command` is `true` unless given."""
    given: dict[str, Any] = {"name": name, "source": SourceRef("pysched.yaml", 1), "command": "true"}
    return Job(**(given | fields))


def a_run(job: str = "load", day: date = DAY, seq: int = 1, **fields: Any) -> Run:
    """Return a scheduled run of the day, due and created at noon."""
    given: dict[str, Any] = {"scheduled_at": NOON, "created_at": NOON, "updated_at": NOON}
    given |= {"trigger": Trigger.SCHEDULE} | fields
    return Run(run_id=make_run_id(job, day, seq), job=job, run_date=day, seq=seq, **given)


def an_attempt(run: Run, **fields: Any) -> Attempt:
    """Return the run's latest attempt, still running."""
    given: dict[str, Any] = {"attempt": max(run.attempt, 1), "key": "k1", "started_at": NOON}
    given |= fields
    return Attempt(run_id=run.run_id, **given)


def ended_attempt(run: Run, outcome: Outcome, reason: str = "", **fields: Any) -> Attempt:
    """Return the run's latest attempt, ended."""
    return an_attempt(run, outcome=outcome, reason=reason, ended_at=NOON, **fields)


def running(**fields: Any) -> Run:
    """Return a run in its first attempt."""
    given: dict[str, Any] = {"state": RunState.RUNNING, "attempt": 1}
    return a_run(**(given | fields))
