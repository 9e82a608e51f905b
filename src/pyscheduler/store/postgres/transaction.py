"""One write transaction on PostgreSQL: BEGIN, the work and COMMIT in one pipeline, and what is known when it fails.

The isolation is said: READ COMMITTED, in which each statement sees what was committed before it, and a row that another
transaction holds is waited for (`lock_timeout`) and then judged as it has become. The whole transaction is done again
where another was in the way: TRIES times in all where a lock was held too long, since each has waited already,
AT_ONCE_TRIES times where the server has ended one of two that waited for each other. Nothing else is tried again.

In a pipeline statements are sent without waiting for each answer; what `work` asks for is waited for. An error of the
server leaves out everything behind it, COMMIT too: so while the connection lives nothing was changed. Where it is lost
after COMMIT was handed to the driver nobody knows: that is reported as unknown (field case FC-090).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from pyscheduler.store import rows
from pyscheduler.store.dialects import POSTGRESQL
from pyscheduler.store.hints import Hint
from pyscheduler.store.postgres.connect import Connection
from pyscheduler.store.postgres.faults import is_busy, is_lock_held, is_lost, is_no_text, translated
from pyscheduler.store.postgres.listener import notify
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Statement

T = TypeVar("T")

TRIES: Final = 2
AT_ONCE_TRIES: Final = 5
BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"


class PostgresTransaction:
    """What is done between BEGIN and COMMIT (`store/transaction.py`)."""

    __slots__ = ("_connection", "hints")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.hints = set[Hint]()

    def rows(self, statement: Statement, **values: object) -> list[Row]:
        return self._run(statement, values).fetchall()

    def change(self, statement: Statement, **values: object) -> int:
        cursor = self._run(statement, values)
        with suppress(psycopg.ProgrammingError):  # nothing to fetch: but in a pipeline asking is what waits
            cursor.fetchone()
        return cursor.rowcount

    def each(self, statement: Statement, many: Sequence[Mapping[str, object]]) -> list[list[Row]]:
        if not many:
            return []
        text = statement.on(POSTGRESQL)
        cursor = self._connection.cursor()
        cursor.executemany(text.sql, [text.bind(**values) for values in many], returning=True)
        return [found.fetchall() for found in cursor.results()]

    def put(self, statement: Statement, table: Sequence[Row]) -> None:
        sql = statement.on(POSTGRESQL).sql
        if len(table) == 1:
            self._connection.execute(sql, table[0])
        elif table:
            self._connection.cursor().executemany(sql, table)

    def storable(self, row: Row) -> Row:
        return rows.without_nul(row)

    def hint(self, hint: Hint) -> None:
        self.hints.add(hint)

    def _run(self, statement: Statement, values: Mapping[str, object]) -> psycopg.Cursor[Any]:
        text = statement.on(POSTGRESQL)
        return self._connection.execute(text.sql, text.bind(**values))


class PostgresStatement(PostgresTransaction):
    """One statement, which is a transaction by itself."""

    __slots__ = ("_is_said",)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._is_said = False

    def _run(self, statement: Statement, values: Mapping[str, object]) -> psycopg.Cursor[Any]:
        assert not self._is_said, "what is more than one statement needs a transaction"
        self._is_said = True
        return super()._run(statement, values)


def transact(connection: Connection, work: Callable[[PostgresTransaction], T], where: str, *, alone: bool = False) -> T:
    """Do the work in one transaction that is durable on return; `alone`: it is one statement, and BEGIN is not said.

    Raises StoreError, with `outcome_unknown` where the connection was lost at COMMIT, UnicodeEncodeError for text that
    cannot be held, and what `work` itself raises. But for an unknown outcome nothing was changed.
    """
    for tried in range(1, AT_ONCE_TRIES + 1):
        committing = False
        try:
            if alone:
                committing = True
                return work(PostgresStatement(connection))
            with _pipeline(connection):
                connection.execute(BEGIN)
                transaction = PostgresTransaction(connection)
                done = work(transaction)
                notify(connection, transaction.hints)
                committing = True
                connection.execute("COMMIT")
        except BaseException as error:
            _roll_back(connection)
            if is_no_text(error) and not isinstance(error, UnicodeEncodeError):
                raise UnicodeEncodeError("postgresql", "", 0, 0, str(error)) from error
            if not isinstance(error, psycopg.Error):
                raise
            lost = is_lost(connection)
            if not lost and is_busy(error) and tried < (TRIES if is_lock_held(error) else AT_ONCE_TRIES):
                continue
            raise translated(error, where, committing=committing and lost) from error
        return done
    raise AssertionError("the last try returns or raises")


def _pipeline(connection: Connection) -> Any:
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


def _roll_back(connection: Connection) -> None:
    """Leave the transaction; a connection that cannot say whether it has is of no use any more."""
    with suppress(psycopg.Error):
        if connection.info.transaction_status is not TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        connection.close()
