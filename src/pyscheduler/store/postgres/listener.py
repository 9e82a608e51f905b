"""LISTEN and NOTIFY: how hints (`store/hints.py`) travel on PostgreSQL.

Each store has a channel of its own, named by its schema; the payload is the hint's word. One connection of a process
listens, in a thread, and is never asked anything else. What must always hold: its loss costs nothing but promptness. It
is connected again after a pause that grows; until then `listening` is False, and whoever waits looks by himself.
"""

from __future__ import annotations

import logging
import os
import selectors
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from typing import Final

import psycopg

from pyscheduler.errors import StoreError
from pyscheduler.store.hints import EVERY, Heard, Hint
from pyscheduler.store.postgres.connect import Address, Connection, address_of, open_writer

log = logging.getLogger(__name__)

_CHANNEL: Final = "'pysched_' || hashtext(current_schema())"
_ASK_CHANNEL: Final = f"SELECT {_CHANNEL}"
_NOTIFY: Final = f"SELECT pg_notify({_CHANNEL}, said) FROM unnest(%s::text[]) AS said"  # noqa: S608 - constants alone
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
STATEMENT_S: Final = 5.0
END_S: Final = 1.0


def notify(connection: Connection, hints: Iterable[Hint]) -> None:
    """Say these hints with the transaction that is open: whoever listens hears them after its commit, or never."""
    if said := sorted(hints):
        connection.execute(_NOTIFY, [[hint.value for hint in said]])


class Listener:
    """The ear of one process. Safe to use from any thread; begins to listen when it is made."""

    def __init__(self, url: str, *, name: str = "pysched hints") -> None:
        """Take the address. Raises StoreError where it cannot be read; whether the server is there shows later."""
        self._address, self._name = address_of(url), name
        self._guard = threading.Lock()
        self._heard: list[Heard] = []
        self._is_over = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        self._is_done = self.listening = False
        self._thread = threading.Thread(target=self._run, name="pysched-hints", daemon=True)
        self._thread.start()

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        """See `Hints`."""
        with self._guard:
            self._heard.append(heard)
            is_late = self.listening
        if is_late:
            heard(EVERY)

        def leave() -> None:
            with self._guard, suppress(ValueError):
                self._heard.remove(heard)

        return leave

    def close(self) -> None:
        """Listen no more. A try to connect that is under way is not waited for: it ends by itself, and tells nobody."""
        with self._guard:
            self._heard.clear()
            if not self._is_over.is_set() and not self._is_done:
                os.write(self._wake_write, b"x")
            self._is_over.set()
        if self._thread is not threading.current_thread():
            self._thread.join(END_S)

    def _run(self) -> None:
        try:
            self._keep_listening()
        finally:
            with self._guard:
                self._is_done = True
                for end in (self._wake_read, self._wake_write):
                    os.close(end)

    def _keep_listening(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._is_over.is_set():
            try:
                with closing(_open(self._address, self._name)) as connection:
                    pause_s = FIRST_PAUSE_S
                    self._listen(connection)
            except (StoreError, psycopg.Error, OSError) as error:
                log.info("hints of the store are not heard at present: %s", error)
            finally:
                self.listening = False
            self._is_over.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _listen(self, connection: Connection) -> None:
        """Pass on what is heard until the end. Raises psycopg.Error where the connection is lost."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            self.listening = True
            self._tell(EVERY)
            while not self._is_over.is_set():
                selector.select()
                connection.pgconn.consume_input()
                self._tell(_words_of(connection))

    def _tell(self, hints: frozenset[Hint]) -> None:
        if not hints:
            return
        with self._guard:
            heard = tuple(self._heard)
        for each in heard:
            try:
                each(hints)
            except Exception:
                log.exception("a hint could not be passed on; the next look finds what it told of")


def _open(address: Address, name: str) -> Connection:
    """Return a connection that listens. Raises StoreError, psycopg.Error."""
    connection = open_writer(address, name=name, statement_s=STATEMENT_S)
    try:
        row = connection.execute(_ASK_CHANNEL).fetchone()
        assert row is not None
        connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(row[0])))
    except BaseException:
        connection.close()
        raise
    return connection


def _words_of(connection: Connection) -> frozenset[Hint]:
    """Return what has arrived. A word that a newer release says, and that we do not know, says nothing."""
    said: set[str] = set()
    while (found := connection.pgconn.notifies()) is not None:
        said.add(found.extra.decode("utf-8", "replace"))
    return frozenset(hint for hint in Hint if hint.value in said)
