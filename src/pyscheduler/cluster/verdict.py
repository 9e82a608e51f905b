"""What a run becomes when its attempt has ended, pure: the house's retry rules, and who decides about a lost one.

`tick` and `work` write a run's next state themselves (S4 with `to`). What must always hold: a kill is never tried
again; a lost attempt is tried again only where `on_lost` says so, and not for ever. DESIGN 6, jobs.md part 6.
"""

from __future__ import annotations

from datetime import datetime

from pyscheduler.cluster.status import TaskStatus
from pyscheduler.model import event as ev
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Outcome, Run, RunState
from pyscheduler.rules.retry import after_attempt, ended
from pyscheduler.store.claims import MAX_LOST, OnLost, Report

_STATUS = {
    RunState.SUCCEEDED: TaskStatus.DONE,
    RunState.FAILED: TaskStatus.FAILED,
    RunState.CANCELLED: TaskStatus.CANCELLED,
}


def report_of(
    run: Run,
    token: int,
    attempt: Attempt,
    result: AttemptResult,
    job: Job | None,
    *,
    on_lost: OnLost,
    cancelled: bool,
    now: datetime,
    chance: float,
) -> Report:
    """Return S4's report. `job` None: it is no longer configured. `cancelled`: its stop was asked for as a cancel."""
    row = ended(attempt, result, job, now)
    assert row.outcome is not None
    to, wait_s = _next(run, row, job, on_lost=on_lost, cancelled=cancelled, now=now, chance=chance)
    return Report(
        run_id=run.run_id,
        token=token,
        outcome=row.outcome,
        to=to,
        run_reason=row.reason,
        retry_after_s=wait_s,
        ended_ago_s=max(0.0, (now - row.ended_at).total_seconds()) if row.ended_at else 0.0,
        exit_code=row.exit_code,
        signal=row.signal,
        reason=row.reason,
        pid=row.pid,
        kill_by=row.kill_by,
        cpu_s=row.cpu_s,
        max_rss_bytes=row.max_rss_bytes,
        note=row.note,
    )


def status_after(report: Report) -> TaskStatus | None:
    """Return the word for what the report makes of its run, None where another try follows."""
    return None if report.to is None else _STATUS.get(report.to)


def _next(
    run: Run, row: Attempt, job: Job | None, *, on_lost: OnLost, cancelled: bool, now: datetime, chance: float
) -> tuple[RunState, float]:
    if cancelled and row.outcome is Outcome.KILLED:
        return RunState.CANCELLED, 0.0
    event = after_attempt(run, row, job, now, chance)
    if isinstance(event, ev.AttemptSucceeded):
        return RunState.SUCCEEDED, 0.0
    if isinstance(event, ev.AttemptFailed):
        return RunState.RETRY_WAIT, max(0.0, (event.retry_at - now).total_seconds())
    may_rerun = on_lost is OnLost.RERUN and row.attempt < MAX_LOST
    if row.outcome is Outcome.LOST and may_rerun:
        return RunState.RETRY_WAIT, 0.0
    return RunState.FAILED, 0.0
