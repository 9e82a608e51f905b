"""The service's own log: nobody waits for whoever reads it, and what is dropped is said."""

from __future__ import annotations

import logging
import queue

import pytest

from pyscheduler.service.logs import _Dropping, _Tame


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


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("/ä", "/ä"),
        ("/x\n2027-05-20T00:00:00.000Z CRITICAL forged", "/x\n  2027-05-20T00:00:00.000Z CRITICAL forged"),
        ("/x\r\x85\u2028\x00", "/x\\r\\x85\\u2028\\x00"),
        ("\x1b]8;;http://evil\x1b\\ \u202egnp", "\\x1b]8;;http://evil\\x1b\\ \\u202egnp"),
    ],
)
def test_what_was_typed_passes_for_no_line_and_moves_no_terminal(typed: str, written: str) -> None:
    """A path that a stranger asked for stands in the log: only what we say begins a line, and nothing is obeyed."""
    assert _Tame("%(levelname)s %(message)s").format(record(typed)) == f"INFO {written}"
