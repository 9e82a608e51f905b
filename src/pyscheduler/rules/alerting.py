"""What people are told of: from one change of a run, or from a deadline that has passed, to alerts. Spec: jobs.md 15.1.

Ids say what an alert is about (`<run_id>:<kind>:<attempt>`), so the same one is never told twice: a run blocked twice,
or failed again by hand with the same attempt number, alerts once. Deadlines are worked out here and kept by the
engine's clock. Nothing in here knows who is told, or whether repeats are held back (`outages.py`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Final

from pyscheduler.model.alert import OFF_BY_DEFAULT, Alert, AlertKind
from pyscheduler.model.ids import SCHEDULER
from pyscheduler.model.job import Criticality, Job, JobKind
from pyscheduler.model.run import Attempt, Outcome, Run, RunState
from pyscheduler.timetable.zone import zone

NOT_STARTED: Final = frozenset({RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED, RunState.QUEUED, RunState.HELD})
"""States in which a fresh run has not started."""
QUIET_KEY: Final = "quiet:"
"""The engine value that says since when a job has not succeeded begins so; its name follows."""
_ENTERED: Final = {
    RunState.FAILED: (AlertKind.FAILED, "failed"),
    RunState.RETRY_WAIT: (AlertKind.RETRYING, "will be tried again"),
    RunState.BLOCKED: (AlertKind.BLOCKED, "is blocked"),
}
PROBLEMS_TOLD: Final = 100
"""Complaints that a reload_failed alert carries at most."""


def wants(job: Job | None, kind: AlertKind) -> bool:
    """Return whether the job raises this kind; `on` beats `off`. None: a job that is no longer configured."""
    if job is not None and kind.value in job.alerts.on:
        return True
    if job is not None and kind.value in job.alerts.off:
        return False
    if kind is AlertKind.RECOVERED:
        return job is not None and job.alerts.repeat_after_s is not None
    return kind not in OFF_BY_DEFAULT


def about_run(
    run: Run, kind: AlertKind, attempt: int, job: Job | None, now: datetime, message: str, detail: Mapping[str, object]
) -> Alert:
    """Return an alert about a run."""
    return Alert(
        alert_id=f"{run.run_id}:{kind}:{attempt}",
        kind=kind,
        criticality=(job.criticality if job else Criticality.NORMAL).word,
        raised_at=now,
        message=message,
        job=run.job,
        run_id=run.run_id,
        run_date=run.run_date,
        attempt=attempt,
        detail=detail,
    )


# --------------------------------------------------------------------------- from one change


def alerts_of(before: Run, after: Run, ended: Attempt | None, job: Job | None, now: datetime) -> tuple[Alert, ...]:
    """Return the alerts that one change of a run raises. `ended` is the attempt that ended with it, if one did."""
    found = _of_state(before, after, job, now)
    if ended is not None:
        found += _of_ending(after, ended, job, now)
    return tuple(alert for alert in found if wants(job, alert.kind))


def _of_state(before: Run, after: Run, job: Job | None, now: datetime) -> list[Alert]:
    entered = _ENTERED.get(after.state) if before.state is not after.state else None
    if entered is None:
        return []
    kind, words = entered
    reason = after.reason.removeprefix("blocked: ")
    message = f"{after.run_id} {words}: {reason}" if reason else f"{after.run_id} {words}"
    detail: dict[str, object] = {"reason": after.reason}
    if kind is not AlertKind.BLOCKED:
        detail = {"attempt": after.attempt, **detail}
    return [about_run(after, kind, after.attempt, job, now, message, detail)]


def _of_ending(run: Run, attempt: Attempt, job: Job | None, now: datetime) -> list[Alert]:
    number = attempt.attempt
    match attempt.outcome:
        case Outcome.LOST:
            note = f": {attempt.note}" if attempt.note else ""
            message = f"attempt {number} of {run.run_id} is lost{note}"
            detail: dict[str, object] = {"attempt": number, "started_at": attempt.started_at.isoformat()}
            return [about_run(run, AlertKind.LOST, number, job, now, message, detail)]
        case Outcome.TIMEOUT if job is not None and job.kind is JobKind.FILE_WATCHER:
            message = f"{run.run_id} has found no file"
            detail = {"attempt": number, "reason": attempt.reason}
            return [about_run(run, AlertKind.WATCHER_TIMEOUT, number, job, now, message, detail)]
        case Outcome.SUCCEEDED if job is not None and job.min_runtime_s is not None:
            return _too_short(run, attempt, job, now)
    return []


def _too_short(run: Run, attempt: Attempt, job: Job, now: datetime) -> list[Alert]:
    least, ended_at = job.min_runtime_s, attempt.ended_at
    took = (ended_at - attempt.started_at).total_seconds() if ended_at else None
    if took is None or least is None or took >= least:
        return []
    message = f"{run.run_id} succeeded in {span(took)}, and min_runtime is {span(least)}"
    detail = {"runtime_seconds": round(took, 3), "min_runtime_seconds": least}
    return [about_run(run, AlertKind.TOO_SHORT, attempt.attempt, job, now, message, detail)]


# --------------------------------------------------------------------------- deadlines


def start_deadline(run: Run, job: Job) -> datetime | None:
    """Return the instant by which a fresh run must have started; None where it has no such deadline.

    A clock time is that of the local day on which the run fired, in the job's zone: not of its run date. A run created
    at or after its deadline (a backfill, a catch-up) has none.
    """
    limit = job.must_start_by
    if limit is None or not run.is_fresh or run.state not in NOT_STARTED:
        return None
    if isinstance(limit, time):
        local = zone(job.timezone)
        deadline = local.resolve(datetime.combine(local.local(run.scheduled_at).date(), limit)).instant
    else:
        deadline = run.scheduled_at + timedelta(seconds=limit)
    return None if run.created_at >= deadline else deadline


def end_deadline(attempt: Attempt, job: Job) -> datetime | None:
    """Return the instant at which a running attempt has run too long, None where that is never."""
    return None if job.max_runtime_s is None else attempt.started_at + timedelta(seconds=job.max_runtime_s)


def may_ring(deadline: datetime, since: datetime) -> bool:
    """Return whether a deadline is news for who watches from `since` on: one that had passed by then never is.

    `since` is when a run was first seen here, or after a restart the last sign of life of the scheduler before, which
    has told what was due until then.
    """
    return deadline > since


def never_started(run: Run, job: Job, deadline: datetime, now: datetime) -> Alert | None:
    """Return what a deadline that has passed means for a run."""
    if not run.is_fresh or run.state not in NOT_STARTED or not wants(job, AlertKind.NEVER_STARTED):
        return None
    why = f" ({run.reason})" if run.reason else ""
    local = zone(job.timezone).local(deadline)
    message = f"{run.run_id} has not started by {local:%Y-%m-%d %H:%M:%S} {job.timezone}: it is {run.state}{why}"
    detail: dict[str, object] = {"deadline": deadline.isoformat(), "state": run.state.value}
    return about_run(run, AlertKind.NEVER_STARTED, 0, job, now, message, detail)


def too_long(run: Run, attempt: Attempt, job: Job, now: datetime) -> Alert | None:
    """Return what it means that an attempt still runs when its `max_runtime` is over."""
    most = job.max_runtime_s
    if run.state is not RunState.RUNNING or most is None or not wants(job, AlertKind.TOO_LONG):
        return None
    took = max(most, (now - attempt.started_at).total_seconds())
    message = f"{run.run_id} still runs after {span(most)}, its max_runtime"
    detail = {"runtime_seconds": round(took, 3), "max_runtime_seconds": most}
    return about_run(run, AlertKind.TOO_LONG, attempt.attempt, job, now, message, detail)


def ran_too_long(run: Run, attempt: Attempt, job: Job, last_sign: datetime, now: datetime) -> Alert | None:
    """Return what it means that an attempt was over its `max_runtime` when it ended, and no scheduler was there to see.

    `last_sign` is when the scheduler was last known to be alive: what was due before, the one of then has told. Of a
    lost attempt nobody knows how long it ran.
    """
    deadline, ended_at, most = end_deadline(attempt, job), attempt.ended_at, job.max_runtime_s
    if most is None or deadline is None or ended_at is None or deadline >= ended_at:
        return None
    if not may_ring(deadline, last_sign):
        return None
    if attempt.outcome is Outcome.LOST or not wants(job, AlertKind.TOO_LONG):
        return None
    took = (ended_at - attempt.started_at).total_seconds()
    message = f"{run.run_id} ran {span(took)}, longer than {span(most)}, its max_runtime; no scheduler was there to see"
    detail = {"runtime_seconds": round(took, 3), "max_runtime_seconds": most}
    return about_run(run, AlertKind.TOO_LONG, attempt.attempt, job, now, message, detail)


# --------------------------------------------------------------------------- of no single run


def recovered(run: Run, job: Job, since: datetime, failures: int, now: datetime) -> Alert:
    """Return the news that a job succeeds again. `since` is when its trouble began, `failures` how often it was met."""
    lasted = (now - since).total_seconds()
    message = f"{run.job} has recovered: {run.run_id} succeeded {span(lasted)} after the first alert"
    detail = {"since": since.isoformat(), "outage_seconds": round(lasted, 3), "failures": failures}
    return about_run(run, AlertKind.RECOVERED, run.attempt, job, now, message, detail)


def stale(job: Job, since: datetime, now: datetime) -> Alert:
    """Return the news that a job has not succeeded since `since`, though it should have. Once for each `since`."""
    silence = job.max_silence_s or 0.0
    return Alert(
        alert_id=f"{job.name}:{AlertKind.STALE}:{_stamp(since)}",
        kind=AlertKind.STALE,
        criticality=job.criticality.word,
        raised_at=now,
        message=f"{job.name} has not succeeded for {span(silence)}, since {since:%Y-%m-%d %H:%M:%S}Z",
        job=job.name,
        detail={"since": since.isoformat(), "max_silence_seconds": silence},
    )


def reload_failed(problems: Sequence[str], actor: str, now: datetime) -> Alert:
    """Return the news that the configuration on disk is faulty; every complaint but warnings is in `problems`."""
    count = "an error" if len(problems) == 1 else f"{len(problems)} errors"
    first = f": {problems[0]}" if problems else ""
    return Alert(
        alert_id=f"{SCHEDULER}:{AlertKind.RELOAD_FAILED}:{_stamp(now)}",
        kind=AlertKind.RELOAD_FAILED,
        criticality=Criticality.HIGH.word,
        raised_at=now,
        message=f"reload by {actor} refused: the configuration has {count}{first}",
        detail={"problems": list(problems[:PROBLEMS_TOLD])},
    )


def scheduler_failed(trouble: str, now: datetime) -> Alert:
    """Return the news that the scheduler itself cannot work; nothing of it can be stored."""
    return Alert(
        alert_id=f"{SCHEDULER}:{AlertKind.SCHEDULER_FAILED}:{_stamp(now)}",
        kind=AlertKind.SCHEDULER_FAILED,
        criticality=Criticality.CRITICAL.word,
        raised_at=now,
        message=f"the scheduler cannot work: {trouble}; nothing new is started until it can, running jobs go on",
        detail={"trouble": trouble},
    )


def scheduler_works_again(since: datetime, now: datetime) -> Alert:
    """Return the news that the scheduler works again."""
    lasted = (now - since).total_seconds()
    return Alert(
        alert_id=f"{SCHEDULER}:{AlertKind.RECOVERED}:{_stamp(now)}",
        kind=AlertKind.RECOVERED,
        criticality=Criticality.CRITICAL.word,
        raised_at=now,
        message=f"the scheduler works again after {span(lasted)}",
        detail={"since": since.isoformat(), "outage_seconds": round(lasted, 3)},
    )


def _stamp(instant: datetime) -> str:
    """Return an instant as a part of an id: to the microsecond, without characters that a path would mind."""
    return f"{instant:%Y%m%dT%H%M%S.%fZ}"


_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def span(seconds: float) -> str:
    """Return a length of time in words people read: `0.4s`, `12s`, `3m05s`, `1h02m`, `2d03h`."""
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    return _whole_span(int(seconds))


def _whole_span(seconds: int) -> str:
    units: Iterator[tuple[int, str]] = iter(_UNITS)
    for size, unit in units:
        if seconds >= size:
            count, rest = divmod(seconds, size)
            below = next(units, None)
            return f"{count}{unit}" if below is None else f"{count}{unit}{rest // below[0]:02d}{below[1]}"
    return "0s"
