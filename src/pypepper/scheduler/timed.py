"""One call with a limit: the pool that runs timed calls, and what happens when the limit passes. Spec: pipeline.md 4.2.

What must always hold: a call that was withdrawn never runs; two timed calls of one task never overlap, so a call that
outlives its limit and its join bars the next attempts of its task until it ends; there are at most 32 such threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from typing import Any, Final, TypeVar

from pypepper.common.log import log
from pypepper.scheduler.threads import DaemonPool

T = TypeVar("T")


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 — whoever waits for the future decides what it means
        future.set_exception(error)
    else:
        future.set_result(result)


class TimedCalls:
    """Timed calls of one process: its pool, and the calls that outlived their limit and join, by task id."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with no threads and no orphans; a forked child must, for it has inherited neither."""
        self._pool = DaemonPool(name="pypepper-timed")
        self._orphans: dict[str, Future[Any] | asyncio.Future[Any]] = {}

    def call(self, task_id: str, call: Callable[[], T], limit: float, join: float | None) -> T:
        """Return what the call returns within `limit` seconds, counted from now, time in the queue included.

        Raises what the call raises within the limit, else TimeoutError: at once if it had not started, or when it has
        ended, or after `join` more seconds (None: however long it takes).
        """
        self._refuse_overlap(task_id)
        future: Future[T] = Future()
        context = contextvars.copy_context()  # spans opened inside are the caller's children
        self._pool.post(lambda: context.run(_settle, future, call))
        wait_for_futures([future], limit)
        if future.cancel():
            raise TimeoutError(f"timed out before start: no thread was free within {limit} s")
        if future.done():
            return future.result()
        log.warn(f"task {task_id}: execute has been running for more than {limit} s")
        wait_for_futures([future], join)
        self._part(task_id, future)
        raise TimeoutError(f"execute still running after {limit} s")

    async def wait(self, task_id: str, work: Coroutine[Any, Any, T], limit: float, join: float | None) -> T:
        """Do the same for a coroutine, which is cancelled when its limit passes."""
        try:
            self._refuse_overlap(task_id)
        except TimeoutError:
            work.close()
            raise
        inner = asyncio.ensure_future(_kept_from_the_loop(work))
        try:
            await asyncio.wait({inner}, timeout=limit)
            if not inner.done():
                log.warn(f"task {task_id}: execute has been running for more than {limit} s")
                inner.cancel()
                await asyncio.wait({inner}, timeout=join)
                self._part(task_id, inner)
                raise TimeoutError(f"execute still running after {limit} s")
        except asyncio.CancelledError:
            inner.cancel()
            raise
        value, interrupt = inner.result()
        if interrupt is not None:
            raise interrupt
        return value  # type: ignore[return-value]  # set exactly when there is no interrupt

    def _refuse_overlap(self, task_id: str) -> None:
        orphan = self._orphans.get(task_id)
        if orphan is not None and not orphan.done():
            raise TimeoutError(f"task {task_id} is still running from a previous attempt")
        self._orphans.pop(task_id, None)

    def _part(self, task_id: str, late: Future[Any] | asyncio.Future[Any]) -> None:
        """Remember a call that is still running; say how one ended that came too late."""
        if not late.done():
            self._orphans[task_id] = late
        elif not late.cancelled() and (error := late.exception()) is not None:
            log.warn(f"task {task_id}: execute failed after its limit: {error!r}")


async def _kept_from_the_loop(work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Return (result, None), or an exit that would end the whole loop if it left an asyncio task."""
    try:
        return await work, None
    except (SystemExit, KeyboardInterrupt) as interrupt:
        return None, interrupt


timed_calls: Final = TimedCalls()
os.register_at_fork(after_in_child=timed_calls.reset)
