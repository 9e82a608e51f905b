"""The service's own log: nobody waits for whoever reads it, and what is dropped is said."""

from __future__ import annotations

import logging
import queue

from pyscheduler.service.logs import _Dropping


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, __file__, 1, text, (), None)


def test_what_does_not_fit_is_dropped_and_counted() -> None:
    """A full queue keeps nobody waiting; the next line that fits is preceded by how many did not."""
    lines: queue.Queue[logging.LogRecord] = queue.Queue(2)
    handler = _Dropping(lines)
    for number in range(5):
        handler.enqueue(record(f"line {number}"))
    assert [lines.get_nowait().getMessage() for _ in range(2)] == ["line 0", "line 1"]
    handler.enqueue(record("later"))
    told = [lines.get_nowait().getMessage() for _ in range(2)]
    assert told == ["3 lines of this log were dropped: nobody read it fast enough", "later"]
    handler.enqueue(record("last"))
    assert lines.get_nowait().getMessage() == "last"
