"""Where a log's bytes come out: as they are into a pipe or a file, as text that can be read on a terminal.

On a terminal what is no UTF-8 is shown as U+FFFD, one for each bad sequence, and a character that is split between two
pieces is shown whole. Field case FC-048.
"""

from __future__ import annotations

import codecs
import sys
from typing import BinaryIO, Protocol

from pyscheduler.cli.terminal import Terminal


class Spout(Protocol):
    """Takes the bytes of a log."""

    def __call__(self, data: bytes) -> None:
        """Let the next bytes out."""
        ...

    def end(self) -> None:
        """Let out what was kept back; something else is printed next."""
        ...


class Raw:
    """Passes bytes on as they are."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def __call__(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()

    def end(self) -> None:
        """Nothing is kept back."""


class Shown:
    """Shows bytes on a terminal: bad UTF-8 as U+FFFD, and a line's end before anything else is printed."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._in_line = False

    def __call__(self, data: bytes) -> None:
        self._show(self._decoder.decode(data))

    def end(self) -> None:
        """Show what was kept back in the hope of the rest of a character, and end the line."""
        self._show(self._decoder.decode(b"", final=True))
        if self._in_line:
            self._show("\n")

    def _show(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._in_line = not text.endswith("\n")


def spout(terminal: Terminal) -> Spout:
    """Return the one for stdout, which is a terminal where it has a width."""
    if terminal.width is None:
        return Raw(sys.stdout.buffer)
    return Shown()
