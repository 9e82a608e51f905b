"""Where a guardian waits: one poll for signals, descriptors and time. Nothing is missed between a look and a wait."""

from __future__ import annotations

import os
import select
import signal

HEARD = (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)
"""The signals a guardian acts on. SIGHUP is ignored, everything else keeps its default."""


def _heard(signum: int, frame: object) -> None:
    """Do nothing: the wake-up pipe carries the signal to where it is awaited."""


class Ears:
    """One poll and one pipe for signals. Blocked signals wait in the kernel until `open`."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)

    @property
    def fds(self) -> tuple[int, int]:
        """The pipe's two ends."""
        return self._read, self._write

    def open(self) -> None:
        """Start listening."""
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in HEARD:
            signal.signal(signum, _heard)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def also(self, fd: int, events: int = select.POLLIN) -> None:
        """Listen to a descriptor too, for these events from now on."""
        self._poll.register(fd, events)

    def forget(self, fd: int) -> None:
        """Listen to it no more."""
        self._poll.unregister(fd)

    def wait(self, until: float | None, now: float) -> tuple[set[int], set[int]]:
        """Return the signals heard and the descriptors ready; both are empty when the instant `until` has come.

        `until` and `now` are CLOCK_MONOTONIC seconds, `until` None waits for ever.
        """
        rest = None if until is None else max(0, int((until - now) * 1000) + 1)
        ready = {fd for fd, _ in self._poll.poll(rest)}
        if self._read not in ready:
            return set(), ready
        ready.discard(self._read)
        return set(os.read(self._read, 512)), ready


def hush() -> None:
    """Block what is heard, so that a fork loses none of it: the child unblocks it in `open`, the parent in `listen`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)


def listen() -> None:
    """End `hush`."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
