"""From a job taken off its channel to the moment its first workflow may run. Spec: pipeline.md 9.1 steps 3 to 6, 10.

Plain calls that may block on the store; the worker decides on which thread they run. What must always hold: no
workflow runs before the store said True to InProgress, and a cancel that has won is never undone.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from pypepper.common.log import log
from pypepper.fsm.fsm import State
from pypepper.scheduler.ending import keep_cancelled
from pypepper.scheduler.events import RUN
from pypepper.scheduler.job import Job
from pypepper.scheduler.status import Status
from pypepper.scheduler.store import JobRecord

_BEGUN_ELSEWHERE: Final = frozenset({"InProgress", "Completed", "Failed"})
_NOT_BEGUN: Final = frozenset({"Unknown", "Initializing", "Scheduled"})
_FAILED: Final = State(Status.FAILED.value)


class Start(Enum):
    """What is to be done with a job that was taken off its channel."""

    RUN = auto()
    NOTHING = auto()


class MustRequeue(Exception):
    """Run-start path D: neither InProgress nor Failed could be saved; the job is as it was before and goes back."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def begin(job: Job) -> Start:
    """Save that the job runs. Raises MustRequeue, or the error of a start that could not be saved.

    An illegal RUN raises InternalException and writes nothing; so does whatever a look-up after a skipped save raises.
    """
    before, _ = job.lifecycle()
    assert before is not None
    try:
        _heal(job)
    except Exception as error:  # noqa: BLE001 — path A, B, C or D raises it
        return _missed(job, before, error)
    job.apply_event(RUN)
    try:
        if job.save():
            return Start.RUN
    except Exception as error:  # noqa: BLE001 — path A, B, C or D raises it
        return _missed(job, before, error)
    return _follow(job, before, Job.get_saved(job.id))


def _heal(job: Job) -> None:
    """Write the row that the producer could not. RuntimeError if the save is skipped and there is still no row."""
    with job.saving:  # a producer that is still saving comes first (H15)
        row = Job.get_saved(job.id)
        if row is not None:
            _refresh(job, row)
            return
        if not job.save() and Job.get_saved(job.id) is None:
            raise RuntimeError(f"Scheduled persist failed before RUN: the store skipped the first row of {job.id}")


def _refresh(job: Job, row: JobRecord) -> None:
    """Go on from the row's version, once a start was refused for an old one: or it would be refused for ever (H8)."""
    if job.stale and row.status in _NOT_BEGUN:
        job.version = row.version
    job.stale = False


def _follow(job: Job, before: State, row: JobRecord | None) -> Start:
    """Take over what the row says; a row that nobody has begun means that the start could not be saved."""
    if row is not None and row.status == Status.CANCELLED:
        log.info(f"job {job.id} follows its durable status Cancelled")
        job.restore_lifecycle(State(row.status), row.status)
        return Start.NOTHING
    if row is not None and row.status in _BEGUN_ELSEWHERE:
        log.info(f"job {job.id} follows its durable status {row.status}")
        job.jump_unless_cancelled(State(row.status))
        return Start.NOTHING
    job.stale = row is not None and row.version != job.version
    return _missed(job, before, RuntimeError(f"RUN persist skipped: the row of {job.id} says {row and row.status}"))


def _missed(job: Job, before: State, error: Exception) -> Start:
    """Decide what becomes of a job whose start could not be saved. Spec: pipeline.md 10, paths A to D."""
    log.error(f"job {job.id}: the start is not saved: {error!r}")
    if _save_failed(job, error):
        raise error
    if job.is_cancelled() or not job.jump_unless_cancelled(before):
        keep_cancelled(job)
        raise error
    raise MustRequeue(error)


def _save_failed(job: Job, error: Exception) -> bool:
    """Path A: tell whether Failed is on the row; never tried over a cancel."""
    if not job.jump_unless_cancelled(_FAILED):
        return False
    job.error = job.error or f"not started: {error}"
    try:
        landed = job.save()
    except Exception as second:  # noqa: BLE001 — the first error is the one to raise
        log.error(f"job {job.id}: Failed is not saved either: {second!r}")
        landed = False
    if not landed:
        job.error = None
    return landed


def refuse(job: Job, error: Exception) -> None:
    """Path E: the channel does not take the job back, so it is Failed; a row that cannot be written is only logged."""
    if not _save_failed(job, error):
        log.error(f"job {job.id} is Failed, and its row does not say so: save() it when the store is well")
