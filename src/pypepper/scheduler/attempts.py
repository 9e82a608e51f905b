"""How often a task is tried, and how long it rests between two tries: pure. Spec: pipeline.md 4.1.

A round is a fresh budget of attempts. Between two attempts of one round lies a pause; none follows the last attempt of
a round, none lies between rounds. The first success anywhere ends the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pypepper.scheduler.task import Task

LONGEST_PAUSE_S: Final = 86_400.0
"""What a growing pause never exceeds, where `retry_max_delay` sets no bound of its own."""


class Attempt(NamedTuple):
    """One try: the n-th of this round's budget, in the n-th round."""

    round: int
    rounds: int
    number: int
    budget: int

    @property
    def is_last_of_round(self) -> bool:
        """No pause follows it."""
        return self.number == self.budget


def budget(task: Task) -> int:
    """Return the attempts of one round, at least 1 whatever was edited into the task."""
    if task.retry_until_completed and task.retry_count <= 0:
        return max(1, task.retry_until_max)
    return max(1, task.retry_count + 1)


def attempts(task: Task) -> Iterator[Attempt]:
    """Yield every attempt that the task may make, in order."""
    rounds, tries = max(1, task.round_times), budget(task)
    for round_number in range(1, rounds + 1):
        for number in range(1, tries + 1):
            yield Attempt(round_number, rounds, number, tries)


def pause_s(task: Task, failed: Attempt, chance: float) -> float:
    """Return the seconds to rest after a failed attempt; `chance` in [0, 1) is the jitter's throw."""
    if failed.is_last_of_round or task.retry_delay <= 0:
        return 0.0
    pause = _grown(task, failed.number - 1)
    return pause * (1 + task.retry_jitter * (2 * chance - 1)) if task.retry_jitter > 0 else pause


def _grown(task: Task, times: int) -> float:
    if task.retry_backoff <= 1 and task.retry_max_delay <= 0:
        return task.retry_delay
    longest = task.retry_max_delay if task.retry_max_delay > 0 else max(LONGEST_PAUSE_S, task.retry_delay)
    try:
        return min(longest, task.retry_delay * float(max(1.0, task.retry_backoff)) ** times)
    except OverflowError:
        return longest


def limit_s(task: Task) -> float | None:
    """Return the seconds that one call may take; None where there is no limit."""
    return task.round_timeout if task.round_timeout > 0 else None


def join_s(task: Task) -> float | None:
    """Return how many seconds a call over its limit is waited for; None means for ever."""
    return task.round_timeout_join if task.round_timeout_join > 0 else None
