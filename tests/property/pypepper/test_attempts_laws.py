"""Laws of the attempt budget, for any limits: pipeline.md 4.1."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pypepper.scheduler.attempts import LONGEST_PAUSE_S, attempts, budget, pause_s
from pypepper.scheduler.task import Task
from tests.pipes import task

TASKS = st.builds(
    lambda **limits: task(**limits),
    retry_count=st.integers(0, 6),
    round_times=st.integers(1, 4),
    retry_until_completed=st.booleans(),
    retry_until_max=st.integers(1, 8),
    retry_delay=st.floats(0, 1e4),
    retry_backoff=st.floats(1, 1e6),
    retry_max_delay=st.floats(0, 1e4),
    retry_jitter=st.floats(0, 1),
)


@given(TASKS)
def test_the_ceiling(made: Task) -> None:
    """Rounds times attempts a round; each attempt knows its place, and only the last of a round is one."""
    tried = list(attempts(made))
    assert len(tried) == made.round_times * budget(made)
    assert [(each.round, each.number) for each in tried] == sorted((each.round, each.number) for each in tried)
    assert sum(each.is_last_of_round for each in tried) == made.round_times


@given(TASKS, st.floats(0, 1, exclude_max=True))
def test_pauses_have_bounds(made: Task, chance: float) -> None:
    """None after a round's last attempt; never negative, never above the bound and its jitter."""
    bound = made.retry_max_delay or max(LONGEST_PAUSE_S, made.retry_delay)
    for each in attempts(made):
        pause = pause_s(made, each, chance)
        assert 0 <= pause <= bound * (1 + made.retry_jitter) * (1 + 1e-9)
        if each.is_last_of_round:
            assert pause == 0


@given(TASKS)
def test_pauses_grow(made: Task) -> None:
    """Without jitter a later pause of a round is never shorter than an earlier one."""
    made.retry_jitter = 0
    first = [pause_s(made, each, 0.5) for each in attempts(made) if each.round == 1 and not each.is_last_of_round]
    assert first == sorted(first)
