"""The nursery's line to its launcher: orders in, reports out, never a wait.

How many orders were read is said too, so that the launcher can tell a nursery that sleeps from one that is slow; that
word travels with the next report, or alone after ACK_S. Reports that find no room are dropped: the files say it all.
"""

from __future__ import annotations

import os
import select

from . import crash, frames
from .ears import Ears

READ = 64 * 1024
ACK_S = 0.5


class Line:
    """Our end of the launcher's socket. `open` is False once the launcher is gone or no more orders are wanted."""

    def __init__(self, fd: int, ears: Ears) -> None:
        self._fd, self._ears = fd, ears
        self._in, self._out = frames.Reader(), frames.Writer(fd)
        self._blocked = False
        self._read = 0
        self.due: float | None = None
        self.open = True
        ears.also(fd)

    @property
    def fd(self) -> int | None:
        """The descriptor, None once closed."""
        return self._fd if self.open else None

    def orders(self, room: int, now: float) -> list[frames.Order]:
        """Return the orders that have come, reading on only while there is room for more. Closes itself at the end."""
        found: list[frames.Order] = []
        while self.open and len(found) < room:
            try:
                data = os.read(self._fd, READ)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                self.close()
                break
            for payload in self._in.feed(data):
                found.append(frames.Order(payload))
                self._read += 1
                crash.point("nursery.taken")
            if len(data) < READ:
                break
        if self.open:  # nobody is there to be told any more: a due that nothing can meet would never let us sleep
            self.due = self.due or now + ACK_S
        return found

    def close(self) -> None:
        """Hear and say nothing more."""
        if self.open:
            self._ears.forget(self._fd)
            os.close(self._fd)
            self.open = False
            self.due = None

    def tell(self, kind: str, **fields: object) -> None:
        """Report, if anybody is there."""
        self.report(frames.report(kind, **fields))

    def report(self, data: bytes) -> None:
        """Pass a report on as it came, and how many orders were read before it."""
        if not self.open:
            return
        if self.due is not None:
            self.due = None
            self._out.put(frames.report("taken", n=self._read))
        self._out.put(data)

    def flush(self, now: float) -> bool:
        """Send what there is; False where that showed that the launcher is gone."""
        if self.due is not None and now >= self.due:
            self.report(b"")
        if not self.open or not self._out.waiting:
            return True
        try:
            blocked = not self._out.flush()
        except OSError:
            self.close()
            return False
        if blocked != self._blocked:
            self._blocked = blocked
            self._ears.also(self._fd, select.POLLIN | (select.POLLOUT if blocked else 0))
        return True
