"""A task and its limits: pipeline.md 2."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from pypepper.common.context import Context
from pypepper.scheduler.executor import Executor
from pypepper.scheduler.tag import Tag
from pypepper.scheduler.task import DEFAULT_RETRY_UNTIL_MAX, Task
from tests.pipes import task


def test_a_task_takes_everything_by_position() -> None:
    """pipeline.md 2: in the order of the signature."""
    executor, tags = Executor(), [Tag("k", "v")]
    made = Task("c", "d", "f", "n", "cat", "text", tags, executor, 1, 2, 3, 4, 5, True, 6, True, "id", 7)
    assert (made.channel_id, made.dag_id, made.fingerprint, made.name) == ("c", "d", "f", "n")
    assert (made.category, made.description, made.tags, made.executor) == ("cat", "text", tags, executor)
    assert (made.round_timeout, made.round_times, made.version) == (1, 2, 3)
    assert (made.retry_count, made.retry_delay, made.retry_until_completed) == (4, 5, True)
    assert (made.retry_until_max, made.optional, made.executor_id, made.round_timeout_join) == (6, True, "id", 7)


def test_the_defaults() -> None:
    """pipeline.md 2: as the signature says."""
    made = task()
    assert (made.round_timeout, made.round_times, made.version, made.round_timeout_join) == (0, 1, 1, 0)
    assert (made.retry_count, made.retry_delay, made.retry_until_completed) == (0, 0, False)
    assert made.retry_until_max == DEFAULT_RETRY_UNTIL_MAX == 1000
    assert (made.optional, made.executor_id) == (False, None)
    assert (made.retry_backoff, made.retry_max_delay, made.retry_jitter) == (1, 0, 0)
    assert (made.result, made.error, made.attempts) == (None, None, 0)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("round_timeout", 0),
        ("round_timeout_join", 0),
        ("retry_count", 0),
        ("retry_delay", 0),
        ("round_times", 1),
        ("retry_until_max", 1),
        ("retry_backoff", 1),
        ("retry_max_delay", 0),
        ("retry_jitter", 0),
    ],
)
def test_a_limit_below_its_least_is_refused(name: str, least: int) -> None:
    """pipeline.md 2 rows 4 to 6: `<name> must be >= <least>`, and the least itself is fine."""
    with pytest.raises(ValueError, match=f"^{name} must be >= {least}$"):
        task(**{name: least - 1})
    with pytest.raises(ValueError, match=f"^{name} must be >= {least}$"):
        task(**{name: float("nan")})
    assert getattr(task(**{name: least}), name) == least


def test_a_jitter_is_a_share() -> None:
    """Beyond the documents: all of the delay at most."""
    assert task(retry_jitter=1).retry_jitter == 1
    with pytest.raises(ValueError, match="retry_jitter must be <= 1"):
        task(retry_jitter=1.01)


@pytest.mark.parametrize("odd", [None, 7, ""])
def test_texts_are_not_checked(odd: Any) -> None:
    """pipeline.md 2 rows 1, 2 and 3: nothing is checked, and attributes stay mutable."""
    made = task(name=odd, tags=["bare"])
    assert made.name == odd
    made.retry_count = -5
    assert made.retry_count == -5


def test_id_and_context_are_the_tasks_own() -> None:
    """pipeline.md 2: a UUID4 text and a fresh context with a UUID of its own."""
    one, other = task(), task()
    assert one.id != other.id
    assert uuid.UUID(one.id).version == uuid.UUID(one.context.context_id).version == 4
    assert isinstance(one.context, Context)
    assert one.context is not other.context
    assert one.context.context == {}
    assert not {"status", "created", "updated"} & set(vars(one))


def test_a_tag_is_a_pair() -> None:
    """pipeline.md 1.2: both empty by default."""
    assert (Tag().key, Tag().value, Tag("a", "b")) == ("", "", Tag("a", "b"))
