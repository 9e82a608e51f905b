"""Where a service's own log goes: lines `time level logger: message`, written by a thread of their own.

The loop never waits for a terminal, a pipe or a disk: lines pass through a queue of MOST lines. What does not fit is
dropped and counted, and the count is a line itself once there is room: a log that nobody reads must not stop jobs.

What others have typed gets into these lines: the path that a stranger asked for, the text of an error. So nothing that
follows a line break stands where a line begins, and what a terminal would obey is written as its escape.
"""

from __future__ import annotations

import logging
import queue
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from typing import Final

MOST: Final = 10_000
FORMAT: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"


class _Dropping(QueueHandler):
    """Puts lines into the queue, and counts those it has no room for."""

    def __init__(self, lines: queue.Queue[logging.LogRecord]) -> None:
        super().__init__(lines)
        self._dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue a line, or count it."""
        try:
            if self._dropped:
                self.queue.put_nowait(self._confession())
                self._dropped = 0
            self.queue.put_nowait(record)
        except queue.Full:
            self._dropped += 1

    def _confession(self) -> logging.LogRecord:
        what = "%d lines of this log were dropped: nobody read it fast enough"
        return logging.LogRecord(__name__, logging.WARNING, __file__, 0, what, (self._dropped,), None)


class _Tame(logging.Formatter):
    """Writes what belongs to one record so that it can be taken for no other, and does nothing to a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's lines, the first one alone at the margin."""
        return "\n  ".join(map(_visible, super().format(record).split("\n")))


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


@contextmanager
def logging_to(file: Path | None = None, level: str = "INFO") -> Iterator[None]:
    """Send the log of this process to a file, or to standard error, while the block runs. Raises OSError.

    The file is opened for append, mode 0640.
    """
    target = _open(file) if file is not None else logging.StreamHandler(sys.stderr)
    formatter = _Tame(FORMAT, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    target.setFormatter(formatter)
    lines: queue.Queue[logging.LogRecord] = queue.Queue(MOST)
    listener = QueueListener(lines, target)
    handler = _Dropping(lines)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        listener.stop()
        target.close()


def _open(file: Path) -> logging.Handler:
    file.touch(0o640)
    return logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
