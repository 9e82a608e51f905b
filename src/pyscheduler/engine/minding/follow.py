"""Follow an attempt that reports nothing to us: adopted after a restart, or left by a dead nursery.

One task an attempt. It sleeps until the guardian's pidfd rings, until the launcher's round sees a note, until
somebody nudges it, or for 2 s where nothing rings. Where no guardian is left it ends the job itself when told to,
process by process, each checked by its start ticks; and when the last of them is gone the attempt is lost, because
nobody could read its exit code.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final

from pyscheduler.engine.minding import sight
from pyscheduler.engine.minding.handle import MinderHandle
from pyscheduler.engine.ports import AttemptRef
from pyscheduler.minder import kernel, notes
from pyscheduler.model.result import AttemptResult

LOOK_S: Final = 2.0
ENDING_LOOK_S: Final = 0.2
CLAIM_LOOK_S: Final = 0.05
BREATH_S: Final = 0.01
"""Between being woken and looking: what ended is let fall to whoever takes over."""
ZOMBIE_S: Final = 10.0
"""How long a job that is only a zombie, with nobody of ours to read its code, may still be called running."""

Look = Callable[[AttemptRef], Awaitable[sight.Sight]]


class Follower:
    """Follows one handle to its end."""

    def __init__(self, handle: MinderHandle, look: Look) -> None:
        self._handle, self._look = handle, look
        self._loop = asyncio.get_running_loop()
        self._kill_at: float | None = None
        self._zombie_until: float | None = None

    async def run(self, seen: sight.Sight | None) -> None:
        """Follow from what was seen, None: look first."""
        handle = self._handle
        handle.nudged = asyncio.Event()
        while handle.result is None:
            seen = seen or await self._look(handle.ref)
            await self._act(seen)
            seen = None

    async def _act(self, seen: sight.Sight) -> None:
        """Take in one sight and wait for a reason to look again."""
        handle = self._handle
        match seen:
            case sight.Noted(result):
                handle.settle(result)
            case sight.Nothing(reason) | sight.Gone(reason):
                handle.settle(AttemptResult(lost=reason, stopped_by=handle.stop_by))
            case sight.Guarded(guardian, identity):
                pid = guardian.pid if guardian is not None and seen.by_minder else None
                handle.change(pid=pid, guardian=guardian, remark=_guarded_remark(identity, by_minder=seen.by_minder))
                await self._pause(guardian, _patience(seen))
            case sight.Owed():
                handle.change(pid=None, remark="minder gone, its nursery owes a note")
                await self._pause(None, LOOK_S)
            case sight.Bare(processes, zombies):
                await self._mind(processes, zombies=zombies)

    # ---------------------------------------------------------------- without a guardian

    async def _mind(self, processes: tuple[kernel.Stat, ...], *, zombies: bool) -> None:
        """Stand in for the guardian as far as anybody can: signal, wait, and own up at the end."""
        first = processes[0]
        self._handle.change(pid=None, remark=f"minder gone, process {first.pid} still runs")
        ends = None if zombies else first.proc
        if zombies:
            now = self._loop.time()
            self._zombie_until = self._zombie_until or now + ZOMBIE_S
            if now >= self._zombie_until:
                self._handle.settle(AttemptResult(lost=sight.UNKNOWN, stopped_by=self._handle.stop_by))
                return
        elif self._stop_ordered():
            self._signal(processes)
        await self._pause(ends, ENDING_LOOK_S if self._kill_at is not None else LOOK_S)

    def _stop_ordered(self) -> bool:
        """Whether this attempt is to end, by an order of ours or of an earlier engine."""
        handle = self._handle
        if handle.stop_by is None:
            order = notes.read_stop(os.fspath(handle.ref.status_path), handle.ref.key)
            if order is None:
                return False
            handle.stop_by = str(order.get("by"))
        return True

    def _signal(self, processes: tuple[kernel.Stat, ...]) -> None:
        """TERM first, KILL at each look once the grace is over."""
        now, told = self._loop.time(), self._kill_at is not None
        self._kill_at = min(self._kill_at or math.inf, now + self._handle.stop_grace_s)
        if now < self._kill_at and told:
            return
        for one in processes:
            kernel.send(one.proc, signal.SIGTERM if now < self._kill_at else signal.SIGKILL)

    # ---------------------------------------------------------------- waiting

    async def _pause(self, proc: notes.Proc | None, seconds: float | None) -> None:
        """Wait until that process ends, somebody nudges, or the time is over."""
        nudged = self._handle.nudged
        assert nudged is not None
        nudged.clear()
        fd = _pidfd(proc)
        if fd is None and proc is not None:
            seconds = LOOK_S if seconds is None else min(seconds, LOOK_S)
        try:
            if fd is not None:
                self._loop.add_reader(fd, nudged.set)
            async with asyncio.timeout(seconds):
                await nudged.wait()
        except TimeoutError:
            return
        else:
            await asyncio.sleep(BREATH_S)
        finally:
            if fd is not None:
                self._loop.remove_reader(fd)
                os.close(fd)


def _guarded_remark(identity: notes.Identity | None, *, by_minder: bool) -> str:
    if identity is None:
        return ""
    if identity.undying is not None:
        return f"process {identity.undying} does not die: KILL was sent"
    if by_minder or identity.job is None:
        return ""
    return f"minder gone, the nursery guards process {identity.job.pid}"


def _patience(seen: sight.Guarded) -> float | None:
    """Return how long to sleep beside a guardian: it may still be writing its name, or be one that rings no bell."""
    if seen.guardian is None:
        return CLAIM_LOOK_S
    return None if seen.by_minder and not kernel.NO_PIDFD else LOOK_S


def _pidfd(proc: notes.Proc | None) -> int | None:
    """Open a process so that its end wakes us; None where it cannot be, or is another one by now."""
    if proc is None or kernel.NO_PIDFD:
        return None
    try:
        fd = os.pidfd_open(proc.pid)
    except OSError:
        return None
    if kernel.start_ticks(proc.pid) == proc.start_ticks:
        return fd
    os.close(fd)
    return None
