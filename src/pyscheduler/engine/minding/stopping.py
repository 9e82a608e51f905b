"""The order to stop: a file in its place first, then a signal that only means "look". DESIGN 4, "Stopping".

A guardian that somebody has stopped (SIGSTOP) is continued first, at each order anew.

The file is whole or absent, and a guardian looks at it by itself at every turn (after the identity, after the
spawn, after a takeover), so no instant is lost between two guardians. A disk too full for 150 bytes is tried again
each second, and the handle says so.
"""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import datetime
from typing import Final

from pyscheduler.engine.minding.handle import MinderHandle
from pyscheduler.engine.minding.hands import Hands
from pyscheduler.minder import crash, kernel, notes

RETRY_S: Final = 1.0
Order = dict[str, object]


class Stopper:
    """Writes orders to stop, the newest of each attempt, in the order they were given."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._orders: dict[str, Order] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def stop(self, handle: MinderHandle, by: str, reason: str, grace_s: float | None, at: datetime) -> None:
        """Order the end of an attempt. Returns at once."""
        key = handle.ref.key
        self._orders[key] = {"key": key, "by": by, "reason": reason, "at": at.isoformat(), "grace_s": grace_s}
        if key not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._deliver(handle))
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def close(self) -> None:
        """Write what was ordered, as far as the disk takes it within a second, and no more."""
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=RETRY_S)
        for task in tasks:
            task.cancel()

    async def _deliver(self, handle: MinderHandle) -> None:
        key = handle.ref.key
        while handle.result is None and (order := self._orders.pop(key, None)) is not None:
            try:
                await self._hands(notes.write_stop, os.fspath(handle.ref.status_path), order)
            except OSError as error:
                handle.change(
                    pid=handle.pid, guardian=handle.guardian, remark=f"cannot write the order to stop: {error}"
                )
                self._orders.setdefault(key, order)
                await asyncio.sleep(RETRY_S)
                continue
            crash.point("stop.written")
            if handle.guardian is not None:
                # A guardian that lies in SIGSTOP, put there by its own job, would hear nothing and keep no timeout.
                kernel.send(handle.guardian, signal.SIGCONT)
                kernel.send(handle.guardian, signal.SIGUSR1)
            handle.nudge()
        self._orders.pop(key, None)
