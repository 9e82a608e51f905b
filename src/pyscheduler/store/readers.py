"""Reading while somebody writes: a few read-only connections, each snapshot one short transaction.

In WAL mode a reader neither waits for the writer nor holds it up, but while its transaction lasts the log cannot be
cut: so a snapshot is closed after SNAPSHOT_S at the latest, by SQLite's progress handler. A read that is cut off is
tried once more, since the pages it brought in are in memory now; then it fails. Long reads are made of many
snapshots.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from sqlalchemy import event
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from pyscheduler.errors import BadRequest, StoreUnavailable
from pyscheduler.store import driver
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, is_interrupted, translated
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Statement

T = TypeVar("T")

SNAPSHOT_S: Final = 1.0
READERS: Final = 8
"""Connections at most; a ninth reader waits its turn, PATIENCE_S at most."""
PATIENCE_S: Final = 10.0
_LOOK_EVERY: Final = 20_000
"""Steps of SQLite's machine between two looks at the clock: about a millisecond."""


class Snapshot:
    """What the store held at one instant, for the length of one transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, statement: Statement, **values: object) -> list[Row]:
        """Return every row; the statement bounds how many there can be."""
        found: list[Row] = self._execute(statement, values).fetchall()
        return found

    def row(self, statement: Statement, **values: object) -> Row | None:
        """Return the first row, or None."""
        found: Row | None = self._execute(statement, values).fetchone()
        return found

    def value(self, statement: Statement, **values: object) -> Any:
        """Return the first column of the first row, or None."""
        found = self.row(statement, **values)
        return None if found is None else found[0]

    def _execute(self, statement: Statement, values: dict[str, object]) -> Any:
        return self._connection.execute(statement.sql, statement.bind(**values))


class Read(Protocol):
    """Answers from one snapshot: `Store`'s way to its readers, which long reads call piece by piece."""

    def __call__(self, work: Callable[[Snapshot], T], /) -> T: ...


class _Deadline:
    """When the present snapshot of one connection is over, on the monotonic clock."""

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = float("inf")

    def passed(self) -> int:
        return int(time.monotonic() > self.until)


class Readers:
    """The read-only connections of one store; safe to use from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._closed = False
        self._pool = QueuePool(
            lambda: cast("Any", driver.open_reader(path)),
            pool_size=READERS,
            max_overflow=0,
            timeout=PATIENCE_S,
            use_lifo=True,
            reset_on_return=None,
        )
        event.listen(self._pool, "connect", _watch_the_clock)

    def read(self, work: Callable[[Snapshot], T]) -> T:
        """Answer from one snapshot. Raises StoreError; what `work` itself raises passes through."""
        for left in (1, 0):
            try:
                return self._once(work)
            except DRIVER_ERRORS as error:
                if not (left and is_interrupted(error)):
                    raise translated(error, self._path) from error
            except UnicodeEncodeError as error:
                raise BadRequest(f"{error.object!r} is no text that could be stored") from None
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the idle connections; one that is still reading is closed when it comes back."""
        self._closed = True
        self._pool.dispose()

    def _once(self, work: Callable[[Snapshot], T]) -> T:
        lent = self._borrow()
        connection: Connection = lent.dbapi_connection  # type: ignore[assignment]
        deadline: _Deadline = lent.info["deadline"]
        try:
            deadline.until = time.monotonic() + SNAPSHOT_S
            connection.execute("BEGIN")
            return work(Snapshot(connection))
        finally:
            deadline.until = float("inf")
            if connection.in_transaction:
                with suppress(*DRIVER_ERRORS):
                    connection.execute("ROLLBACK")
            if self._closed:
                lent.invalidate()
            lent.close()

    def _borrow(self) -> PoolProxiedConnection:
        if self._closed:
            raise StoreUnavailable("the store is closed", where=str(self._path))
        try:
            return self._pool.connect()
        except PoolTimeoutError:
            what = f"all {READERS} readers have been busy for {PATIENCE_S:.0f} s"
            raise StoreUnavailable(what, where=str(self._path), mend="ask again later") from None


def _watch_the_clock(connection: Any, record: Any) -> None:
    record.info["deadline"] = deadline = _Deadline()
    connection.set_progress_handler(deadline.passed, _LOOK_EVERY)
