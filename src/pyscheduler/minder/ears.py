"""Where a guardian waits: one poll for signals, descriptors and time. Nothing is missed between a look and a wait.

Signals stay blocked for life, from the nursery's exec on, and are read from a signalfd: none can arrive before somebody
is ready for it, none interrupts anything, and a forked minder, which inherits both, needs no set-up of its own. (The
handlers and enums of `signal` would cost each minder 200 kB of memory.) The job gets a clean mask.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys

CHLD, USR1, TERM, INT, HUP = (
    int(one) for one in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
)
BLOCKED = (CHLD, USR1, TERM, INT, HUP)
"""What a guardian hears; HUP it ignores. Everything else keeps its default."""

SIGSET_BYTES = 128
SIGINFO_BYTES = 128
READ_AT_ONCE = 32

_libc = ctypes.CDLL(None, use_errno=True)


class Ears:
    """One poll over a signalfd and whatever else is to be listened to."""

    def __init__(self, signals: int) -> None:
        self.signals = signals
        self._poll = select.poll()
        self._poll.register(signals, select.POLLIN)

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
        if self.signals not in ready:
            return set(), ready
        ready.discard(self.signals)
        return self._heard(), ready

    def _heard(self) -> set[int]:
        try:
            data = os.read(self.signals, READ_AT_ONCE * SIGINFO_BYTES)
        except BlockingIOError:  # somebody else who shares the descriptor was awake for the same signal of ours
            return set()
        return {int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), SIGINFO_BYTES)}


def open_signals() -> int:
    """Block what a guardian hears and return the descriptor to read it from. Once, in the nursery."""
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    mask = ctypes.create_string_buffer(SIGSET_BYTES)
    _libc.sigemptyset(mask)
    for signum in BLOCKED:
        _libc.sigaddset(mask, signum)
    fd: int = _libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return fd
