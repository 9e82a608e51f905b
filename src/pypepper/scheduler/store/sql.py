"""Job stores in SQL: SQLite in a file, PostgreSQL, MySQL and MariaDB. Spec: pipeline.md 13.

Whatever a broken connection interrupts is made once more on a fresh one; for a put, `doubt.py` says what then counts.
Only when the server cannot be reached again does the caller hear of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, CursorResult, delete, select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import StaticPool

from pypepper.common.log import log
from pypepper.scheduler.store.doubt import put_through_a_break
from pypepper.scheduler.store.engines import make_engine
from pypepper.scheduler.store.grouped import Answer, Grouped
from pypepper.scheduler.store.interfaces import IJobStore, JobRecord
from pypepper.scheduler.store.rows import to_record, to_row
from pypepper.scheduler.store.statements import FOUND, INSERT, UPDATE, UPSERTS, update_values, upsert_values
from pypepper.scheduler.store.tables import TABLE_NAME, prepare, scheduler_jobs

__all__ = ["TABLE_NAME", "SqlJobStore", "scheduler_jobs"]

T = TypeVar("T")

_TRIES: Final = 5
"""How often a statement is made that the server itself ended to resolve a deadlock."""
_DUPLICATE: Final = 1062
_DEADLOCKS: Final = frozenset({1205, 1213})
"""MySQL: the key is taken; lock wait timeout, deadlock found."""


class SqlJobStore(IJobStore):
    """Records in the table `scheduler_jobs`; the table is made, or brought up to date, at construction.

    `uri`, or for a server `host port username (or user) password db` and `sslmode` (postgres) or `charset` (mysql),
    or for sqlite `db`, a file. Raises ValueError for settings that are not enough, else what the database says.
    """

    def __init__(self, backend: str, **settings: Any) -> None:
        self.backend = backend
        self.engine = make_engine(backend, **settings)
        prepare(self.engine)
        self._upsert = UPSERTS.get(self.engine.dialect.name)
        self._one_put = Grouped(self._write).put if self.engine.dialect.name == "sqlite" else self._put

    def put(self, record: JobRecord) -> bool:
        """Insert or update; see IJobStore.put. A record that lacks what must not be null counts as skipped."""
        try:
            return put_through_a_break(record, self._one_put, self.get, _broke)
        except IntegrityError as error:
            log.error(f"job {record.id} was not saved, its record breaks a rule of the table: {error.orig}")
            return False

    def get(self, job_id: str) -> JobRecord | None:
        """Return the record of a job, or None."""
        row = self._ask(lambda connection: connection.execute(FOUND, {"job_id": job_id}).mappings().first())
        return None if row is None else to_record(dict(row))

    def list(self, channel_id: str | None = None) -> builtins.list[JobRecord]:
        """Return all records, or one channel's, in the database's order."""
        wanted = select(scheduler_jobs)
        if channel_id is not None:
            wanted = wanted.where(scheduler_jobs.c.channel_id == channel_id)
        rows = self._ask(lambda connection: connection.execute(wanted).mappings().all())
        return [to_record(dict(row)) for row in rows]

    def delete(self, job_id: str) -> None:
        """Forget one job; an unknown id is fine."""
        self._ask(lambda connection: connection.execute(delete(scheduler_jobs).where(scheduler_jobs.c.id == job_id)))

    def clear(self) -> None:
        """Forget all jobs."""
        self._ask(lambda connection: connection.execute(delete(scheduler_jobs)))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self.engine.dispose()

    def _put(self, record: JobRecord) -> bool:
        with self.engine.connect() as connection:
            if self._upsert is not None:
                return _changed(connection.execute(self._upsert, upsert_values(record)))
            return _update_or_insert(connection, record)

    def _write(self, records: builtins.list[JobRecord]) -> builtins.list[Answer]:
        """Put what waits, as one transaction where it is more than one record and the connection is ours alone."""
        with self.engine.connect() as connection:
            if len(records) == 1 or isinstance(self.engine.pool, StaticPool):
                return [self._answer(connection, record) for record in records]
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                answers = [self._answer(connection, record) for record in records]
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                connection.invalidate()  # it may stand in a transaction; SQLite undoes what a closed one left
                raise
            return answers

    def _answer(self, connection: Connection, record: JobRecord) -> Answer:
        """Put one record of several: what is wrong with it alone is its own answer, trouble with the file is not."""
        assert self._upsert is not None
        try:
            return _changed(connection.execute(self._upsert, upsert_values(record)))
        except OperationalError:
            raise
        except Exception as error:  # noqa: BLE001 — handed to the caller whose record it is
            return error

    def _ask(self, question: Callable[[Connection], T]) -> T:
        try:
            with self.engine.connect() as connection:
                return question(connection)
        except DBAPIError as error:
            if not _broke(error):
                raise
        with self.engine.connect() as connection:
            return question(connection)


def _broke(error: Exception) -> bool:
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _code(error: DBAPIError) -> object:
    """Return MySQL's number for an error, or what another driver says first."""
    return next(iter(getattr(error.orig, "args", ())), None)


def _changed(result: CursorResult[Any]) -> bool:
    return result.rowcount == 1


def _update_or_insert(connection: Connection, record: JobRecord) -> bool:
    """Update under the condition, else insert, else (somebody inserted meanwhile) update under the condition."""
    values = update_values(record)
    if _changed(_unless_deadlocked(lambda: connection.execute(UPDATE, values))):
        return True
    try:
        return _changed(_unless_deadlocked(lambda: connection.execute(INSERT, to_row(record))))
    except IntegrityError as error:
        if _code(error) != _DUPLICATE:
            raise
        return _changed(_unless_deadlocked(lambda: connection.execute(UPDATE, values)))


def _unless_deadlocked(statement: Callable[[], T]) -> T:
    """Make a statement again when the server ended it to resolve a deadlock: it has changed nothing then."""
    for _ in range(_TRIES - 1):
        try:
            return statement()
        except OperationalError as error:
            if _broke(error) or _code(error) not in _DEADLOCKS:
                raise
    return statement()
