"""Reads a run's log from the scheduler piece by piece, and follows it as it grows.

Only pieces are ever held in memory, so a log of a gigabyte is no matter. Following goes on from attempt to attempt
until the run has ended. Whether an attempt has ended is asked before its log is read: what had ended by then has
written all it will. A log that has become shorter was cut or replaced: it is read again from its beginning.
Spec: jobs.md 13.4; field case FC-046.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyscheduler.cli.act import result_line
from pyscheduler.cli.asking import View
from pyscheduler.cli.client import Client, segment
from pyscheduler.cli.faults import CommandError, Refused
from pyscheduler.cli.spout import Spout
from pyscheduler.model.run import FINAL_STATES

PIECE: Final = 64 * 1024
SOON_S: Final = 0.1
LATER_S: Final = 1.0
"""How long to wait before looking again: soon after something came, up to LATER_S while nothing does."""
TRIES: Final = 3
"""How often a log is begun that is cut while it is read."""


@dataclass
class Reader:
    """Copies one stream of one run's attempts to the output. `start` is the offset of the next byte to read."""

    client: Client
    run_id: str
    stream: str
    write: Spout
    start: int = 0

    def copy(self, attempt: int | None) -> int:
        """Write all there is from `start` on; returns how much there was. Raises Refused."""
        copied = 0
        while piece := self._piece(attempt):
            self.write(piece)
            self.start += len(piece)
            copied += len(piece)
        return copied

    def _piece(self, attempt: int | None) -> bytes:
        data, headers = self.client.raw(
            self.path, stream=self.stream, attempt=attempt, raw=1, offset=self.start, limit=PIECE
        )
        if int(headers.get("x-log-size", self.start)) < self.start:
            raise _Shorter
        return data

    @property
    def path(self) -> str:
        """The route of the run's log."""
        return f"/api/runs/{segment(self.run_id)}/log"

    def look(self, attempt: int | None) -> View:
        """Return how the attempt and its run stand. Raises Refused."""
        asked: View = self.client.get(self.path, stream=self.stream, attempt=attempt, offset=self.start, limit=1)
        return asked


class _Shorter(Exception):
    """The log is shorter than what was read of it."""


def copy_once(reader: Reader, attempt: int | None, tail: int | None, tell: Callable[[str], None]) -> None:
    """Write what an attempt's log holds now, or its last `tail` lines; `attempt` None: of the latest one.

    That one stays the same though another begins meanwhile; a log that is cut is begun again. Raises Refused,
    CommandError.
    """
    number = int(reader.look(None)["attempt"]) if attempt is None else attempt
    for _ in range(TRIES):
        reader.start = start_of_tail(reader, number, tail) if tail else 0
        try:
            reader.copy(number)
        except _Shorter:
            tell("--- the log was cut; once more:")
        else:
            return
    raise CommandError("the log is cut again and again while it is read", mend="`pysched log --follow` goes on with it")


def start_of_tail(reader: Reader, attempt: int | None, lines: int) -> int:
    """Return the offset at which the last `lines` lines begin."""
    tail: Any = reader.client.get(reader.path, stream=reader.stream, attempt=attempt, tail=lines)
    if not tail["truncated"]:
        return 0
    size: int = tail["size"]
    return _begin_of_lines(reader, attempt, size, len(tail["lines"]))


def _begin_of_lines(reader: Reader, attempt: int | None, size: int, lines: int) -> int:
    """Look for line ends from `size` backwards, a piece at a time."""
    end, found = size, -1  # the last line's own end is none before it
    while end > 0:
        begin = max(0, end - PIECE)
        data, _ = reader.client.raw(
            reader.path, stream=reader.stream, attempt=attempt, raw=1, offset=begin, limit=end - begin
        )
        at = len(data)
        if end == size and data and not data.endswith(b"\n"):
            found = 0
        while (at := data.rfind(b"\n", 0, at)) >= 0:
            found += 1
            if found >= lines:
                return begin + at + 1
        end = begin
    return 0


class Follower:
    """Follows a run's log from attempt to attempt."""

    def __init__(
        self, reader: Reader, tell: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._reader, self._tell_line, self._sleep = reader, tell, sleep
        self._nap_s = SOON_S

    def follow(self, tail: int | None) -> None:
        """Return when the run has ended and all it wrote is printed."""
        attempt = self._first_attempt()
        if attempt is not None and tail:
            self._reader.start = self._start_of_tail(attempt, tail)
        while attempt is not None:
            attempt = self._follow_attempt(attempt)
        self._reader.write.end()
        run = self._run()
        self._tell(result_line(run))

    def _start_of_tail(self, attempt: int, tail: int) -> int:
        try:
            return start_of_tail(self._reader, attempt, tail)
        except Refused as error:
            if error.status != 404:
                raise  # the attempt has begun, and its log need not be there yet
        return 0

    def _run(self) -> View:
        run: View = self._reader.client.get(f"/api/runs/{segment(self._reader.run_id)}")["run"]
        return run

    def _first_attempt(self) -> int | None:
        """Return the latest attempt's number, waiting for a first one; None where the run ended without any."""
        told = ""
        while not (run := self._run())["attempt"]:
            if run["state"] in FINAL_STATES:
                return None
            if run["reason"] != told:
                told = run["reason"]
                self._tell(result_line(run))
            self._nap()
        return int(run["attempt"])

    def _follow_attempt(self, attempt: int) -> int | None:
        """Print an attempt to its end; returns the number of the next one, None where none will come."""
        while True:
            standing = self._standing(attempt)  # before the copying: what ended by then has written all it will
            if self._copy(attempt):
                self._nap_s = SOON_S
            elif standing["ended"]:
                if standing["latest_attempt"] > attempt:
                    return self._begin(attempt + 1)
                if standing["state"] in FINAL_STATES:
                    return None
            self._nap()

    def _begin(self, attempt: int) -> int:
        self._reader.write.end()
        self._tell(f"attempt {attempt} of {self._reader.run_id}:")
        self._reader.start, self._nap_s = 0, SOON_S
        return attempt

    def _standing(self, attempt: int) -> View:
        try:
            return self._reader.look(attempt)
        except Refused as error:
            if error.status != 404:
                raise
            run = self._run()
            ended = run["attempt"] > attempt or run["state"] != "running"
            return {"ended": ended, "latest_attempt": run["attempt"], "state": run["state"]}

    def _copy(self, attempt: int) -> int:
        try:
            return self._reader.copy(attempt)
        except _Shorter:
            self._tell("the log was cut; from its beginning:")
            self._reader.start = 0
        except Refused as error:
            if error.status != 404:
                raise  # the file need not be there yet, or any more
        return 0

    def _tell(self, remark: str) -> None:
        self._tell_line(f"--- {remark}")

    def _nap(self) -> None:
        self._sleep(self._nap_s)
        self._nap_s = min(self._nap_s * 2, LATER_S)
