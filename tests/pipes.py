"""What the pipeline's tests share: jobs in a line, stores that misbehave as told, and a process as new."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pypepper.scheduler.channel import manager
from pypepper.scheduler.executor import CallableExecutor, executor_registry
from pypepper.scheduler.job import Job, dispatcher
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.store import InMemoryJobStore, JobRecord, reset_job_store, set_job_store
from pypepper.scheduler.task import Task
from pypepper.scheduler.worker import Worker
from pypepper.scheduler.workflow import Workflow

BOUND_S = 20.0
"""How long a test waits for a fact that should be there at once."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Give every test the process as a program finds it."""
    _reset()
    yield
    _reset()


def _reset() -> None:
    manager.reset()
    dispatcher.reset()
    executor_registry.clear()
    metrics.reset()
    reset_job_store()


def task(call: Any = None, **limits: Any) -> Task:
    """Return a task that calls this; a name or another limit may be given."""
    executor = CallableExecutor(call) if callable(call) else call
    texts: dict[str, Any] = {"name": "step", "category": "test", "description": "", "tags": []}
    return Task(channel_id="c", dag_id="dag", fingerprint="fp", executor=executor, **(texts | limits))


def workflow(*tasks: Any) -> Workflow:
    """Return a workflow of these tasks; a bare callable becomes one."""
    made = Workflow()
    made.add_tasks([each if isinstance(each, Task) else task(each) for each in tasks])
    return made


def job(*workflows: Any, channel: str = "c", **more: Any) -> Job:
    """Return a job of these workflows; a task or a callable becomes one of its own."""
    made = Job(category="test", channel_id=channel, **more)
    made.workflows = [each if isinstance(each, Workflow) else workflow(each) for each in workflows]
    return made


def returning(value: Any = None) -> Callable[..., Any]:
    """Return a call that returns this."""
    return lambda _task, _context: value


class Flaky:
    """A call that fails so many times, then returns its count."""

    def __init__(self, failures: int, error: type[BaseException] = ValueError) -> None:
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self, _task: Any, _context: Any) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error(f"failure {self.calls}")
        return self.calls


class Scripted(InMemoryJobStore):
    """A memory store that does as it is told with the next puts of a status.

    `script["InProgress"] = ["raise", "skip", "land"]`: "raise" writes nothing and raises, "skip" answers False, "lose"
    writes and then raises, "land" is an ordinary put; a callable is called first. Behind the script all is ordinary.
    """

    def __init__(self, **script: list[Any]) -> None:
        super().__init__()
        self.script = {status: deque(steps) for status, steps in script.items()}
        self.blind: deque[str] = deque()
        self.puts: list[tuple[str, int]] = []

    def put(self, record: JobRecord) -> bool:
        self.puts.append((record.status, record.version))
        steps = self.script.get(record.status)
        step = steps.popleft() if steps else "land"
        if callable(step):
            step = step() or "land"
        if step == "raise":
            raise ConnectionError(f"no {record.status}")
        if step == "skip":
            return False
        landed = super().put(record)
        if step == "lose":
            raise ConnectionError(f"the reply to {record.status} was lost")
        return landed

    def get(self, job_id: str) -> JobRecord | None:
        if self.blind and self.blind.popleft() == "raise":
            raise ConnectionError("cannot read")
        return super().get(job_id)


def scripted(**script: list[Any]) -> Scripted:
    """Install a scripted store."""
    store = Scripted(**script)
    set_job_store(store)
    return store


def work_off(channel: str = "c") -> None:
    """Stop a channel and let one worker work it off."""

    async def drain() -> None:
        chan = manager.available(channel)
        chan.request_stop()
        await Worker(chan).run_forever()

    asyncio.run(asyncio.wait_for(drain(), BOUND_S))


def once(channel: str = "c") -> Job | None:
    """Let a worker take one job off a channel."""
    return asyncio.run(asyncio.wait_for(Worker(manager.available(channel)).run_once(), BOUND_S))


def row(of: Job) -> JobRecord:
    """Return a job's row."""
    saved = Job.get_saved(of.id)
    assert saved is not None
    return saved


def status_of(made: Job) -> tuple[str, str | None]:
    """Return what a job says of itself, and what its row says."""
    saved = Job.get_saved(made.id)
    machine = made._fsm.current()
    assert machine is not None
    assert machine.value == made.status
    return made.status, saved.status if saved else None


def meet(barrier: threading.Event) -> None:
    """Wait for a fact, with a deadline."""
    assert barrier.wait(BOUND_S)
