"""A workflow: tasks one after the other, each tried as often as its budget allows. Spec: pipeline.md 4, 16.

`run` is for plain code and threads, `run_async` for a loop; both walk the same attempts (`attempts.py`). The result is
one entry a task, in order; a failed optional task leaves None there. A required task whose budget is spent re-raises
its last exception, and the tasks behind it do not run. Neither looks at the job or at the cancel event.

Coroutine executors are awaited: on the loop that runs `run_async`, or on a loop of the run's own inside `run`.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable
from typing import Any, Protocol

from pypepper.common.log import log
from pypepper.scheduler.attempts import Attempt, attempts, join_s, limit_s, pause_s
from pypepper.scheduler.executor import is_async
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.spans import workflow_span
from pypepper.scheduler.task import Task
from pypepper.scheduler.threads import DaemonPool, Driver, Outcome, in_thread, outcome_of
from pypepper.scheduler.timed import timed_calls

MAX_ERROR_TEXT = 4000
"""Characters of an error's text that a task and a record keep."""


class IWorkflow(Protocol):
    """What a worker needs of a workflow."""

    def run(self) -> list[Any]:
        """Run every task and return their results."""


class Workflow:
    """Tasks in order."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def add_task(self, task: Task) -> None:
        """Put a task at the end."""
        self.tasks.append(task)

    def add_tasks(self, tasks: list[Task]) -> None:
        """Put tasks at the end, in their order."""
        self.tasks.extend(tasks)

    def get_tasks(self) -> list[Task]:
        """Return the live list: what is done to it is done to the workflow."""
        return self.tasks

    def run(self) -> list[Any]:
        """Run every task on this thread and return their results."""
        with workflow_span(), Driver() as drive:
            return [_run_task(task, drive) for task in self.tasks]

    async def run_async(self, pool: DaemonPool | None = None) -> list[Any]:
        """Run every task from this loop and return their results.

        Coroutine executors are awaited in place, others run on a thread of `pool` (None: a common one), so nothing
        here blocks the loop. An executor's own CancelledError comes out as a RuntimeError with it as its cause.
        """
        with workflow_span():
            return [await _run_task_async(task, pool) for task in self.tasks]


def needs_a_loop(workflow: Any) -> bool:
    """Tell whether a worker should await `run_async`: some executor is a coroutine function, and `run` is ours."""
    if not isinstance(workflow, Workflow) or type(workflow).run is not _RUN:
        return False
    for task in workflow.tasks:  # noqa: SIM110 — once a job, and a generator costs as much as the look itself
        if is_async(task.executor):
            return True
    return False


_RUN = Workflow.run


# ---------------------------------------------------------------- one task


def _run_task(task: Task, drive: Driver) -> Any:
    began, last = _begin(task), None
    for attempt in attempts(task):
        task.attempts += 1
        outcome = outcome_of(lambda: _execute(task, drive))
        if outcome.error is None:
            return _succeed(task, outcome.value, began)
        last = _fail(task, attempt, outcome.error)
        if pause := pause_s(task, attempt, random.random()):
            time.sleep(pause)
    return _give_up(task, last, began)


async def _run_task_async(task: Task, pool: DaemonPool | None) -> Any:
    began, last = _begin(task), None
    for attempt in attempts(task):
        task.attempts += 1
        outcome = await _outcome_async(task, pool)
        if outcome.error is None:
            return _succeed(task, outcome.value, began)
        last = _fail(task, attempt, outcome.error)
        if pause := pause_s(task, attempt, random.random()):
            await asyncio.sleep(pause)
    return _give_up(task, last, began)


# ---------------------------------------------------------------- one attempt


def _execute(task: Task, drive: Driver) -> Any:
    if task.executor is None:
        return None
    if is_async(task.executor):
        work, limit = task.executor.execute(task, task.context), limit_s(task)
        return drive(work if limit is None else timed_calls.wait(task.id, work, limit, join_s(task)))
    call = _call(task, drive)
    limit = limit_s(task)
    return call() if limit is None else timed_calls.call(task.id, call, limit, join_s(task))


def _call(task: Task, drive: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return the bare call; a coroutine that nobody could foresee (a lambda's, a partial's) is awaited too (H4)."""

    def call() -> Any:
        result = task.executor.execute(task, task.context)
        return drive(result) if inspect.iscoroutine(result) else result

    return call


async def _outcome_async(task: Task, pool: DaemonPool | None) -> Outcome:
    if not is_async(task.executor):
        return await in_thread(lambda: _execute_alone(task), pool)
    try:
        work, limit = task.executor.execute(task, task.context), limit_s(task)
        return Outcome(await (work if limit is None else timed_calls.wait(task.id, work, limit, join_s(task))))
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        return Outcome(None, error)
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 — `_fail` decides what leaves the workflow
        return Outcome(None, error)


def _execute_alone(task: Task) -> Any:
    with Driver() as drive:
        return _execute(task, drive)


def _is_being_cancelled() -> bool:
    """Tell whether somebody cancelled the running asyncio task; otherwise the CancelledError is the executor's own."""
    running = asyncio.current_task()
    return running is not None and running.cancelling() > 0


# ---------------------------------------------------------------- what came of it


def _begin(task: Task) -> float:
    task.result, task.error, task.attempts = None, None, 0
    if metrics.hooks:
        metrics.tell("task.started", task=task.id, name=task.name)
    return time.monotonic()


def _succeed(task: Task, result: Any, began: float) -> Any:
    task.result = result
    _tell_ended(task, began, ok=True)
    return result


def _fail(task: Task, attempt: Attempt, error: BaseException) -> Exception:
    """Note a failed attempt and return its error; what is no Exception leaves the retries at once."""
    task.error = error_text(error)
    if isinstance(error, asyncio.CancelledError):  # raised as it is, it would look like a cancelled worker
        raise RuntimeError(f"the executor of task {task.name} raised CancelledError") from error  # noqa: TRY004
    if not isinstance(error, Exception):
        raise error
    log.warn(
        f"task {task.id} ({task.name}) failed: round {attempt.round}/{attempt.rounds}, "
        f"attempt {attempt.number}/{attempt.budget}: {error!r}"
    )
    if metrics.hooks:
        metrics.tell("task.failed", task=task.id, name=task.name, attempt=attempt, error=task.error)
    return error


def _give_up(task: Task, last: Exception | None, began: float) -> None:
    _tell_ended(task, began, ok=False)
    if last is not None and not task.optional:
        raise last
    log.warn(f"task {task.id} ({task.name}) is optional and was given up: {last!r}")


def _tell_ended(task: Task, began: float, *, ok: bool) -> None:
    if metrics.hooks:
        seconds = time.monotonic() - began
        metrics.tell("task.ended", task=task.id, name=task.name, ok=ok, error=task.error, seconds=seconds)


def error_text(error: BaseException) -> str:
    """Return an error as a person reads it: its class and its text, of bounded length."""
    text = str(error)
    return f"{type(error).__name__}: {text}"[:MAX_ERROR_TEXT] if text else type(error).__name__
