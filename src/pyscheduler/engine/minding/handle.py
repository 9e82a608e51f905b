"""A running attempt as the engine holds it. It knows nothing of nurseries: whoever learns something tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from pyscheduler.engine.ports import AttemptRef
from pyscheduler.minder import notes
from pyscheduler.model.result import AttemptResult


class Keeper(Protocol):
    """The launcher, as far as a handle needs it."""

    def awake(self) -> object: ...

    def stop(self, handle: MinderHandle, by: str, reason: str, grace_s: float | None) -> None: ...


class MinderHandle:
    """One running attempt. `guardian` is who holds its lock, as far as known."""

    def __init__(self, keeper: Keeper, ref: AttemptRef) -> None:
        self.ref = ref
        self.guardian: notes.Proc | None = None
        self.stop_by: str | None = None
        self.stop_grace_s = ref.kill_grace_s
        self.nudged: asyncio.Event | None = None
        self._keeper = keeper
        self._pid: int | None = None
        self._remark = ""
        self._result: AttemptResult | None = None
        self._waiters: set[asyncio.Future[AttemptResult]] = set()
        self._listeners: list[Callable[[], None]] = []

    @property
    def pid(self) -> int | None:
        """The minder's pid, None where there is none (any more) or it is not known yet."""
        return self._pid

    @property
    def remark(self) -> str:
        """What an operator should know beside "running", or empty."""
        return self._remark

    @property
    def result(self) -> AttemptResult | None:
        """How it ended, None while it runs."""
        return self._result

    def watch(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop whenever `pid` or `remark` has changed."""
        self._listeners.append(listener)

    async def wait(self) -> AttemptResult:
        """Wait for the end. Cancelling the wait changes nothing for the attempt; waiting again is allowed."""
        if self._result is None:
            self._keeper.awake()
        while self._result is None:
            waiter: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                return await waiter
            finally:
                self._waiters.discard(waiter)
        return self._result

    def terminate(self, by: str, reason: str = "") -> None:
        """Order the whole tree to end: TERM, `kill_grace`, KILL. `by` is `kill`, `timeout` or `lease`."""
        self._stop(by, reason, None)

    def kill(self) -> None:
        """Order the attempt to end at once, without grace."""
        self._stop("kill", "", 0.0)

    def _stop(self, by: str, reason: str, grace_s: float | None) -> None:
        if self._result is not None:
            return
        self.stop_by = self.stop_by or by
        self.stop_grace_s = self.ref.kill_grace_s if grace_s is None else grace_s
        self._keeper.stop(self, by, reason, grace_s)
        self.nudge()

    def nudge(self) -> None:
        """Wake whoever follows this attempt."""
        if self.nudged is not None:
            self.nudged.set()

    def change(self, *, pid: int | None, remark: str = "", guardian: notes.Proc | None = None) -> None:
        """Take in what was learnt, and tell the listeners if it is news to them."""
        self.guardian = guardian
        if (pid, remark) == (self._pid, self._remark):
            return
        self._pid, self._remark = pid, remark
        for listener in self._listeners:
            listener()

    def settle(self, result: AttemptResult) -> None:
        """It has ended, and this is how."""
        if self._result is not None:
            return
        self._result = result
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(result)
        self.nudge()
