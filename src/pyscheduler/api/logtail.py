"""Logs as they grow: one look a second at each log that somebody follows, whoever many follow it.

A tail belongs to one (run, attempt, stream) and lives while it has readers. It reads at most 64 KiB a look, on a helper
thread, in whole lines, and hands the same bytes to all of them. What must always hold:

- a reader gets the last 200 whole lines before the place where the tail stood when it came, then everything the tail
  reads from there on: no line twice, none left out, unless a `reset` says so;
- `reset` means "throw away what you show": the file was cut, or so much was written that following it line by line
  would never catch up, or the reader is too slow. Lines follow;
- whether the attempt has ended is asked before the file is read: so `end` comes only when all of it was read.

Spec: jobs.md 13.6. Field case FC-046.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyscheduler.api import logfile
from pyscheduler.api.answers import list_pieces
from pyscheduler.api.callers import Caller
from pyscheduler.api.streams import Reader
from pyscheduler.errors import Forbidden, NotFound, PyschedError, Unavailable
from pyscheduler.model.run import Attempt

if TYPE_CHECKING:
    from pyscheduler.api.desk import FrontDesk

log = logging.getLogger(__name__)

FIRST_LINES: Final = 200
LOOK_S: Final = 1.0
BUSY_LOOK_S: Final = 0.05
"""Between two looks while there is more to read: 1.3 MB a second."""
FAR_BEHIND: Final = 4 * 1024 * 1024
"""Bytes not read yet that are passed over rather than followed."""
UNSENT_BYTES: Final = 1024 * 1024

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Key = tuple[str, int, str]


@dataclass(eq=False, slots=True)
class Tail:
    """One log that is followed. `at` is where the next look begins; None before the first one."""

    key: Key
    path: str
    readers: set[Reader] = field(default_factory=set)
    at: int | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class LogTails:
    """The logs that are followed at present."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk = desk
        self._tails: dict[Key, Tail] = {}
        self._tail_of: dict[Reader, Tail] = {}

    def __len__(self) -> int:
        return len(self._tails)

    def join(self, attempt: Attempt, stream: str, path: str, who: Caller) -> Reader:
        """Return a new reader of a log; it begins with `beginning`. Raises TooMany, Unavailable."""
        reader = self._desk.streams.open(who, most=UNSENT_BYTES)
        key = (attempt.run_id, attempt.attempt, stream)
        tail = self._tails.get(key)
        if tail is None:
            tail = self._tails[key] = Tail(key, path)
            tail.task = asyncio.get_running_loop().create_task(self._follow(tail), name=f"tail of {path}")
        self._tail_of[reader] = tail
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader; a log without any is followed no longer. Harmless when it is gone."""
        self._desk.streams.close(reader)
        tail = self._tail_of.pop(reader, None)
        if tail is None:
            return
        tail.readers.discard(reader)
        if not any(other is tail for other in self._tail_of.values()):
            self._forget(tail)

    def _forget(self, tail: Tail) -> None:
        if self._tails.get(tail.key) is tail:
            del self._tails[tail.key]
        if tail.task is not None:
            tail.task.cancel()

    async def beginning(self, reader: Reader) -> bytes:
        """Return the first lines that a reader sees; from here on it hears what the tail reads."""
        tail = self._tail_of[reader]
        await tail.begun.wait()
        tail.readers.add(reader)
        try:
            found = await self._desk.threads(logfile.lines_before, tail.path, tail.at, FIRST_LINES)
        except PyschedError:
            return b""  # there is no log yet, or no more: the tail says which
        return await self._desk.threads(_lines, found.lines)

    # ----------------------------------------------------------------- following

    async def _follow(self, tail: Tail) -> None:
        try:
            while True:
                next_look = await self._look(tail)
                if isinstance(next_look, str):
                    self._end(tail, next_look)
                    return
                await asyncio.sleep(next_look)
        except Exception as error:
            log.exception("%s can be followed no longer", tail.path)
            self._end(tail, f"the log can be followed no longer: {type(error).__name__}")
        finally:
            tail.begun.set()
            if self._tails.get(tail.key) is tail:
                del self._tails[tail.key]

    async def _look(self, tail: Tail) -> float | str:
        """Read on; returns the seconds until the next look, after the last one what is to be said, mostly nothing."""
        ended = await self._has_ended(tail)
        if ended is None:
            return LOOK_S
        try:
            if tail.at is None:
                return await self._begin(tail)
            found = await self._desk.threads(logfile.lines_from, tail.path, tail.at, ended=ended)
            if found.size - found.end > FAR_BEHIND:
                return await self._jump(tail)
        except Unavailable:
            return LOOK_S
        except NotFound:
            return self._absent(tail, ended=ended)
        except Forbidden as error:
            return error.what
        except OSError as error:
            return f"the log cannot be read: {os.strerror(error.errno or 0)}"
        if found.size < tail.at:
            tail.at = 0
            self._tell(tail, _event("reset", {}))
            return BUSY_LOOK_S
        tail.at = found.end
        if found.lines:
            self._tell(tail, _lines(found.lines))
        if found.end < found.size and (found.lines or ended):
            return BUSY_LOOK_S
        return "" if ended else LOOK_S

    async def _begin(self, tail: Tail) -> float:
        """Find where the log's unread part begins."""
        found = await self._desk.threads(logfile.lines_before, tail.path, None, 1)
        tail.at = found.end
        tail.begun.set()
        return BUSY_LOOK_S

    async def _jump(self, tail: Tail) -> float:
        """Pass over what would take too long to follow."""
        found = await self._desk.threads(logfile.lines_before, tail.path, None, FIRST_LINES)
        lines = await self._desk.threads(_lines, found.lines)
        tail.at = found.end
        self._tell(tail, _event("reset", {}) + lines)
        return LOOK_S

    def _absent(self, tail: Tail, *, ended: bool) -> float | str:
        """There is no file: not yet, or no more."""
        if not ended:
            tail.at = tail.at or 0
            tail.begun.set()
            return LOOK_S
        return "there is no log: its file was removed, moved, or never written"

    async def _has_ended(self, tail: Tail) -> bool | None:
        """Return whether the attempt writes no more, None where nobody can tell at present."""
        run_id, number, _ = tail.key
        try:
            rows = await self._desk.ask(lambda store: store.attempts(run_id))
        except PyschedError:
            return None
        row = next((row for row in rows if row.attempt == number), None)
        return row is None or row.outcome is not None

    # ----------------------------------------------------------------- telling

    def _tell(self, tail: Tail, data: bytes) -> None:
        for reader in tail.readers:
            if not reader.offer(data, len(data)):
                reader.replace(_event("reset", {}) + data)

    def _end(self, tail: Tail, message: str = "") -> None:
        """Tell every reader that nothing more will come."""
        data = _event("end", {"message": message} if message else {})
        for reader in [reader for reader, its in self._tail_of.items() if its is tail]:
            reader.offer(data, 0)
            reader.end()


def _event(kind: str, data: object) -> bytes:
    return f"event: {kind}\ndata: {_encode(data)}\n\n".encode("utf-8", "replace")


def _lines(lines: list[str]) -> bytes:
    """Return lines as an event. The first ones may be megabytes: then for a helper thread."""
    return f"event: lines\ndata: {''.join(list_pieces(lines))}\n\n".encode("utf-8", "replace")
