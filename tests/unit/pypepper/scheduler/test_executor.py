"""Executors and their names: pipeline.md 3."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

from pypepper.scheduler.executor import (
    CallableExecutor,
    Executor,
    ExecutorRegistry,
    IExecutor,
    executor_registry,
    is_async,
)
from tests.pipes import task, workflow


def test_the_protocol_is_abstract() -> None:
    """pipeline.md 3 row 1: who does not say what to execute is no executor."""
    with pytest.raises(TypeError):
        IExecutor()  # type: ignore[abstract]


def test_an_executor_is_called_with_task_and_context_by_position() -> None:
    """pipeline.md 3 row 1: `execute(task, task.context)`."""
    seen: list[Any] = []

    class Positional:
        def execute(self, *given: Any) -> None:
            seen.extend(given)

    made = task(Positional())
    workflow(made).run()
    assert seen == [made, made.context]


@pytest.mark.parametrize("value", [None, False, ValueError("kept"), 7])
def test_whatever_returns_has_succeeded(value: Any) -> None:
    """pipeline.md 3 rows 2 and 3: the value is the result, untouched, even an exception object."""
    assert workflow(lambda _task, _context: value).run() == [value]


def test_the_plain_executor_does_nothing() -> None:
    """pipeline.md 3 row 4: returns None, for subclasses to override."""
    assert Executor().execute(task()) is None


def test_a_callable_executor_adds_nothing() -> None:
    """pipeline.md 3 row 5: the function's value and the function's exception."""
    made = task()
    assert CallableExecutor(lambda given, context: (given, context)).execute(made, made.context) == (
        made,
        made.context,
    )
    with pytest.raises(ZeroDivisionError):
        CallableExecutor(lambda _task, _context: 1 / 0).execute(made)


def test_a_task_runs_on_the_thread_of_its_run() -> None:
    """pipeline.md 3 row 6: in whichever thread runs the workflow; a limit moves it to a pool thread."""

    def where(_task: Any, _context: Any) -> int:
        return threading.get_ident()

    here, elsewhere = workflow(task(where), task(where, round_timeout=20)).run()
    assert here == threading.get_ident() != elsewhere


async def _work(_task: Any, _context: Any) -> int:
    return 1


class _Async:
    async def execute(self, _task: Any, _context: Any) -> int:
        return 1


class _AsyncCallable:
    async def __call__(self, _task: Any, _context: Any) -> int:
        return 1


@pytest.mark.parametrize(
    ("executor", "answer"),
    [
        (CallableExecutor(_work), True),
        (CallableExecutor(functools.partial(_work)), True),
        (CallableExecutor(_AsyncCallable()), True),
        (_Async(), True),
        (Executor(), False),
        (CallableExecutor(lambda _task, _context: 1), False),
        (CallableExecutor(print), False),
        (None, False),
    ],
)
def test_coroutine_executors_are_known_before_they_are_called(executor: Any, answer: bool) -> None:
    """Beyond the documents (H4): the worker awaits these on its loop."""
    assert is_async(executor) is answer


def test_the_registry_is_one() -> None:
    """pipeline.md 1.2: calling the class again returns the instance."""
    assert ExecutorRegistry() is executor_registry


def test_an_instance_is_shared_and_a_factory_called_each_time() -> None:
    """pipeline.md 3, registry row 2: a class works as a factory."""
    shared = Executor()
    executor_registry.register("shared", shared)
    executor_registry.register("made", Executor)
    assert executor_registry.resolve("shared") is executor_registry.resolve("shared") is shared
    assert executor_registry.resolve("made") is not executor_registry.resolve("made")


def test_a_name_is_replaced_silently() -> None:
    """pipeline.md 3, registry row 1."""
    one, other = Executor(), Executor()
    executor_registry.register("x", one)
    executor_registry.register("x", other)
    assert executor_registry.resolve("x") is other


def test_what_cannot_be_registered_or_resolved() -> None:
    """pipeline.md 3, registry rows 1 and 2: each with its words."""
    with pytest.raises(ValueError, match="invalid executor id"):
        executor_registry.register("", Executor)
    with pytest.raises(ValueError, match="invalid executor factory"):
        executor_registry.register("x", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="invalid executor id"):
        executor_registry.resolve("")
    with pytest.raises(ValueError, match="unknown executor_id"):
        executor_registry.resolve("x")
    executor_registry.register("x", 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        executor_registry.resolve("x")


def test_a_factory_may_use_the_registry() -> None:
    """pipeline.md 3, registry row 2: it is called outside the lock."""
    executor_registry.register("inner", Executor)
    executor_registry.register("outer", lambda: executor_registry.resolve("inner"))
    assert isinstance(executor_registry.resolve("outer"), Executor)


def test_clear_forgets_everything() -> None:
    """pipeline.md 3, registry row 3."""
    executor_registry.register("x", Executor)
    executor_registry.clear()
    with pytest.raises(ValueError, match="unknown"):
        executor_registry.resolve("x")
