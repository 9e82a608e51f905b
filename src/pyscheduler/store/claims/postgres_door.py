"""The door to a store on a server, for many hosts. Spec: claims.md C1, C3; DESIGN 6.

What must always hold: a connection serves one transaction at a time and is never lent out of this door, so that the
heartbeat's door waits for nobody; a connection that was lost is not used again; the tables are looked at once, with the
first connection, and made or brought up to date then (by one scheduler of all that start at once).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.dialects import POSTGRESQL
from pyscheduler.store.postgres import connect, migrate
from pyscheduler.store.postgres.connect import Connection
from pyscheduler.store.postgres.transaction import transact

T = TypeVar("T")

IDLE: Final = 4
"""Connections that are kept for the next write; more are opened when more write at once, and closed after."""
STATEMENT_S: Final = 5.0


class PostgresDoor:
    """A few connections of its own. Safe to use from any thread; not over a fork."""

    dialect = POSTGRESQL

    def __init__(self, url: str, *, name: str = "pysched claims", statement_s: float | None = None) -> None:
        """Take the address; nothing is connected before the first write. Raises StoreError where it cannot be read."""
        self._address = connect.address_of(url)
        self._name, self._statement_s = name, statement_s or STATEMENT_S
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._is_prepared = False
        self._closed = False

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is durable on return. Raises StoreError."""
        connection = self._borrow()
        try:
            return transact(connection, work, self._address.shown)
        finally:
            self._give_back(connection)

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do work that is one statement, without BEGIN and COMMIT around it. Raises StoreError."""
        connection = self._borrow()
        try:
            return transact(connection, work, self._address.shown, alone=True)
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close what is idle; a connection in use is closed when it comes back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _borrow(self) -> Connection:
        with self._guard:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        connection = connect.open_writer(self._address, name=self._name, statement_s=self._statement_s)
        if not self._is_prepared:
            try:
                migrate.prepare(connection, self._address.shown, may_make=True)
            except BaseException:
                connection.close()
                raise
            self._is_prepared = True
        return connection

    def _give_back(self, connection: Connection) -> None:
        is_lost = connection.closed or connection.broken
        with self._guard:
            if not (is_lost or self._closed) and len(self._idle) < IDLE:
                self._idle.append(connection)
                return
            # one that was lost tells of the others: each would cost an error of its own after a server's restart
            done, self._idle = [connection, *(self._idle if is_lost else ())], [] if is_lost else self._idle
        for each in done:
            each.close()
