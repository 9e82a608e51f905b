"""How an attempt's end counts, jobs.md 6 and DESIGN 8 rows 1 and 8."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pyscheduler.model import event as ev
from pyscheduler.model.job import Job, RetryPolicy
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Outcome
from pyscheduler.rules.retry import after_attempt, ended, may_retry, outcome_of
from tests.builders import NOON, a_job, an_attempt, ended_attempt, running

O = Outcome  # noqa: E741
JOB = a_job()


@pytest.mark.parametrize(
    ("result", "kill_by", "outcome", "reason"),
    [
        (AttemptResult(exit_code=0), None, O.SUCCEEDED, ""),
        (AttemptResult(exit_code=3), None, O.FAILED, "exit 3"),
        (AttemptResult(signal=9), None, O.FAILED, "signal 9"),
        (
            AttemptResult(start_error="[Errno 2] No such file or directory: 'x'"),
            None,
            O.START_ERROR,
            "start error: No such file or directory: 'x'",
        ),
        (AttemptResult(exit_code=0, stopped_by="timeout"), None, O.TIMEOUT, "timeout"),
        (AttemptResult(signal=15, stopped_by="timeout"), None, O.TIMEOUT, "timeout"),
        (AttemptResult(exit_code=0), "ann", O.KILLED, "killed by ann"),
        (AttemptResult(signal=15, stopped_by="kill"), "ann", O.KILLED, "killed by ann"),
        (AttemptResult(signal=9, stopped_by="kill"), None, O.KILLED, "killed"),
        (AttemptResult(exit_code=0, stopped_by="timeout"), "ann", O.KILLED, "killed by ann"),
        (AttemptResult(lost="never started"), None, O.LOST, "lost"),
        (AttemptResult(lost="exit unknown"), "ann", O.KILLED, "killed by ann"),
        (AttemptResult(signal=15, stopped_by="lease"), None, O.LOST, "lost"),
    ],
)
def test_each_end_counts_as_the_house_says(
    result: AttemptResult, kill_by: str | None, outcome: Outcome, reason: str
) -> None:
    """A killed or timed-out job that exits 0 has not succeeded; a kill outlives whatever the process answered."""
    assert outcome_of(an_attempt(running(), kill_by=kill_by), result, JOB) == (outcome, reason)


def test_success_codes_decide_what_success_is() -> None:
    """Only listed codes succeed; without the job's definition only 0 does."""
    job = a_job(success_codes=frozenset({0, 3}))
    attempt = an_attempt(running())
    assert outcome_of(attempt, AttemptResult(exit_code=3), job)[0] is O.SUCCEEDED
    assert outcome_of(attempt, AttemptResult(exit_code=3), None)[0] is O.FAILED
    picky = a_job(success_codes=frozenset({7}))
    assert outcome_of(attempt, AttemptResult(exit_code=0), picky) == (O.FAILED, "exit 0")


def test_the_row_keeps_the_code_beside_the_outcome() -> None:
    """The exit code is never thrown away, whatever the outcome."""
    result = AttemptResult(exit_code=0, stopped_by="timeout", cpu_s=1.5, max_rss_bytes=7, survivors=(5, 6))
    row = ended(an_attempt(running()), result, JOB, NOON)
    assert (row.exit_code, row.outcome, row.cpu_s, row.max_rss_bytes) == (0, O.TIMEOUT, 1.5, 7)
    assert row.ended_at == NOON
    assert row.note == "would not die: process 5, 6"
    told = ended(an_attempt(running()), AttemptResult(lost="minder gone", leftovers=(9,), ended_at=NOON), JOB, NOON)
    assert told.note == "minder gone; left running: process 9"


def test_the_wait_grows_and_is_bounded() -> None:
    """20 s, 60 s, 120 s: the example of jobs.md 6."""
    policy = RetryPolicy(count=3, delay_s=20, backoff=3, max_delay_s=120)
    assert [policy.delay_for(n) for n in (1, 2, 3)] == [20, 60, 120]
    assert RetryPolicy(delay_s=1, backoff=10, max_delay_s=9).delay_for(10_000) == 9


def failed_try(number: int, job: Job, base: int = 0, chance: float = 0.0) -> ev.Event:
    """Return what the failure of attempt `number` means."""
    run = running(attempt=number, attempt_base=base)
    return after_attempt(run, ended_attempt(run, O.FAILED, "exit 1", exit_code=1), job, NOON, chance)


def test_tries_count_from_the_latest_rerun() -> None:
    """`count` retries follow the first try, in every budget anew."""
    job = a_job(retries=RetryPolicy(count=2, delay_s=60))
    assert isinstance(failed_try(1, job), ev.AttemptFailed)
    assert isinstance(failed_try(2, job), ev.AttemptFailed)
    assert isinstance(failed_try(3, job), ev.TriesSpent)
    assert isinstance(failed_try(4, job, base=3), ev.AttemptFailed)
    event = failed_try(2, job)
    assert isinstance(event, ev.AttemptFailed)
    assert event.retry_at == NOON + timedelta(seconds=120)
    assert event.tries_allowed == 2


def test_jitter_only_lengthens_the_wait() -> None:
    """`chance` draws between the delay and the delay plus its fraction."""
    job = a_job(retries=RetryPolicy(count=1, delay_s=100, jitter=0.5))
    event = failed_try(1, job, chance=0.5)
    assert isinstance(event, ev.AttemptFailed)
    assert event.retry_at == NOON + timedelta(seconds=125)


def test_a_job_that_is_gone_is_not_tried_again() -> None:
    """Removed or disabled meanwhile: the end is recorded and nothing follows."""
    run = running()
    row = ended_attempt(run, O.FAILED, "exit 1")
    assert after_attempt(run, row, None, NOON, 0.0) == ev.TriesSpent(row)


@pytest.mark.parametrize(
    ("on", "outcome", "fields", "again"),
    [
        (("failed",), O.FAILED, {"exit_code": 4}, True),
        (("failed",), O.FAILED, {"signal": 9}, False),
        (("signal",), O.FAILED, {"signal": 9}, True),
        ((75,), O.FAILED, {"exit_code": 75}, True),
        ((75,), O.FAILED, {"exit_code": 4}, False),
        (("timeout",), O.TIMEOUT, {}, True),
        (("failed",), O.TIMEOUT, {}, False),
        (("lost",), O.LOST, {}, True),
        (("start_error",), O.START_ERROR, {}, True),
        (("failed", "signal", "timeout", "lost", "start_error"), O.KILLED, {}, False),
    ],
)
def test_retries_on_names_the_endings(
    on: tuple[str | int, ...], outcome: Outcome, fields: dict[str, int], again: bool
) -> None:
    """DESIGN 8 row 8: exit codes and words; a kill is never retried."""
    job = a_job(retries=RetryPolicy(count=1, on=on))
    assert may_retry(ended_attempt(running(), outcome, "x", **fields), job) is again
