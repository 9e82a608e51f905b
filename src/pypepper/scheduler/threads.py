"""Calls that block, away from the loop, with whatever leaves them carried as a value.

An exception of a call is not raised on its way here: asyncio cannot carry a StopIteration, lets a SystemExit end the
loop, and would take a CancelledError for the cancellation of the waiter (H11). So each call ends as an `Outcome`.

The threads are daemons: a call that hangs for ever does not keep the program from exiting (H13). That is what
`ThreadPoolExecutor` does not offer, and the reason for the small pool below; a hop is cheaper, too.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import weakref
from asyncio import _get_running_loop as running_loop
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

__all__ = ["DaemonPool", "Driver", "Outcome", "in_thread", "outcome_of", "running_loop"]

MAX_THREADS: Final = 32
IDLE_S: Final = 10.0
"""A thread without work ends after this many seconds."""


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


Call = Callable[[], Callable[[], object] | None]
"""What a thread of a pool calls. It may return how its end is told; neither may raise, and the telling may not wait."""


_all: Final[weakref.WeakSet[DaemonPool]] = weakref.WeakSet()


class DaemonPool:
    """At most `size` daemon threads, made when first needed, behind an unbounded queue.

    Of the three counters at most one of `_idle` and `_backlog` is above zero: a call is either promised to an idle
    thread, or the reason for a new one, or waits for the next that is free.

    A thread counts as idle before it tells of a call's end: whoever is told may post the next call before the thread
    has come any further, and must find this one, not make another.
    """

    def __init__(self, size: int = MAX_THREADS, name: str = "pypepper") -> None:
        self._size = size
        self._name = name
        self.renew()
        _all.add(self)

    def renew(self) -> None:
        """Begin with no threads and no calls: a forked child has inherited the counts, and none of what they count."""
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._idle = self._backlog = 0

    def post(self, call: Call) -> None:
        """Queue a call that raises nothing; who wants to know its end has it return what says so."""
        with self._lock:
            new = not self._idle and self._threads < self._size
            if self._idle:
                self._idle -= 1
            elif new:
                self._threads += 1
            else:
                self._backlog += 1
        self._calls.put(call)
        if new:
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=IDLE_S)
            except Empty:
                if self._may_leave():
                    return
                continue
            tell = call()
            with self._lock:
                if self._backlog:
                    self._backlog -= 1
                else:
                    self._idle += 1
            if tell is not None:
                tell()
            del call, tell  # an idle thread keeps nobody's values alive

    def _may_leave(self) -> bool:
        with self._lock:
            if not self._idle:
                return False  # a call was promised to this thread this very moment
            self._idle -= 1
            self._threads -= 1
            return True


async def in_thread(call: Callable[[], Any], pool: DaemonPool | None = None) -> Outcome:
    """Call on a thread of the pool (a common one for None), under the caller's context variables.

    A waiter that is cancelled leaves the call to its own end.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def away() -> Callable[[], None]:
        outcome = context.run(outcome_of, call)
        return lambda: _tell_from_afar(loop, ended, outcome)

    (pool or _common).post(away)
    return await ended


def _tell_from_afar(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[Outcome], outcome: Outcome) -> None:
    try:
        loop.call_soon_threadsafe(_tell, ended, outcome)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def _tell(ended: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not ended.done():
        ended.set_result(outcome)


_common: Final = DaemonPool()


def _renew_all() -> None:
    for pool in list(_all):
        pool.renew()


os.register_at_fork(after_in_child=_renew_all)


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
        if running_loop() is None:
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
