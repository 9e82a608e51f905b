"""Hooks for whoever counts: every step of jobs and tasks is told as a name with its facts.

A hook is called on the thread where the step happens, so it must be quick and safe from any thread. A hook that raises
is logged and otherwise ignored: counting never stops a job. Without hooks a step costs one look at an empty tuple.

| name | facts |
|---|---|
| `job.scheduled`, `job.refused` | channel, category; and reason (`full`, `stopped`) |
| `job.started`, `job.ended` | channel, category; and status, seconds since the start |
| `job.requeued`, `job.dropped` | channel, category; and reason |
| `save.failed`, `save.skipped` | channel, category, status: the store is behind (H9) |
| `task.started`, `task.failed`, `task.ended` | task, name; and attempt or ok, error, seconds |
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from pypepper.common.log import log

Hook = Callable[[str, dict[str, Any]], None]

_lock: Final = threading.Lock()


class Metrics:
    """The hooks of the process."""

    def __init__(self) -> None:
        self.hooks: tuple[Hook, ...] = ()

    def add(self, hook: Hook) -> Callable[[], None]:
        """Call this hook from now on; returns what takes it off again."""
        with _lock:
            self.hooks = (*self.hooks, hook)
        return lambda: self.remove(hook)

    def remove(self, hook: Hook) -> None:
        """Call it no more; one that is not there is fine."""
        with _lock:
            self.hooks = tuple(known for known in self.hooks if known is not hook)

    def reset(self) -> None:
        """Forget all hooks."""
        self.hooks = ()

    def tell(self, step: str, /, **facts: Any) -> None:
        """Tell every hook what has happened."""
        for hook in self.hooks:
            try:
                hook(step, facts)
            except Exception as error:  # noqa: BLE001 — somebody else's code; a count is never worth a job
                log.error(f"metrics hook {hook!r} failed at {step}: {error!r}")


metrics: Final = Metrics()


def prometheus_hook(registry: Any = None) -> Hook:
    """Return a hook that counts into `prometheus_client` metrics of this registry (None: the library's own).

    `pypepper_jobs_total{channel,status}`, `pypepper_job_seconds{channel}`, `pypepper_task_failures_total{task}`,
    `pypepper_saves_behind_total{channel}`. Task names become labels: keep them few.
    """
    from prometheus_client import REGISTRY, Counter, Histogram

    registry = registry or REGISTRY
    jobs = Counter("pypepper_jobs", "Jobs by how they ended", ["channel", "status"], registry=registry)
    seconds = Histogram("pypepper_job_seconds", "Seconds from start to end of a job", ["channel"], registry=registry)
    failures = Counter("pypepper_task_failures", "Failed attempts of tasks", ["task"], registry=registry)
    behind = Counter("pypepper_saves_behind", "Saves that failed or were skipped", ["channel"], registry=registry)

    def count(name: str, facts: dict[str, Any]) -> None:
        match name:
            case "job.ended":
                jobs.labels(facts["channel"], facts["status"]).inc()
                seconds.labels(facts["channel"]).observe(facts["seconds"])
            case "task.failed":
                failures.labels(facts["name"]).inc()
            case "save.failed" | "save.skipped":
                behind.labels(facts["channel"]).inc()

    return count
