"""Starting attempts: one nursery at a time, orders to it, and what it reports.

Every report is a hint about something that stands in a file first. So a lost nursery costs nothing but a look:
launches under way give the same order to the next nursery, where the file takes one minder only, and running
attempts are followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from pyscheduler.engine.minding.handle import MinderHandle
from pyscheduler.engine.minding.link import Link, Report
from pyscheduler.engine.minding.results import result_of
from pyscheduler.minder import crash, notes

LAUNCH_S: Final = 10.0
"""After this long without a word `launch` looks for itself."""
TRIES: Final = 3
"""Nurseries that one order is given to."""

_log = logging.getLogger(__name__)


class _Pending:
    """A launch that waits for word: a report, or None where its nursery was lost."""

    __slots__ = ("answer", "handle")

    def __init__(self, handle: MinderHandle, answer: asyncio.Future[Report | None]) -> None:
        self.handle, self.answer = handle, answer

    def tell(self, report: Report | None) -> None:
        if not self.answer.done():
            self.answer.set_result(report)


class Starter:
    """Sends orders and keeps the handles that the nursery reports on. `follow` takes over those it cannot keep."""

    def __init__(self, python: str, env: Mapping[str, str], follow: Callable[[MinderHandle], None]) -> None:
        self._python, self._env, self._follow = python, env, follow
        self._link: Link | None = None
        self._pending: dict[str, _Pending] = {}
        self._live: dict[str, MinderHandle] = {}

    def live(self, key: str) -> MinderHandle | None:
        """Return the handle of an attempt whose nursery reports to us."""
        return self._live.get(key)

    def bind(self) -> None:
        """Go on on the running loop."""
        self._pending.clear()
        if self._link is not None:
            self._link.bind(asyncio.get_running_loop())

    def prepare(self) -> None:
        """Have a nursery that waits for orders. Raises LaunchError, OSError where none can be started."""
        self._linked(asyncio.get_running_loop())

    def close(self) -> None:
        """Send no more orders."""
        if self._link is not None:
            self._link.close()
            self._link = None

    async def order(self, handle: MinderHandle, payload: bytes) -> Report | None:
        """Return the report that answers the order; None where there is none within 10 s, or no nursery takes it.

        LaunchError, OSError where no nursery can be started.
        """
        until = asyncio.get_running_loop().time() + LAUNCH_S
        for _ in range(TRIES):
            report = await self._ask(handle, payload, until)
            if report is not None or asyncio.get_running_loop().time() >= until:
                return report
        return None

    async def _ask(self, handle: MinderHandle, payload: bytes, until: float) -> Report | None:
        loop = asyncio.get_running_loop()
        link = self._linked(loop)
        pending = self._pending[handle.ref.key] = _Pending(handle, loop.create_future())
        timer = loop.call_at(until, pending.tell, None)
        try:
            if not link.send(payload):
                return None
            crash.point("launch.sent")
            return await pending.answer
        finally:
            timer.cancel()
            self._pending.pop(handle.ref.key, None)

    def _linked(self, loop: asyncio.AbstractEventLoop) -> Link:
        if self._link is None or not self._link.open:
            self._link = Link(self._python, self._env, self._hear, self._lose)
            self._link.bind(loop)
        return self._link

    # ---------------------------------------------------------------- reports

    def _hear(self, report: Report) -> None:
        if report["r"] == "crashed":
            _log.error("process %s of the minders' room failed:\n%s", report["pid"], report["text"])
            return
        key = str(report["key"])
        pending = self._pending.get(key)
        handle = self._live.get(key) or (pending.handle if pending is not None else None)
        if handle is not None:
            self._apply(handle, report)
        if pending is not None:
            pending.tell(report)

    def _apply(self, handle: MinderHandle, report: Report) -> None:
        """Take in what a report says of an attempt of ours."""
        match report:
            case {"r": "started", "pid": int(pid), "start_ticks": int(ticks)}:
                self._live[handle.ref.key] = handle
                handle.change(pid=pid, guardian=notes.Proc(pid, ticks))
            case {"r": "guardian", "pid": int(pid), "start_ticks": int(ticks), "job": job}:
                remark = f"minder gone, the nursery guards process {job}" if job else "minder gone"
                handle.change(pid=None, guardian=notes.Proc(pid, ticks), remark=remark)
            case {"r": "undying", "job": job}:
                remark = f"process {job} does not die: KILL was sent"
                handle.change(pid=handle.pid, guardian=handle.guardian, remark=remark)
            case {"r": "unwritten", "why": why}:
                remark = f"it has ended, and its note {handle.ref.status_path} cannot be written yet: {why}"
                handle.change(pid=handle.pid, guardian=handle.guardian, remark=remark)
            case {"r": "ended", "note": dict(note)}:
                self._live.pop(handle.ref.key, None)
                handle.settle(result_of(note))
            case {"r": "ended" | "refused" | "failed"}:
                if self._live.pop(handle.ref.key, None) is not None or report["r"] == "ended":
                    self._follow(handle)

    def _lose(self, link: Link) -> None:
        """Go on without that nursery: nobody waits for it, and what it reported on is followed."""
        if self._link is link:
            self._link = None
        for pending in list(self._pending.values()):
            pending.tell(None)
        handles, self._live = list(self._live.values()), {}
        for handle in handles:
            self._follow(handle)
