"""One nursery process and our socket to it: orders out, reports in, never a wait.

A link is given up, not mended: when the nursery ends, or does not take an order within 5 s, the launcher opens
another. Giving up closes our end and kills nobody; what the old nursery has in hand it finishes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pyscheduler import minder
from pyscheduler.engine import machine
from pyscheduler.errors import LaunchError
from pyscheduler.minder import ears, frames, kernel

NURSERY: Final = str(Path(minder.__file__).with_name("nursery.py"))
TAKE_S: Final = 5.0
"""How long a nursery may leave an order in the socket."""
ALL_SIGNALS: Final = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
READ: Final = 64 * 1024
"""Reports read in one turn of the loop: some four hundred."""
QUEUE_MAX: Final = 64 * frames.FRAME_MAX
"""Bytes of orders that wait for the socket; 5 s later the link is given up anyway."""

Report = dict[str, object]
_log = logging.getLogger(__name__)
_unburied: set[int] = set()
"""Nurseries whose link was given up: they end when their last attempt has, and are looked at each second until then."""
BURY_S: Final = 1.0


class Link:
    """The nursery `pid`. `hear` gets its reports, `lost` is called once when there will be no more."""

    def __init__(
        self, python: str, env: Mapping[str, str], hear: Callable[[Report], None], lost: Callable[[Link], None]
    ) -> None:
        self._hear, self._lost = hear, lost
        self._in = frames.Reader()
        self._sent = self._taken = 0
        self._sent_at: deque[float] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing = False
        self._tick: asyncio.TimerHandle | None = None
        self.open = True
        bury()
        self.pid, self._fd = _spawn(python, env)
        self._out = frames.Writer(self._fd, QUEUE_MAX)
        self._forgotten = weakref.finalize(self, _let_go, self._fd, self.pid)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen on this loop from now on."""
        self._loop, self._writing, self._tick = loop, False, None
        loop.add_reader(self._fd, self._read)
        self._flush()

    def send(self, payload: bytes) -> bool:
        """Hand an order over, now or as soon as the socket takes it; False where too much is waiting already."""
        if not self.open or not self._out.put(frames.frame(payload)):
            return False
        self._sent += 1
        if self._loop is not None:
            self._sent_at.append(self._loop.time())
            if self._tick is None:
                self._tick = self._loop.call_later(TAKE_S, self._check)
        self._flush()
        return True

    def close(self) -> None:
        """Give the nursery up without a word to anybody: it takes no more orders and ends after its last attempt."""
        if not self.open:
            return
        self.open = False
        if self._tick is not None:
            self._tick.cancel()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
        self._forgotten()
        _bury_on(self._loop)

    def _give_up(self, why: str) -> None:
        if self.open:
            _log.warning("nursery %d: %s; another takes its place", self.pid, why)
            self.close()
            self._lost(self)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._give_up("it has ended")
            return
        try:
            reports: list[Report] = [json.loads(payload) for payload in self._in.feed(data)]
        except ValueError as error:
            self._give_up(f"what it says makes no sense ({error})")
            return
        for report in reports:
            if report["r"] == "taken":
                self._take(report["n"])
            else:
                self._hear(report)

    def _take(self, count: object) -> None:
        while isinstance(count, int) and self._taken < count and self._sent_at:
            self._taken += 1
            self._sent_at.popleft()

    def _check(self) -> None:
        """Look whether the oldest order has been taken in time."""
        self._tick = None
        if self._loop is None or not self._sent_at:
            return
        rest = self._sent_at[0] + TAKE_S - self._loop.time()
        if rest <= 0:
            self._give_up("it takes no orders")
        else:
            self._tick = self._loop.call_later(rest, self._check)

    def _flush(self) -> None:
        if self._loop is None:
            return
        try:
            done = self._out.flush()
        except OSError:
            self._loop.call_soon(self._give_up, "it has ended")
            return
        if done and self._writing:
            self._loop.remove_writer(self._fd)
        elif not done and not self._writing:
            self._loop.add_writer(self._fd, self._flush)
        self._writing = not done


def _let_go(fd: int, pid: int) -> None:
    """Close our end: by hand, or because the launcher was dropped without a word, as after the end of its loop."""
    os.close(fd)
    _unburied.add(pid)


def _bury_on(loop: asyncio.AbstractEventLoop | None) -> None:
    """Reap what has ended, now and each second until all have, as long as this loop lives."""
    bury()
    if _unburied and loop is not None and not loop.is_closed():
        loop.call_later(BURY_S, _bury_on, loop)


def bury() -> None:
    """Reap the nurseries that have ended meanwhile."""
    for pid in list(_unburied):
        if kernel.reap(pid) or kernel.start_ticks(pid) is None:
            _unburied.discard(pid)
            machine.children_of_ours.discard(pid)


def _spawn(python: str, env: Mapping[str, str]) -> tuple[int, int]:
    """Start a nursery; return its pid and our end of its socket. LaunchError, OSError where the system refuses."""
    ours, theirs = socket.socketpair()
    files = machine.inherited_files
    argv = [python, "-I", "-S", "-E", NURSERY, *([str(files)] if files is not None else [])]
    actions = (
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    )
    with theirs:
        try:
            pid = os.posix_spawn(
                python,
                argv,
                dict(env),
                file_actions=actions,
                setsid=True,
                setsigmask=ears.BLOCKED,
                setsigdef=ALL_SIGNALS,
            )
        except OSError as error:
            ours.close()
            raise LaunchError(
                f"the nursery cannot be started: {error.strerror}", where=python, mend="see `pysched doctor`"
            ) from error
    machine.children_of_ours.add(pid)
    ours.setblocking(False)
    return pid, ours.detach()
