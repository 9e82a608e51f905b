"""Reading from PostgreSQL: a few connections, each snapshot one short transaction that cannot change anything.

REPEATABLE READ gives a snapshot: all statements of one read see the same instant. A statement may take SNAPSHOT_S, and
is tried once more, since the pages it brought in are in memory now; then it fails. So does a read whose connection
turns out to be dead, on a new one: after a restart of the server nobody is told of connections that only lay there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from pyscheduler.errors import BadRequest, StoreUnavailable
from pyscheduler.store.dialects import POSTGRESQL
from pyscheduler.store.postgres.connect import Address, Connection, open_reader
from pyscheduler.store.postgres.faults import is_cut_off, is_lost, is_no_text, translated
from pyscheduler.store.readers import PATIENCE_S, READERS, SNAPSHOT_S, Snapshot
from pyscheduler.store.statements import Statement

T = TypeVar("T")

BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresSnapshot(Snapshot):
    """What the store held at one instant, asked for in PostgreSQL's words."""

    def _execute(self, statement: Statement, values: dict[str, object]) -> Any:
        text = statement.on(POSTGRESQL)
        return self._connection.execute(text.sql, text.bind(**values))


class PostgresReaders:
    """The reading connections of one store; safe to use from any thread."""

    def __init__(self, address: Address, *, name: str) -> None:
        self._address = address
        self._closed = False
        self._pool = QueuePool(
            lambda: cast("Any", open_reader(address, name=name, statement_s=SNAPSHOT_S)),
            pool_size=READERS,
            max_overflow=0,
            timeout=PATIENCE_S,
            use_lifo=True,
            reset_on_return=None,
        )

    def read(self, work: Callable[[Snapshot], T], *, alone: bool = False) -> T:
        """Answer from one snapshot. Raises StoreError; what `work` itself raises passes through.

        `alone`: the work is one statement, which has a snapshot of its own.
        """
        for left in (1, 0):
            lent = self._borrow()
            connection = cast("Connection", lent.dbapi_connection)
            try:
                if not alone:
                    connection.execute(BEGIN)
                return work(PostgresSnapshot(connection))
            except (psycopg.Error, UnicodeEncodeError) as error:
                if is_no_text(error) or isinstance(error, UnicodeEncodeError):
                    raise BadRequest("that is no text that could be stored") from None
                lost = is_lost(connection)
                if left and lost:
                    self._pool.dispose()  # the others lie as dead as this one
                elif not (left and is_cut_off(error)):
                    raise translated(error, self._address.shown) from error
            finally:
                self._give_back(lent, connection)
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the idle connections; one that is still reading is closed when it comes back."""
        self._closed = True
        self._pool.dispose()

    def _borrow(self) -> PoolProxiedConnection:
        if self._closed:
            raise StoreUnavailable("the store is closed", where=self._address.shown)
        try:
            return self._pool.connect()
        except PoolTimeoutError:
            what = f"all {READERS} readers have been busy for {PATIENCE_S:.0f} s"
            raise StoreUnavailable(what, where=self._address.shown, mend="ask again later") from None

    def _give_back(self, lent: PoolProxiedConnection, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status is not TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        if self._closed or connection.info.transaction_status is not TransactionStatus.IDLE:
            lent.invalidate()
        lent.close()
