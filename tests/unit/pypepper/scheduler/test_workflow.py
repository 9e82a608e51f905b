"""Workflows: pipeline.md 4, and the log lines of 16 that they write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pypepper.scheduler.threads import Driver
from pypepper.scheduler.workflow import MAX_ERROR_TEXT, Workflow, error_text, needs_a_loop
from tests.pipes import Flaky, returning, task, workflow


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the workflow would have slept."""
    slept: list[float] = []
    monkeypatch.setattr("pypepper.scheduler.workflow.time.sleep", slept.append)
    return slept


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the workflow warned of, by way of the name that programs patch."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.workflow.log.warn", said.append)
    return said


def test_results_come_in_order() -> None:
    """pipeline.md 4: one entry a task, none for no tasks."""
    assert workflow(returning(1), returning(None), returning("x")).run() == [1, None, "x"]
    assert Workflow().run() == []


def test_tasks_are_a_live_list() -> None:
    """pipeline.md 4: `get_tasks` is `tasks`; adding keeps the order."""
    made, one, two, three = Workflow(), task(), task(), task()
    made.add_task(one)
    made.add_tasks([two, three])
    assert made.get_tasks() is made.tasks == [one, two, three]


def test_a_spent_budget_raises_the_last_error_and_stops_the_workflow() -> None:
    """pipeline.md 4: the very last exception object; later tasks do not run."""
    raised: list[Exception] = []
    ran: list[str] = []

    def fail(_task: Any, _context: Any) -> None:
        raised.append(ValueError(len(raised)))
        raise raised[-1]

    with pytest.raises(ValueError, match="2") as caught:
        workflow(task(fail, retry_count=2), lambda _task, _context: ran.append("later")).run()
    assert caught.value is raised[-1]
    assert ran == []


def test_an_optional_task_may_fail() -> None:
    """pipeline.md 4: it contributes None, and the workflow goes on."""
    assert workflow(task(Flaky(9), optional=True), returning(2)).run() == [None, 2]


def test_a_task_without_an_executor_succeeds() -> None:
    """pipeline.md 2 row `executor`: result None."""
    assert workflow(task(None)).run() == [None]


@pytest.mark.parametrize(
    ("limits", "calls", "pauses"),
    [
        ({"retry_count": 1, "round_times": 3, "retry_delay": 9}, 6, [9, 9, 9]),
        ({"retry_until_completed": True, "retry_until_max": 5, "round_times": 2, "retry_delay": 2}, 10, [2] * 8),
        ({"retry_until_completed": True, "retry_count": 2, "retry_until_max": 100, "retry_delay": 3}, 3, [3, 3]),
        ({"optional": True}, 1, []),
    ],
)
def test_the_worked_examples(limits: dict[str, Any], calls: int, pauses: list[int], sleeps: list[float]) -> None:
    """pipeline.md 4.1, the four examples, through `run`: calls and sleeps."""
    flaky = Flaky(10_000)
    made = workflow(task(flaky, **limits))
    if limits.get("optional"):
        assert made.run() == [None]
    else:
        with pytest.raises(ValueError, match="failure"):
            made.run()
    assert (flaky.calls, sleeps) == (calls, pauses)


def test_the_first_success_ends_the_task(sleeps: list[float]) -> None:
    """pipeline.md 4.1: anywhere, in any round."""
    flaky = Flaky(3)
    assert workflow(task(flaky, retry_count=1, round_times=5, retry_delay=4)).run() == [4]
    assert sleeps == [4, 4]


async def test_the_loop_walks_the_same_attempts() -> None:
    """Beyond the documents: `run_async` tries, gives up and returns as `run` does."""
    flaky, spent = Flaky(3), Flaky(9)

    async def again(given: Any, context: Any) -> int:
        return flaky(given, context)

    async def never(given: Any, context: Any) -> int:
        return spent(given, context)

    made = workflow(task(again, retry_count=1, round_times=2, retry_delay=0.001), returning("plain"))
    assert await made.run_async() == [4, "plain"]
    assert await workflow(task(never, optional=True)).run_async() == [None]
    with pytest.raises(ValueError, match="failure 3"):
        await workflow(task(never, retry_count=1)).run_async()


def test_coroutines_are_awaited_by_plain_runs_too() -> None:
    """Beyond the documents (H4): foreseen or not, with one loop for all of a run."""
    loops: list[Any] = []

    async def work(_task: Any, _context: Any) -> int:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return len(loops)

    made = workflow(work, lambda given, context: work(given, context), task(work, round_timeout=20))
    assert made.run() == [1, 2, 3]
    assert len(set(map(id, loops))) == 1


async def test_a_plain_run_inside_a_loop_awaits_its_coroutines_elsewhere() -> None:
    """Beyond the documents: the caller chose to block; the coroutine still runs."""

    async def work(_task: Any, _context: Any) -> int:
        await asyncio.sleep(0)
        return 5

    assert workflow(work, work).run() == [5, 5]


async def test_a_coroutine_nobody_could_foresee_is_awaited_on_a_thread() -> None:
    """Beyond the documents: a lambda that returns a coroutine, beside a coroutine function."""

    async def work(_task: Any, _context: Any) -> int:
        return 6

    assert await workflow(work, lambda given, context: work(given, context)).run_async() == [6, 6]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_what_is_no_exception_leaves_the_retries(kind: type[BaseException]) -> None:
    """pipeline.md 3 row 3: a BaseException is not tried again."""
    flaky = Flaky(9, kind)
    with pytest.raises(kind):
        workflow(task(flaky, retry_count=5, optional=True)).run()
    assert flaky.calls == 1


@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_executors_own_cancelled_error_is_no_cancellation(wrapped: bool) -> None:
    """H11, done better: it leaves the retries as a RuntimeError with it as the cause, on a loop and on a thread."""
    flaky = Flaky(9, asyncio.CancelledError)

    async def work(given: Any, context: Any) -> int:
        return flaky(given, context)

    made = workflow(task(work if wrapped else flaky, retry_count=5))
    with pytest.raises(RuntimeError, match="raised CancelledError") as caught:
        await made.run_async()
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert flaky.calls == 1


async def test_a_cancelled_run_is_cancelled() -> None:
    """The other way round: who cancels the run gets CancelledError, and nothing is tried again."""
    started, calls = asyncio.Event(), 0

    async def work(_task: Any, _context: Any) -> None:
        nonlocal calls
        calls += 1
        started.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(workflow(task(work, retry_count=5)).run_async())
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert calls == 1


def test_stop_iteration_is_an_error_like_any_other() -> None:
    """H11: a StopIteration of an executor is a failed attempt and comes out."""
    with pytest.raises(StopIteration):
        workflow(task(Flaky(9, StopIteration), retry_count=1)).run()


def test_result_error_and_attempts_stay_on_the_task() -> None:
    """Beyond the documents: what came of the last run, and the text of its last failure."""
    good, recovered, spent = task(returning(1)), task(Flaky(1), retry_count=1), task(Flaky(9), optional=True)
    made = workflow(good, recovered, spent)
    made.run()
    assert [(each.result, each.error, each.attempts) for each in made.tasks] == [
        (1, None, 1),
        (2, "ValueError: failure 1", 2),
        (None, "ValueError: failure 1", 1),
    ]
    recovered.executor = good.executor
    made.run()
    assert (recovered.result, recovered.error, recovered.attempts) == (1, None, 1)


def test_an_errors_text_has_a_bound() -> None:
    """Promise P6: what is kept for ever is small."""
    assert error_text(ValueError("x" * 10_000)) == ("ValueError: " + "x" * 10_000)[:MAX_ERROR_TEXT]
    assert error_text(KeyError()) == "KeyError"


def test_each_failed_attempt_is_a_warning(warnings: list[str], sleeps: list[float]) -> None:
    """pipeline.md 16, row warn: task id, name, round i/n, attempt i/n, error; and the optional task given up."""
    made = task(Flaky(9), name="load", retry_count=1, round_times=2, optional=True)
    workflow(made).run()
    assert len(warnings) == 5
    for line, where in zip(warnings, ["1/2, attempt 1/2", "1/2, attempt 2/2", "2/2, attempt 1/2"], strict=False):
        assert made.id in line
        assert "load" in line
        assert f"round {where}" in line
        assert "ValueError('failure" in line
    assert "optional" in warnings[-1]


def test_a_run_looks_neither_at_job_nor_at_event() -> None:
    """pipeline.md 4: a set cancel event changes nothing."""
    import threading

    from pypepper.scheduler.job import CANCEL_EVENT_KEY

    event = threading.Event()
    event.set()
    made = task(returning(1))
    made.context.with_value(CANCEL_EVENT_KEY, event)
    assert workflow(made).run() == [1]


def test_who_needs_a_loop() -> None:
    """The worker awaits our own workflows with coroutine executors; whoever overrides `run` is called as he is."""

    class Mine(Workflow):
        def run(self) -> list[Any]:
            return ["mine"]

    async def work(_task: Any, _context: Any) -> None: ...

    mine = Mine()
    mine.add_task(task(work))
    assert needs_a_loop(workflow(returning(), work))
    assert not needs_a_loop(workflow(returning()))
    assert not needs_a_loop(mine)
    assert not needs_a_loop(object())


def test_a_driver_without_work_makes_no_loop() -> None:
    """A run of plain executors costs no event loop."""
    with Driver() as drive:
        assert drive._runner is None
