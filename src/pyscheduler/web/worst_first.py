"""In what order a board shows its runs: what most needs a hand comes first. Pure.

The groups, worst first; within one the more critical job, then the earlier due instant, the job's name, the number:

1. failed runs of critical jobs (a lost attempt's run has failed, too), pinned above everything;
2. other failed runs;
3. blocked: an upstream ended badly, and nothing moves by itself;
4. late: not started, and the job's `must_start_by` is over; without one, LATE_AFTER past its due instant;
5. waiting for its next try;
6. running long: beyond `max_runtime`, or LONG times what the job typically takes;
7. held by a hand; 8. queued; 9. waiting; 10. running; 11. scheduled;
12. cancelled; 13. skipped; 14. succeeded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.timetable.zone import zone

LATE_AFTER: Final = timedelta(minutes=15)
LONG: Final = 1.5
SHORT: Final = 0.5
NOTICEABLE_S: Final = 5.0
"""Shorter runs are never flagged as long: half a second on 0.2 s is no news."""

NOT_STARTED: Final = frozenset({RunState.SCHEDULED, RunState.WAITING, RunState.QUEUED})


class Group(IntEnum):
    """The groups of a board, worst first."""

    FAILED_CRITICAL = 1
    FAILED = 2
    BLOCKED = 3
    LATE = 4
    RETRY_WAIT = 5
    LONG = 6
    HELD = 7
    QUEUED = 8
    WAITING = 9
    RUNNING = 10
    SCHEDULED = 11
    CANCELLED = 12
    SKIPPED = 13
    SUCCEEDED = 14


_BY_STATE: Final = {
    RunState.FAILED: Group.FAILED,
    RunState.BLOCKED: Group.BLOCKED,
    RunState.RETRY_WAIT: Group.RETRY_WAIT,
    RunState.HELD: Group.HELD,
    RunState.QUEUED: Group.QUEUED,
    RunState.WAITING: Group.WAITING,
    RunState.RUNNING: Group.RUNNING,
    RunState.SCHEDULED: Group.SCHEDULED,
    RunState.CANCELLED: Group.CANCELLED,
    RunState.SKIPPED: Group.SKIPPED,
    RunState.SUCCEEDED: Group.SUCCEEDED,
}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a running attempt has taken, and how long its job typically takes; None where unknown."""

    took_s: float | None = None
    typical_s: float | None = None


UNKNOWN: Final = Pace()


def group_of(run: Run, job: Job | None, now: datetime, pace: Pace = UNKNOWN) -> Group:
    """Return the group a run belongs to. `job` is None where it is configured no longer; `now` is aware."""
    group = _BY_STATE[run.state]
    if group is Group.FAILED and criticality_of(job) is Criticality.CRITICAL:
        return Group.FAILED_CRITICAL
    if is_late(run, job, now):
        return Group.LATE
    if run.state is RunState.RUNNING and is_long(job, pace):
        return Group.LONG
    return group


Key = tuple[int, int, datetime, str, int]


def order_key(run: Run, group: Group, criticality: Criticality) -> Key:
    """Return what a board is sorted by."""
    return (group, -criticality, run.scheduled_at, run.job, run.seq)


def criticality_of(job: Job | None) -> Criticality:
    """Return a job's criticality; one that is gone counts as normal."""
    return Criticality.NORMAL if job is None else job.criticality


def is_late(run: Run, job: Job | None, now: datetime) -> bool:
    """Whether a run should have started by now and nothing of it ever did."""
    limit = late_from(run, job)
    return limit is not None and now > limit


def late_from(run: Run, job: Job | None) -> datetime | None:
    """Return the instant after which a run is late if nothing of it has started; None for one that cannot be."""
    if run.state not in NOT_STARTED or run.attempt:
        return None
    limit = deadline_of(run, job) or max(run.scheduled_at, run.created_at) + LATE_AFTER
    return limit if run.not_before is None else max(limit, run.not_before)


def deadline_of(run: Run, job: Job | None) -> datetime | None:
    """Return the instant of `must_start_by`, None without one. Spec: jobs.md 15.1.

    A clock time counts on the local day on which the run fired, in the job's zone; a run that was created after it has
    no deadline.
    """
    if job is None or job.must_start_by is None:
        return None
    if isinstance(job.must_start_by, int | float):
        deadline = run.scheduled_at + timedelta(seconds=job.must_start_by)
    else:
        place = zone(job.timezone)
        fired = place.today(run.scheduled_at)
        deadline = place.resolve(datetime.combine(fired, job.must_start_by)).instant
    return deadline if run.created_at < deadline else None


def is_long(job: Job | None, pace: Pace) -> bool:
    """Whether an attempt takes longer than it should, or longer than it typically does."""
    if pace.took_s is None:
        return False
    if job is not None and job.max_runtime_s is not None and pace.took_s > job.max_runtime_s:
        return True
    return pace.typical_s is not None and pace.took_s > max(NOTICEABLE_S, LONG * pace.typical_s)


def is_short(job: Job | None, pace: Pace) -> bool:
    """Whether an attempt that succeeded took suspiciously little time."""
    if pace.took_s is None:
        return False
    if job is not None and job.min_runtime_s is not None and pace.took_s < job.min_runtime_s:
        return True
    return pace.typical_s is not None and pace.typical_s >= NOTICEABLE_S and pace.took_s < SHORT * pace.typical_s
