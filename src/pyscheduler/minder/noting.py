"""Putting a note in its place: whole or not at all, and on disk before anybody acts on it.

Write to the block, cut to size, sync, rename, sync the folder. Each step may fail and is then done again from where it
stopped; nothing here waits. Source: DESIGN 4, "The note".
"""

from __future__ import annotations

import errno
import os

from . import crash, notes


class NoteWriter:
    """The place of one attempt's note. `block` is the descriptor of its reserved room, None where it is yet to open."""

    def __init__(self, status: str, block: int | None) -> None:
        self._status, self._block = status, block
        self._renamed = False

    def put(self, note: dict[str, object]) -> None:
        """Put the note there. OSError where the disk refuses; call again later."""
        if not self._renamed:
            self._write(notes.line(note))
        folder = os.open(os.path.dirname(self._status), os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self.close()
        crash.point("note.durable")

    def close(self) -> None:
        """Give the room up, written or not."""
        if self._block is not None:
            os.close(self._block)
            self._block = None

    def _write(self, data: bytes) -> None:
        path = notes.block_path(self._status)
        if self._block is None:
            self._block = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.pwrite(self._block, data, 0) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(self._block, len(data))
        crash.point("note.written")
        os.fsync(self._block)
        crash.point("note.synced")
        os.rename(path, self._status)
        self._renamed = True
        crash.point("note.renamed")
