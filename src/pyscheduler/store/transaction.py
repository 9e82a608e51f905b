"""One write transaction: what may be said in it, on any database; and SQLite's: BEGIN IMMEDIATE, the work, COMMIT, and
what is known when one of the three fails.

BEGIN IMMEDIATE takes the write lock at the start, because a transaction that reads first and then wants to write
fails at once with SQLITE_BUSY_SNAPSHOT, busy timeout or not (field case FC-054). A lock held by another program is
waited for and the whole transaction tried again, TRIES times in all; nothing else is. An error from COMMIT itself is
neither success nor failure: the log may hold the commit and bring it back at the next opening, so it is reported as
unknown (FC-090).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, is_busy, translated
from pyscheduler.store.hints import Hint
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Statement

T = TypeVar("T")

TRIES: Final = 2
"""With the driver's own wait of BUSY_S for each: ten seconds before a lock becomes a failure."""


class Transaction(Protocol):
    """One transaction under way. Raises whatever the driver raises; who began it makes the family's errors of that."""

    def rows(self, statement: Statement, **values: object) -> list[Row]:
        """Run a statement and return the rows that it gives (a query, or RETURNING)."""
        ...

    def change(self, statement: Statement, **values: object) -> int:
        """Run a statement and return how many rows it touched."""
        ...

    def each(self, statement: Statement, many: Sequence[Mapping[str, object]]) -> list[list[Row]]:
        """Run a statement once for each of many values, in their order, and return each one's rows."""
        ...

    def put(self, statement: Statement, table: Sequence[Row]) -> None:
        """Run a statement for each row of a table, whose values stand in the order of its parameters."""
        ...

    def storable(self, row: Row) -> Row:
        """Return the row, whose text is UTF-8, with text that this database can hold."""
        ...

    def hint(self, hint: Hint) -> None:
        """Let whoever waits for that look at the store, once this transaction is committed (`store/hints.py`)."""
        ...


class SqliteTransaction:
    """What is done between BEGIN and COMMIT of a file."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, statement: Statement, **values: object) -> list[Row]:
        return self._connection.execute(statement.sql, statement.bind(**values)).fetchall()

    def change(self, statement: Statement, **values: object) -> int:
        return self._connection.execute(statement.sql, statement.bind(**values)).rowcount

    def each(self, statement: Statement, many: Sequence[Mapping[str, object]]) -> list[list[Row]]:
        return [self.rows(statement, **values) for values in many]

    def put(self, statement: Statement, table: Sequence[Row]) -> None:
        if len(table) == 1:
            self._connection.execute(statement.sql, table[0])
        else:
            self._connection.executemany(statement.sql, table)

    def storable(self, row: Row) -> Row:
        return row

    def hint(self, hint: Hint) -> None:
        """Nobody listens to a file."""


def transact(connection: Connection, work: Callable[[Connection], T], path: Path) -> T:
    """Do the work in one transaction that is durable on return.

    Raises StoreError with `outcome_unknown` where COMMIT failed; anything else means that nothing was changed.
    """
    for left in reversed(range(TRIES)):
        try:
            connection.execute("BEGIN IMMEDIATE")
            done = work(connection)
        except BaseException as error:
            _roll_back(connection)
            if not isinstance(error, DRIVER_ERRORS):
                raise
            if left and is_busy(error):
                continue
            raise translated(error, path) from error
        try:
            connection.execute("COMMIT")
        except DRIVER_ERRORS as error:
            _roll_back(connection)
            if left and is_busy(error):
                continue
            raise translated(error, path, committing=not is_busy(error)) from error
        return done
    raise AssertionError("the last try returns or raises")


def _roll_back(connection: Connection) -> None:
    """Leave the transaction, unless SQLite has done so by itself, as it does after a full disk or an IO error."""
    if connection.in_transaction:
        with suppress(*DRIVER_ERRORS):
            connection.execute("ROLLBACK")
