"""The store in a PostgreSQL database: the same door as a file's, with the server's own means.

What must always hold besides what `store/store.py` says: while it is open, an advisory lock of the writer's session
tells that somebody decides by this store. Unless it is `shared`, it has one holder, and a second scheduler is refused;
those that share it agree by their claims, and keep out who does not. The lock goes with the session: so once it is had
again, whatever an old session has still sent is settled, and an unknown COMMIT can be read back. (Among those that
share it the authority's new epoch does the same: it waits for a transaction under the old one, and refuses a later.)

A writer whose connection is lost stays lost: in the meantime somebody else may have had the lock. Whoever needs the
store opens it again and reads it, as after every failure (DESIGN 3).

The state directory holds what belongs to this machine: the minders' files, and `generation` (`store/generation.py`).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final, Self, TypeVar

import psycopg

from pyscheduler.errors import StoreDamaged, StoreError, StoreLocked, StoreUnavailable
from pyscheduler.store import generation, schema
from pyscheduler.store.dialects import POSTGRESQL
from pyscheduler.store.faults import translated as translated_of_system
from pyscheduler.store.files import StoreFiles, Watch
from pyscheduler.store.postgres import migrate
from pyscheduler.store.postgres.connect import WRITE_S, Address, Connection, address_of, open_writer
from pyscheduler.store.postgres.faults import translated
from pyscheduler.store.postgres.readers import PostgresReaders
from pyscheduler.store.postgres.transaction import transact
from pyscheduler.store.postgres.words import NO_BACKUP
from pyscheduler.store.questions import StoreFacts
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.store import Store
from pyscheduler.store.transaction import Transaction

T = TypeVar("T")

LOCK_LOOK_S: Final = 0.1
"""How often a waiter looks whether the lock is free."""

_PLACE: Final = """
SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
  (SELECT oid FROM pg_database WHERE datname = current_database()), current_schema())
"""
_HOLDER: Final = f"""
SELECT application_name, coalesce(host(client_addr), 'the server itself') FROM pg_stat_activity
JOIN pg_locks USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint << 32) | objid::bigint = ({migrate.LOCK}) LIMIT 1
"""  # noqa: S608 - constants alone


class PostgresStore(Store):
    """The store on a server. Made by `Store.open`."""

    dialect = POSTGRESQL

    def __init__(self, files: StoreFiles, address: Address, writer: Connection, readers: PostgresReaders) -> None:
        super().__init__(files)
        self._address = address
        self._writer: Connection | None = writer
        self._readers = readers
        self._watch: Watch | None = None

    @classmethod
    def opened(
        cls, files: StoreFiles, url: str, *, sync: bool, wait_s: float, also: tuple[Path, ...], shared: bool
    ) -> Self:
        """Return the store, open. Raises what `Store.open` raises."""
        address, name = address_of(url), f"pysched {socket.gethostname()} {os.getpid()}"
        with ExitStack() as undo:
            writer = open_writer(address, name=name, statement_s=WRITE_S)
            undo.callback(writer.close)
            try:
                if not sync:
                    writer.execute("SET synchronous_commit = off")
                migrate.refuse_no_schema(writer, address.shown)
                _take_turn(writer, address, wait_s, shared=shared)
            except psycopg.Error as error:
                raise translated(error, address.shown) from error
            _prepare(writer, address, files)
            readers = PostgresReaders(address, name=name)
            undo.callback(readers.close)
            store = cls(files, address, writer, readers)
            try:
                store._watch = Watch((), also) if also else None
            except OSError as error:
                raise translated_of_system(error, files.state_dir) from error
            undo.pop_all()
        return store

    @property
    def where(self) -> str:
        """The server and database, without a password."""
        return self._address.shown

    def close(self) -> None:
        """Let go of the lock and close every connection."""
        with self._writing:
            connection, self._writer = self._writer, None
            if connection is None:
                return
            self._readers.close()
            with suppress(psycopg.Error):  # of a connection that is lost the server lets go by itself
                # said, and waited for: the server would notice a mere goodbye a moment later, when the next has come
                connection.execute("SELECT pg_advisory_unlock_all()")
            connection.close()

    # ----------------------------------------------------------------------- writing

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is durable on return."""
        with self._writing:
            done = transact(self._usable_writer(), work, self.where)
            self._look(committed=True)
            return done

    def tidy(self) -> None:
        """See that the server still answers, and that the locks' files are still ours. Raises StoreError."""
        with self._writing:
            connection = self._usable_writer()
            self._look()
            try:
                connection.execute("SELECT 1")
            except psycopg.Error as error:
                raise translated(error, self.where) from error

    def _usable_writer(self) -> Connection:
        if self._writer is None:
            raise StoreUnavailable("the store is closed", where=self.where)
        if self._writer.closed:
            raise StoreUnavailable("the connection to the server was lost", where=self.where, mend="open it again")
        return self._writer

    def _look(self, *, committed: bool = False) -> None:
        """Notice that a lock's file was moved: another scheduler may be at work in this state directory."""
        try:
            if self._watch is not None:
                self._watch.check()
        except StoreDamaged as error:
            error.outcome_unknown = committed
            raise
        except OSError as error:
            raise translated_of_system(error, self.state_dir, committing=committed) from error

    def _place(self) -> str:
        try:
            row = self._usable_writer().execute(_PLACE).fetchone()
        except psycopg.Error as error:
            raise translated(error, self.where) from error
        assert row is not None
        return str(row[0])

    # ----------------------------------------------------------------------- copies and facts

    def backup(self, target: Path) -> None:
        """Refuse: a server is backed up by its own tools."""
        raise StoreError(f"a store on a server is not copied to a file ({target})", where=self.where, mend=NO_BACKUP)

    def facts(self) -> StoreFacts:
        """Return what `pysched doctor` says about this store."""
        with self._writing:
            connection = self._usable_writer()
            try:
                row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            except psycopg.Error as error:
                raise translated(error, self.where) from error
            number = connection.info.parameter_status("server_version") or ""
        assert row is not None
        driver = f"psycopg {version('psycopg')}"
        return StoreFacts(driver, f"PostgreSQL {number.split()[0]}", True, schema.REVISION, int(row[0]), 0)

    def _read(self, work: Callable[[Snapshot], T], /) -> T:
        return self._readers.read(work)

    def _glance(self, work: Callable[[Snapshot], T], /) -> T:
        return self._readers.read(work, alone=True)


def _take_turn(writer: Connection, address: Address, wait_s: float, *, shared: bool) -> None:
    """Take the lock that says who decides, waiting up to `wait_s`. Raises StoreLocked."""
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    deadline = time.monotonic() + wait_s
    while True:
        row = writer.execute(f"SELECT {function}({migrate.LOCK})").fetchone()
        if row is not None and row[0]:
            return
        if time.monotonic() >= deadline:
            raise _refusal(writer, address)
        time.sleep(LOCK_LOOK_S)


def _refusal(writer: Connection, address: Address) -> StoreLocked:
    row = writer.execute(_HOLDER).fetchone()
    holder = f" ({row[0]}, from {row[1]})" if row is not None else ""
    what = f"another scheduler{holder} has this store open"
    return StoreLocked(what, where=address.shown, mend="stop it, or use another database")


def _prepare(writer: Connection, address: Address, files: StoreFiles) -> None:
    """Make the tables on the very first start, upgrade older ones; refuse what must not be taken for a store."""
    try:
        files.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        marked, _ = generation.read_file(files)
        migrate.prepare(writer, address.shown, may_make=not marked)
        if not marked:
            generation.write_file(files, 0)
    except OSError as error:
        raise translated_of_system(error, files.state_dir) from error
