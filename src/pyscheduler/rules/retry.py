"""The end of an attempt: how it counts, and whether another follows. Spec: jobs.md part 6, DESIGN 8 rows 1 and 8.

The order of the questions matters: an operator's kill is never retried and never a success, whatever the process
answered; a timeout is one even if the job then left with 0.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.model import event as ev
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Outcome, Run

_ERRNO: Final = re.compile(r"^\[Errno \d+\] ")
"""What the system's error text begins with; the text behind it says the same to people."""

RERUN: Final = "rerun"
"""The word of `on_lost` that tries a lost attempt again whatever `retries` says; `fail` never does."""
MAX_LOST: Final = 3
"""A run that takes its host down with it must not circulate for ever (claims.md C4)."""


def outcome_of(attempt: Attempt, result: AttemptResult, job: Job | None) -> tuple[Outcome, str]:
    """Return how the attempt counts and the reason an operator reads. `job` None: it is no longer configured."""
    if attempt.kill_by is not None:
        return Outcome.KILLED, f"killed by {attempt.kill_by}"
    if result.start_error is not None:
        return Outcome.START_ERROR, f"start error: {_ERRNO.sub('', result.start_error)}"
    if result.stopped_by == "timeout":
        return Outcome.TIMEOUT, "timeout"
    if result.stopped_by == "kill":
        return Outcome.KILLED, "killed"
    if result.lost is not None or result.stopped_by == "lease":
        return Outcome.LOST, "lost"
    if result.signal is not None:
        return Outcome.FAILED, f"signal {result.signal}"
    if result.exit_code in (job.success_codes if job else (0,)):
        return Outcome.SUCCEEDED, ""
    return Outcome.FAILED, f"exit {result.exit_code}"


def ended(attempt: Attempt, result: AttemptResult, job: Job | None, now: datetime) -> Attempt:
    """Return the attempt's row as its end makes it. `now` stands in where the guardian could not tell when."""
    outcome, reason = outcome_of(attempt, result, job)
    return replace(
        attempt,
        ended_at=result.ended_at or now,
        exit_code=result.exit_code,
        signal=result.signal,
        outcome=outcome,
        reason=reason,
        cpu_s=result.cpu_s,
        max_rss_bytes=result.max_rss_bytes,
        note=_note(result),
    )


def result_of(attempt: Attempt) -> AttemptResult:
    """Return how an attempt ended whose row a node has closed: the inverse of `ended`, as far as decisions need it."""
    is_lost, is_error = attempt.outcome is Outcome.LOST, attempt.outcome is Outcome.START_ERROR
    stopped_by = {Outcome.TIMEOUT: "timeout", Outcome.KILLED: "kill"}.get(attempt.outcome or Outcome.FAILED)
    return AttemptResult(
        exit_code=attempt.exit_code,
        signal=attempt.signal,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        start_error=attempt.reason.removeprefix("start error: ") if is_error else None,
        stopped_by=stopped_by,
        lost=(attempt.note or attempt.reason or "lost") if is_lost else None,
        cpu_s=attempt.cpu_s,
        max_rss_bytes=attempt.max_rss_bytes,
        note=attempt.note,
    )


def _note(result: AttemptResult) -> str:
    """Say what an operator should know beside the outcome."""
    parts = [result.note] if result.note else []
    if result.lost and result.lost not in result.note:
        parts.append(result.lost)
    if result.survivors:
        parts.append(f"would not die: {_pids(result.survivors)}")
    if result.leftovers:
        parts.append(f"left running: {_pids(result.leftovers)}")
    return "; ".join(parts)


def _pids(pids: tuple[int, ...]) -> str:
    return "process " + ", ".join(str(pid) for pid in pids)


def after_attempt(run: Run, attempt: Attempt, job: Job | None, now: datetime, chance: float) -> ev.Event:
    """Return what the end of `attempt` (its row already closed) means for its run.

    `job` None: removed or disabled meanwhile, so nothing is tried again. `chance` in [0, 1) draws the jitter. The wait
    counts from `now`, when the ending is recorded; at recovery pass the attempt's own end.
    """
    if attempt.outcome is Outcome.SUCCEEDED:
        return ev.AttemptSucceeded(attempt)
    if job is None or not may_retry(attempt, job) or run.tries > allowed_tries(attempt, job):
        return ev.TriesSpent(attempt)
    delay = job.retries.delay_for(run.tries)
    wait = timedelta(seconds=delay * (1 + job.retries.jitter * chance))
    return ev.AttemptFailed(attempt, now + wait, allowed_tries(attempt, job))


def allowed_tries(attempt: Attempt, job: Job) -> int:
    """Return how many tries may follow the first; a lost one with `on_lost: rerun` has MAX_LOST at least."""
    if attempt.outcome is Outcome.LOST and job.on_lost == RERUN:
        return max(job.retries.count, MAX_LOST)
    return job.retries.count


def may_retry(attempt: Attempt, job: Job) -> bool:
    """Whether the policy names this ending; a kill never is."""
    if attempt.outcome is None or attempt.outcome in (Outcome.KILLED, Outcome.SUCCEEDED):
        return False
    if attempt.outcome is Outcome.LOST and job.on_lost is not None:
        return job.on_lost == RERUN
    if attempt.outcome is Outcome.FAILED:
        word = "signal" if attempt.signal is not None else "failed"
        return word in job.retries.on or attempt.exit_code in job.retries.on
    return attempt.outcome.value in job.retries.on
