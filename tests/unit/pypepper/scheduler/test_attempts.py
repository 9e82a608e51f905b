"""How often, and how long between: pipeline.md 4.1."""

from __future__ import annotations

from typing import Any

import pytest

from pypepper.scheduler.attempts import LONGEST_PAUSE_S, Attempt, attempts, budget, join_s, limit_s, pause_s
from tests.pipes import task


@pytest.mark.parametrize(
    ("until", "count", "tries"),
    [(False, 0, 1), (False, 3, 4), (True, 0, 50), (True, 2, 3)],
)
def test_the_budget_of_a_round(until: bool, count: int, tries: int) -> None:
    """pipeline.md 4.1, table 1, each row; retry_until_max (50 here) counts in the third only."""
    assert budget(task(retry_until_completed=until, retry_count=count, retry_until_max=50)) == tries


@pytest.mark.parametrize(
    ("limits", "calls", "pauses"),
    [
        ({"retry_count": 1, "round_times": 3, "retry_delay": 9}, 6, [9, 9, 9]),
        (
            {"retry_until_completed": True, "retry_until_max": 5, "round_times": 2, "retry_delay": 2},
            10,
            [2] * 8,
        ),
        ({"retry_until_completed": True, "retry_count": 2, "retry_until_max": 100, "retry_delay": 1}, 3, [1, 1]),
        ({"optional": True, "retry_count": 0, "retry_delay": 9}, 1, []),
    ],
)
def test_the_worked_examples(limits: dict[str, Any], calls: int, pauses: list[int]) -> None:
    """pipeline.md 4.1, table 2, each row: no pause after a round's last attempt, none between rounds."""
    made = task(**limits)
    tried = list(attempts(made))
    assert len(tried) == calls
    assert [pause for attempt in tried if (pause := pause_s(made, attempt, 0.5))] == pauses


def test_bad_edits_are_clamped() -> None:
    """pipeline.md 2: at least one round and one attempt, and no limit that is not positive."""
    made = task()
    assert (limit_s(made), join_s(made)) == (None, None)
    made.round_times, made.retry_count, made.round_timeout, made.round_timeout_join = -3, -7, -1, -1
    assert list(attempts(made)) == [Attempt(1, 1, 1, 1)]
    assert (limit_s(made), join_s(made)) == (None, None)
    made.retry_until_completed, made.retry_until_max = True, 0
    assert budget(made) == 1


def test_fractions_of_seconds_count() -> None:
    """H5, done better: half a second is a limit, and a join, of half a second."""
    made = task(round_timeout=0.5, round_timeout_join=0.25)
    assert (limit_s(made), join_s(made)) == (0.5, 0.25)


def test_a_pause_may_grow_up_to_its_bound() -> None:
    """Beyond the documents: `retry_backoff` and `retry_max_delay`."""
    made = task(retry_count=5, retry_delay=1, retry_backoff=3, retry_max_delay=10)
    assert [pause_s(made, attempt, 0.5) for attempt in attempts(made)] == [1, 3, 9, 10, 10, 0]


def test_a_pause_that_grows_without_a_bound_has_one() -> None:
    """A day is the longest pause, however often the pause has doubled; a longer delay of the program's own stays."""
    made = task(retry_until_completed=True, retry_delay=1, retry_backoff=10)
    assert pause_s(made, Attempt(1, 1, 900, 1000), 0.5) == LONGEST_PAUSE_S
    long = task(retry_count=9, retry_delay=200_000, retry_backoff=2)
    assert pause_s(long, Attempt(1, 1, 3, 10), 0.5) == 200_000


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 5.0), (0.5, 10.0), (0.9999999, 15.0)])
def test_jitter_moves_a_pause_either_way(chance: float, pause: float) -> None:
    """Beyond the documents: by up to `retry_jitter` of itself."""
    made = task(retry_count=1, retry_delay=10, retry_jitter=0.5)
    assert pause_s(made, Attempt(1, 1, 1, 2), chance) == pytest.approx(pause, abs=1e-5)


def test_no_pause_without_a_delay() -> None:
    """pipeline.md 4.1: none when `0`, whatever else is set."""
    assert pause_s(task(retry_count=1, retry_backoff=5, retry_jitter=1), Attempt(1, 1, 1, 2), 0.9) == 0
