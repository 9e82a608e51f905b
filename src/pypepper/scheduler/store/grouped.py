"""Group commit for a database with one writer at a time (SQLite): what waits together is synced together.

Each caller leaves a ticket and asks for the one pen. Whoever gets it writes every ticket that lies there, his own
among them, in one transaction; the others find theirs answered when the pen comes to them. One thread alone pays
nothing for it. A record that the table refuses spoils only its own ticket; a commit that fails is everybody's error.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pypepper.scheduler.store.interfaces import JobRecord

MOST: Final = 256
"""Tickets in one transaction, so that no other process waits long for the file."""


Answer = bool | Exception
"""What a put says, or raises."""


@dataclass(eq=False)
class Ticket:
    """One record that waits to be written, and what became of it."""

    record: JobRecord
    answer: Answer | None = None


class Grouped:
    """Puts through one pen; `write` is given what waits and returns an answer for each once all is on disk.

    An answer is read without the pen, so it is given to its ticket after `write` has returned, never before.
    """

    def __init__(self, write: Callable[[list[JobRecord]], list[Answer]]) -> None:
        self._write = write
        self._waiting: deque[Ticket] = deque()
        self._pen = threading.Lock()
        _all.add(self)

    def put(self, record: JobRecord) -> bool:
        """Return the answer for one record once it is written; raise what was raised for it."""
        ticket = Ticket(record)
        self._waiting.append(ticket)
        while ticket.answer is None:
            with self._pen:
                if ticket.answer is None:
                    self._write_some()
        if isinstance(ticket.answer, Exception):
            raise ticket.answer
        return ticket.answer

    def renew(self) -> None:
        """Begin anew in a forked child: the pen may have been in a hand that is not here, and so may the tickets."""
        self._pen = threading.Lock()
        self._waiting.clear()

    def _write_some(self) -> None:
        tickets = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        answers: list[Answer]
        try:
            answers = self._write([ticket.record for ticket in tickets])
        except Exception as error:  # noqa: BLE001 — handed to every caller whose record it concerns
            answers = [error] * len(tickets)
        for ticket, answer in zip(tickets, answers, strict=True):
            ticket.answer = answer


_all: Final[weakref.WeakSet[Grouped]] = weakref.WeakSet()


def _renew_all() -> None:
    for grouped in list(_all):
        grouped.renew()


os.register_at_fork(after_in_child=_renew_all)
