"""Logs that are followed, looked at one look at a time: what a busy moment must not cost a reader."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.api import logfile, logtail
from pyscheduler.api.callers import Caller
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.logtail import LOOK_S, LogTails, Tail
from pyscheduler.api.streams import Reader
from pyscheduler.errors import Unavailable


@pytest.mark.parametrize("refused", [logfile.lines_before, logtail._lines])
async def test_a_jump_that_finds_no_thread_is_made_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Any
) -> None:
    """The stream goes on, and its place is moved only when the reader is told."""
    monkeypatch.setattr(logtail, "FAR_BEHIND", 1000)
    path = tmp_path / "log"
    path.write_text("line\n" * 40_000)
    refusals = [refused]

    async def threads(call: Any, *given: Any, **named: Any) -> Any:
        if call in refusals:
            refusals.remove(call)
            raise Unavailable("too many requests are waiting already")
        return call(*given, **named)

    async def ask(_question: Any) -> list[Any]:
        return [SimpleNamespace(attempt=1, outcome=None)]

    tails = LogTails(cast("FrontDesk", SimpleNamespace(threads=threads, ask=ask)))
    reader, tail = Reader(Caller("ann"), logtail.UNSENT_BYTES), Tail(("a.2026-10-19.1", 1, "stdout"), str(path), at=0)
    tail.readers.add(reader)
    assert (await tails._look(tail), tail.at) == (LOOK_S, 0)
    assert (await tails._look(tail), tail.at) == (LOOK_S, 200_000)
    told = await reader.take(1.0)
    assert told.startswith(b"event: reset")
    assert told.count(b'"line"') == logtail.FIRST_LINES
