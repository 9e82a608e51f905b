"""What the authority makes of a running run's row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from pyscheduler.cluster.launcher import ClusterLauncher, seen_of
from pyscheduler.engine.ports import Seen
from pyscheduler.model.job import Job, RetryPolicy, SourceRef
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Outcome
from pyscheduler.rules.retry import allowed_tries, ended, may_retry, result_of
from tests.builders import NOON, a_run, an_attempt, ended_attempt

RUN = a_run(attempt=1)


def a_job(**more: object) -> Job:
    return Job(name="load", source=SourceRef("a.yaml", 1), retries=RetryPolicy(count=1), **more)  # type: ignore[arg-type]


def test_what_is_owned_still_goes_whatever_its_row_says() -> None:
    """Only a row that nobody owns has an end to be decided about."""
    row = ended_attempt(RUN, Outcome.SUCCEEDED)
    assert seen_of("inc", row).result is None
    assert seen_of(None, an_attempt(RUN)).result is None
    assert seen_of(None, row).result is not None


@pytest.mark.parametrize(
    "result",
    [
        AttemptResult(exit_code=0),
        AttemptResult(exit_code=3),
        AttemptResult(signal=9),
        AttemptResult(exit_code=0, stopped_by="timeout"),
        AttemptResult(signal=15, stopped_by="kill"),
        AttemptResult(lost="exit unknown"),
        AttemptResult(start_error="no such file"),
        AttemptResult(exit_code=1, leftovers=(4711,)),
    ],
    ids=str,
)
def test_an_end_that_a_node_wrote_counts_as_it_would_here(result: AttemptResult) -> None:
    """Read back from its row it leads to the same outcome, reason and note."""
    written = ended(an_attempt(RUN), result, a_job(), NOON)
    again = ended(an_attempt(RUN), result_of(written), a_job(), NOON)
    assert (again.outcome, again.reason, again.exit_code, again.signal) == (
        written.outcome,
        written.reason,
        written.exit_code,
        written.signal,
    )
    assert again.note == written.note


def test_on_lost_decides_about_lost_attempts_alone() -> None:
    """`rerun` whatever the retries say and not for ever, `fail` never; every other end is the retries' own."""
    lost = ended_attempt(RUN, Outcome.LOST, "lost")
    failed = ended_attempt(RUN, Outcome.FAILED, "exit 1")
    never = a_job(on_lost="fail")
    assert (may_retry(lost, never), may_retry(failed, never)) == (False, True)
    again = Job(
        name="load", source=SourceRef("a.yaml", 1), retries=RetryPolicy(count=0, on=("failed",)), on_lost="rerun"
    )
    assert (may_retry(lost, again), allowed_tries(lost, again), allowed_tries(failed, again)) == (True, 3, 0)


async def test_a_look_that_failed_is_not_the_last() -> None:
    """Whoever has stopped looking hears of no end any more, and nobody would notice."""
    heard = list[int]()

    class Rows:
        def running_attempts(self) -> list[tuple[str | None, Attempt]]:
            return [("inc", an_attempt(RUN))]

    def watcher(seen: Sequence[Seen]) -> None:
        heard.append(len(seen))
        if len(heard) == 1:
            raise AssertionError("a bug")

    launcher = ClusterLauncher(cast("Any", Rows()))
    launcher.bind(watcher)
    async with asyncio.timeout(10):
        while len(heard) < 2:
            await asyncio.sleep(0.001)
    await launcher.close()
    assert heard[:2] == [1, 1]
