"""One call with a limit: the pool that runs timed calls, and what happens when the limit passes. Spec: pipeline.md 4.2.

What must always hold: a call that was withdrawn never runs; two timed calls of one task never overlap, so a call that
outlives its limit and its join bars the next attempts of its task until it ends; there are at most 32 such threads.

The threads are daemons: a call that hangs for ever does not keep the program from exiting (H13). That is the one thing
`ThreadPoolExecutor` does not offer, and the reason for the small pool below; its futures are the library's.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from pypepper.common.log import log

T = TypeVar("T")

MAX_THREADS: Final = 32


class DaemonPool:
    """At most `size` daemon threads, made when first needed, behind an unbounded queue."""

    def __init__(self, size: int = MAX_THREADS) -> None:
        self._size = size
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = threading.Semaphore(0)
        self._threads = 0

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Queue a call; its future can be cancelled until a thread takes it."""
        future: Future[T] = Future()
        self._waiting.put((future, call))
        if not self._idle.acquire(blocking=False):
            self._grow()
        return future

    def _grow(self) -> None:
        with self._lock:
            if self._threads == self._size:
                return
            self._threads += 1
            name = f"pypepper-timed-{self._threads}"
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            if self._waiting.empty():
                self._idle.release()
            future, call = self._waiting.get()
            if future.set_running_or_notify_cancel():
                _settle(future, call)
            del future, call  # an idle thread keeps nobody's result alive


def _settle(future: Future[T], call: Callable[[], T]) -> None:
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
        self._pool = DaemonPool()
        self._orphans: dict[str, Future[Any] | asyncio.Future[Any]] = {}

    def call(self, task_id: str, call: Callable[[], T], limit: float, join: float | None) -> T:
        """Return what the call returns within `limit` seconds, counted from now, time in the queue included.

        Raises what the call raises within the limit, else TimeoutError: at once if it had not started, or when it has
        ended, or after `join` more seconds (None: however long it takes).
        """
        self._refuse_overlap(task_id)
        future = self._pool.submit(_in_this_context(call))
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


def _in_this_context(call: Callable[[], T]) -> Callable[[], T]:
    """Take the caller's context variables along, so that spans opened inside are its children."""
    context = contextvars.copy_context()
    return lambda: context.run(call)


timed_calls: Final = TimedCalls()
os.register_at_fork(after_in_child=timed_calls.reset)
