r"""Until when a node's word holds, for minders whose job must not outlive it (`on_uncertain: stop`). DESIGN 6.

`<state_dir>/leases/<incarnation>`: one block, written over at each confirmed heartbeat, so that a full disk does not
stop it, and not synced, because no minder outlives a boot: `DEADLINE DEADLINE\n`, padded with blanks. A deadline is
seconds of CLOCK_BOOTTIME, counted from before the heartbeat was sent, the margin taken off (claims.md C3, T). Valid if
and only if both are the same number: who reads while it is written sees two and looks again.

`<status>.lease`: a symbolic link to the file of whoever owns the attempt, made before the attempt's order is sent and
put in its place anew by whoever adopts it. So whatever becomes of the owner, its word is looked up in one step.

A file that is not there, or not valid, is nobody's word: it vouches for nothing. That is also what makes it safe to
remove an old one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

FOLDER = "leases"
LINK = ".lease"
BLOCK_BYTES = 64
LOOKS = 5
"""How often a block that is being written is looked at."""
REASON = "its node could not renew its lease"
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def link_path(status: str) -> str:
    """Return the path of the attempt's link."""
    return status + LINK


def boot_now() -> float:
    """Return the clock that deadlines are told by, in seconds."""
    return time.clock_gettime(CLOCK)


def write(path: str, until: float) -> None:
    """Say that our word holds until then. OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(fd, block(until), 0)
    finally:
        os.close(fd)


def read(path: str) -> float | None:
    """Return until when the word holds, None where nobody vouches."""
    for _ in range(LOOKS):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            found = parse(os.pread(fd, BLOCK_BYTES, 0))
        except OSError:
            return None
        finally:
            os.close(fd)
        if found is not None:
            return found
    return None


def parse(data: bytes) -> float | None:
    """Return the deadline of a valid block."""
    try:
        first, second = (float(word) for word in data.split())
    except ValueError:
        return None
    return first if first == second else None


def block(until: float) -> bytes:
    number = f"{until:020.3f}"  # of one width, so that of two that are mixed at most one is whole
    return f"{number} {number}".encode().ljust(BLOCK_BYTES - 1) + b"\n"


def bind(status: str, path: str) -> None:
    """Let the attempt hang on the word in that file, in one step. OSError."""
    fresh = link_path(status) + ".new"
    try:
        os.unlink(fresh)
    except FileNotFoundError:
        pass  # none was left by a crash
    os.symlink(path, fresh)
    os.rename(fresh, link_path(status))


def bind_again(status: str, path: str) -> bool:
    """Let an attempt that hangs on another's word hang on this one; False where it hangs on nobody's. OSError."""
    if not os.path.lexists(link_path(status)):
        return False
    bind(status, path)
    return True


class Term:
    """When an attempt is to end for want of a word: looked up when the one that is known has run out, never before.

    `look_up` returns until when the word holds now, None where there is none; `until` is what it last said.
    """

    __slots__ = ("_look_up", "is_over", "until")

    def __init__(self, look_up: Callable[[], float | None]) -> None:
        self._look_up = look_up
        self.until: float | None = None
        self.is_over = False

    def look(self, now: float) -> bool:
        """Whether it is over at this instant of the boot clock; once over it stays so."""
        if not self.is_over and (self.until is None or now >= self.until):
            self.until = self._look_up()
            self.is_over = is_over(self.until, now)
        return self.is_over


def is_over(until: float | None, now: float) -> bool:
    """Whether a word that holds until then, None for none, vouches no more. The rule: in doubt it does not."""
    return until is None or not now < until
