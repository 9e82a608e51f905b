"""From the last workflow, an error or a cancel to the job's last row. Spec: pipeline.md 9.1 steps 8 to 11, 10, 11.

Plain calls that may block on the store. What must always hold: once the work has begun nothing is rolled back; a
failed save leaves the end as it is, and `job.save()` is all that may be repeated.
"""

from __future__ import annotations

from pypepper.common.log import log
from pypepper.exceptions import InternalException
from pypepper.scheduler.events import COMPLETE, FAIL
from pypepper.scheduler.job import Job
from pypepper.scheduler.status import Status
from pypepper.scheduler.workflow import error_text


def keep_cancelled(job: Job) -> None:
    """See to it that the row says Cancelled, as far as one save can; raises what that save raises.

    A job whose version is old is told the row's, once, or its cancel would never land (H8).
    """
    row = Job.get_saved(job.id)
    if row is not None and row.status == Status.CANCELLED:
        return
    try:
        landed = job.save()
    except Exception as error:
        log.error(f"job {job.id} is Cancelled, and its row does not say so: save() it, nothing else: {error!r}")
        raise
    if not landed and row is not None and row.version != job.version:
        job.version = row.version
        landed = job.save()
    if not landed:
        _tell_behind(job)


def complete(job: Job) -> None:
    """Complete the job, or keep its cancel. Raises what the save raises; InternalException if a cancel just won."""
    if job.is_cancelled():
        log.info(f"job {job.id} was cancelled before it was complete")
        keep_cancelled(job)
        return
    job.apply_event(COMPLETE)
    try:
        landed = job.save()
    except Exception as error:
        log.error(f"job {job.id} is Completed, and its row does not say so: save() it, nothing else: {error!r}")
        raise
    if landed:
        log.info(f"job {job.id} completed")
    else:
        _tell_behind(job)


def fail(job: Job, error: BaseException) -> None:
    """Fail the job and raise the workflow's error; return only if the job is Cancelled, which swallows the error.

    A save that raises becomes the error's cause; for a cancelled job it is raised, with the error as its cause.
    """
    if not _failed_now(job, error):
        log.info(f"job {job.id} is cancelled; the error of its workflow is ignored: {error!r}")
        _keep_cancelled_after(job, error)
        return
    log.error(f"job {job.id} failed: {error!r}")
    try:
        landed = job.save()
    except Exception as save_error:
        log.error(f"job {job.id} is Failed, and its row does not say so: save() it, nothing else: {save_error!r}")
        raise error from save_error
    if not landed:
        _tell_behind(job)
    raise error


def _failed_now(job: Job, error: BaseException) -> bool:
    """Apply FAIL; False when a cancel was or is quicker."""
    if job.is_cancelled():
        return False
    job.error = error_text(error)
    try:
        job.apply_event(FAIL)
    except InternalException:
        if job.is_cancelled():
            return False
        raise
    return True


def _keep_cancelled_after(job: Job, error: BaseException) -> None:
    try:
        keep_cancelled(job)
    except Exception as save_error:
        raise save_error from error


def _tell_behind(job: Job) -> None:
    """Say what the documents leave unsaid (H9): the save was refused, and the row is behind the job."""
    log.error(f"job {job.id} is {job.status}, but its row was written by another: compare with Job.get_saved")
