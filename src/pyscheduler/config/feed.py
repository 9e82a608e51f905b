"""A text handed to libyaml piece by piece, so that a value without end is stopped while it is being read."""

from __future__ import annotations

from typing import Final

from pyscheduler.config.tree import TreeError

MAX_GAP: Final = 1 << 20
"""Bytes without the end of a value: more is a heap of blanks, or one value that would be refused anyway."""


class Feed:
    """Hands libyaml the bytes piece by piece, and stops where a value does not end."""

    name = ""

    def __init__(self, data: bytes) -> None:
        # How far libyaml has been given the bytes, now and at its last event.
        self._data, self.at, self.mark = data, 0, 0

    def read(self, size: int = -1, /) -> bytes:
        if self.at - self.mark > MAX_GAP:
            line = self._data.count(b"\n", 0, self.mark) + 1
            raise TreeError(line, 0, f"more than {MAX_GAP >> 20} MiB from here on without the end of a value or key")
        piece = self._data[self.at : self.at + size]
        self.at += len(piece)
        return piece
