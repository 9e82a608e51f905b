"""A task: what is called, how often it may fail, and how long one call may take.

A task checks its limits when it is made; later edits of its attributes are the program's own, and a run only clamps
them (`attempts.py`). After a run it keeps its last `result`, or the text of its last `error`. Spec: pipeline.md 2.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pypepper.common.context import Context

DEFAULT_RETRY_UNTIL_MAX: Final = 1000
"""Attempts a round of a task that is retried until it succeeds."""


class ITask(Protocol):
    """What a workflow needs of a task besides its limits."""

    id: str
    name: str
    executor: Any
    context: Context


class Task:
    """One step of a workflow. ValueError for a limit outside its range.

    `round_timeout`, `round_timeout_join`, `retry_delay` and `retry_max_delay` are seconds, and fractions count. Beyond
    the documents: the n-th pause of a round is `retry_delay * retry_backoff ** (n - 1)`, at most `retry_max_delay` (0:
    no such bound), moved by up to `retry_jitter` (0 to 1) of itself either way.
    """

    def __init__(
        self,
        channel_id: str,
        dag_id: str,
        fingerprint: str,
        name: str,
        category: str,
        description: str,
        tags: list[Any],
        executor: Any,
        round_timeout: float = 0,
        round_times: int = 1,
        version: int = 1,
        retry_count: int = 0,
        retry_delay: float = 0,
        retry_until_completed: bool = False,
        retry_until_max: int = DEFAULT_RETRY_UNTIL_MAX,
        optional: bool = False,
        executor_id: str | None = None,
        round_timeout_join: float = 0,
        *,
        retry_backoff: float = 1,
        retry_max_delay: float = 0,
        retry_jitter: float = 0,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.channel_id = channel_id
        self.dag_id = dag_id
        self.fingerprint = fingerprint
        self.name = name
        self.category = category
        self.description = description
        self.tags = tags
        self.executor = executor
        self.executor_id = executor_id
        self.round_timeout = round_timeout
        self.round_timeout_join = round_timeout_join
        self.round_times = round_times
        self.version = version
        self.retry_count = retry_count
        self.retry_delay = retry_delay
        self.retry_backoff = retry_backoff
        self.retry_max_delay = retry_max_delay
        self.retry_jitter = retry_jitter
        self.retry_until_completed = retry_until_completed
        self.retry_until_max = retry_until_max
        self.optional = optional
        self.context = Context()
        self.result: Any = None
        self.error: str | None = None
        self.attempts = 0
        self._check()

    def _check(self) -> None:
        for name, least in _LEAST.items():
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be >= {least}")
        if self.retry_jitter > 1:
            raise ValueError("retry_jitter must be <= 1: it is a share of the delay")


_LEAST: Final[Mapping[str, int]] = {
    "round_timeout": 0,
    "round_timeout_join": 0,
    "retry_count": 0,
    "retry_delay": 0,
    "round_times": 1,
    "retry_until_max": 1,
    "retry_backoff": 1,
    "retry_max_delay": 0,
    "retry_jitter": 0,
}
"""The lowest legal value of each limit; `not >=` refuses NaN too."""
