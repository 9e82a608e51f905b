"""How one task is called, and the names under which rebuilt jobs find their executors.

An executor is any object with `execute(task, context)`: a plain function or a coroutine function. What it returns is
the task's result, untouched; an `Exception` that leaves it is one failed attempt. Spec: pipeline.md 3.
"""

from __future__ import annotations

import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pypepper.scheduler.base import OneOfAKind

if TYPE_CHECKING:
    from pypepper.common.context import Context


class IExecutor(ABC):
    """What a task calls. `async def execute` is awaited on the worker's loop."""

    @abstractmethod
    def execute(self, task: Any, context: Context | None = None) -> Any:
        """Do the task's work once; called as `execute(task, task.context)`."""


ExecutorFactory = Callable[[], IExecutor]
"""Makes a fresh executor for each task that asks for it."""


class Executor(IExecutor):
    """Does nothing and returns None: a base for executors that override `execute`."""

    def execute(self, task: Any, context: Context | None = None) -> Any:
        """Return None."""
        return None


class CallableExecutor(IExecutor):
    """Calls a function of the program's, `func(task, context)`, and adds nothing: no check, no catch, no thread."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def execute(self, task: Any, context: Context | None = None) -> Any:
        """Return what the function returns; a coroutine function's coroutine is awaited by the workflow."""
        return self.func(task, context)


def is_async(executor: Any) -> bool:
    """Tell, without calling it, whether an executor's `execute` gives a coroutine."""
    func = executor.func if type(executor) is CallableExecutor else getattr(executor, "execute", None)
    code = getattr(func, "__code__", None)
    if code is not None and not getattr(func, "__dict__", True):
        return bool(code.co_flags & inspect.CO_COROUTINE)  # a plain function without marks: no need to look further
    return inspect.iscoroutinefunction(func) or (
        not inspect.isroutine(func) and inspect.iscoroutinefunction(getattr(func, "__call__", None))  # noqa: B004
    )


class ExecutorRegistry(OneOfAKind):
    """Executors by name, one registry a process; safe from any thread. Spec: pipeline.md 3.

    Every call of the class returns the one instance.
    """

    _entries: ClassVar[dict[str, IExecutor | ExecutorFactory]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def register(self, name: str, factory: IExecutor | ExecutorFactory) -> None:
        """Remember an executor, or what makes one, under a name; the same name replaces. ValueError without either."""
        if not name:
            raise ValueError("invalid executor id: a name must not be empty")
        if factory is None:
            raise ValueError("invalid executor factory: give an executor, or a callable that makes one")
        with self._lock:
            self._entries[name] = factory

    def resolve(self, name: str) -> IExecutor:
        """Return the instance registered, or a new one from its factory, which is called outside the lock.

        Raises ValueError for an empty or unknown name, TypeError for an entry that is neither.
        """
        if not name:
            raise ValueError("invalid executor id: a name must not be empty")
        with self._lock:
            entry = self._entries.get(name)
        if entry is None:
            raise ValueError(f"unknown executor_id: {name!r}; register it with executor_registry.register first")
        if isinstance(entry, IExecutor):
            return entry
        if not callable(entry):
            raise TypeError(f"executor_id {name!r} is registered as neither an executor nor a callable")
        return entry()

    def clear(self) -> None:
        """Forget every name."""
        with self._lock:
            self._entries.clear()


executor_registry: Final = ExecutorRegistry()
