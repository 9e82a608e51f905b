"""The numbers of a job are those of its runs, and say nothing where there is nothing to say."""

from __future__ import annotations

from datetime import timedelta

from pyscheduler.model.run import Attempt, Outcome, Run, RunState
from pyscheduler.web.record import STRIP, percentile, record, strip
from tests.builders import NOON, a_run, an_attempt

S, F, K = RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED


def pair(seq: int, state: RunState, seconds: float | None) -> tuple[Run, Attempt | None]:
    run = a_run(seq=seq, state=state, attempt=0 if seconds is None else 1)
    if seconds is None:
        return run, None
    outcome = {S: Outcome.SUCCEEDED, F: Outcome.FAILED}.get(state)
    end = None if outcome is None else NOON + timedelta(seconds=seconds)
    return run, an_attempt(run, started_at=NOON, ended_at=end, outcome=outcome)


def test_the_rate_counts_what_ended_by_itself() -> None:
    """A skipped run is neither a success nor a failure, an open one has not ended."""
    found = record([pair(5, RunState.RUNNING, 1), pair(4, S, 10), pair(3, K, None), pair(2, F, 3), pair(1, S, 20)])
    assert (found.succeeded, found.failed, found.others, found.rate) == (2, 1, 1, 2 / 3)


def test_durations_are_those_of_successes() -> None:
    """A failure after a second does not make a job fast."""
    found = record([pair(3, S, 10), pair(2, F, 1), pair(1, S, 20)])
    assert (found.median_s, found.p95_s, found.last_success) == (15.0, 20.0, NOON + timedelta(seconds=10))


def test_a_streak_is_of_the_newest_alike() -> None:
    """Skips in between do not break it; the first other ending does."""
    found = record([pair(5, F, 1), pair(4, K, None), pair(3, F, 1), pair(2, S, 1), pair(1, F, 1)])
    assert (found.streak, found.streak_word) == (2, "failed")


def test_what_was_dropped_again_and_again_is_counted() -> None:
    """FC-072: nothing ever failed, and nothing ran either; the run that hangs meanwhile has not ended."""
    skipped = [pair(seq, K, None) for seq in range(8, 2, -1)]
    assert record([pair(9, RunState.RUNNING, 1), *skipped, pair(2, S, 1)]).not_run == 6
    assert record([pair(2, S, 1), pair(1, K, None)]).not_run == 0


def test_nothing_known_is_said_as_nothing() -> None:
    """A new job has no rate of 0 %."""
    found = record([])
    assert (found.rate, found.median_s, found.p95_s, found.last_success, found.streak) == (None, None, None, None, 0)


def test_a_percentile_is_a_value_there_was() -> None:
    """The nearest rank: 95 of a hundred are not above it."""
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0


def test_a_strip_is_old_to_new_and_to_scale() -> None:
    """The longest run reaches the top, one that was never started has no height."""
    found = strip([pair(3, S, 10), pair(2, K, None), pair(1, S, 20)], 10.0, NOON)
    assert [column.run.seq for column in found.columns] == [1, 2, 3]
    assert [column.height for column in found.columns] == [100.0, 0.0, 50.0]
    assert (found.top_s, found.typical) == (20.0, 50.0)


def test_a_strip_has_an_end() -> None:
    """Sixty runs, the newest; side by side within the line; what runs is as high as it is long by now."""
    pairs = [pair(100 - n, S if n else RunState.RUNNING, 10) for n in range(99)]
    found = strip(pairs, None, NOON + timedelta(seconds=5))
    assert len(found.columns) == STRIP
    assert found.columns[-1].height == 50.0
    assert found.columns[-1].left + found.columns[-1].width <= 100
