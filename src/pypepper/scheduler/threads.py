"""Calls that block, away from the loop, with whatever leaves them carried as a value.

An exception of a call is not raised on its way here: asyncio cannot carry a StopIteration, lets a SystemExit end the
loop, and would take a CancelledError for the cancellation of the waiter (H11). So each call ends as an `Outcome`.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple, Self


class Outcome(NamedTuple):
    """What one call came to: its value, or what it raised."""

    value: Any = None
    error: BaseException | None = None


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """Call and tell what came of it."""
    try:
        return Outcome(call())
    except BaseException as error:  # noqa: BLE001 — handed on as a value, see the module's reason
        return Outcome(None, error)


async def in_thread(call: Callable[[], Any], pool: Executor | None = None) -> Outcome:
    """Call on a thread of the pool (the loop's own for None), under the caller's context variables."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(pool, context.run, outcome_of, call)


class Driver:
    """Runs coroutines from plain code on one loop of its own, made when first needed."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._helper: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the coroutine returns; inside a running loop it is driven on a helper thread, and waited for."""
        self._runner = self._runner or asyncio.Runner()
        if not _inside_a_loop():
            return self._runner.run(work)
        self._helper = self._helper or ThreadPoolExecutor(1, "pypepper-driver")
        return self._helper.submit(self._runner.run, work).result()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is None:
            return
        if self._helper is None:
            self._runner.close()
            return
        self._helper.submit(self._runner.close).result()
        self._helper.shutdown()


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
