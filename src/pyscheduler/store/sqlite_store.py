"""The store in one file of the state directory: SQLite in WAL mode.

What must always hold besides what `store.py` says: one process has the store open (`store.lock`); and after damage was
seen nothing more is written, and the log is left as it is. The parts: `opening.py`, `transaction.py`, `readers.py`,
`files.py`, `driver.py`, `faults.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self, TypeVar

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable
from pyscheduler.store import backup, driver, schema
from pyscheduler.store.dialects import SQLITE
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, translated
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.opening import OpenStore, open_store
from pyscheduler.store.questions import StoreFacts
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.store import Store
from pyscheduler.store.transaction import SqliteTransaction, Transaction, transact

T = TypeVar("T")


class SqliteStore(Store):
    """The store in the file of a state directory."""

    dialect = SQLITE

    def __init__(self, parts: OpenStore) -> None:
        super().__init__(parts.files)
        self._watch = parts.watch
        self._lock = parts.lock
        self._readers = parts.readers
        self._writer: Connection | None = parts.writer
        self._damage: StoreDamaged | None = None
        self._log_is_empty = True

    @classmethod
    def opened(cls, files: StoreFiles, *, sync: bool, wait_s: float, also: tuple[Path, ...]) -> Self:
        """Return the store, open. Raises what `Store.open` raises."""
        return cls(open_store(files, sync=sync, wait_s=wait_s, also=also))

    @property
    def where(self) -> str:
        """The state directory."""
        return str(self.state_dir)

    def close(self) -> None:
        """Copy the log into the file, close everything and let go of the lock. Harmless when closed."""
        with self._writing, ExitStack() as last:
            connection, self._writer = self._writer, None
            if connection is None:
                return
            last.callback(self._lock.release)
            if self._damage is None:
                last.callback(connection.close)
                last.callback(self._readers.close)
                last.callback(_empty_log_quietly, connection)
            else:
                # The last to close must be a reader: a writer would copy the log into the damaged file.
                last.callback(self._readers.close)
                last.callback(connection.close)

    # ----------------------------------------------------------------------- writing

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is on disk on return."""
        with self._writing:
            connection = self._usable_writer()
            self._log_is_empty = False
            try:
                done = transact(connection, lambda held: work(SqliteTransaction(held)), self._files.database)
            except StoreError as error:
                self._seen(error)
                raise
            self._look(committed=True)
            return done

    def backup(self, target: Path) -> None:
        """Write a consistent copy, giving way to what is saved meanwhile."""
        with self._writing:
            connection = self._usable_writer()
            source = backup.Source(
                self._files.database, connection, self._writing, is_open=lambda: self._writer is connection
            )
        backup.backup(source, Path(target))

    def facts(self) -> StoreFacts:
        """Return what `pysched doctor` says about this store. Raises StoreUnavailable where its files are gone."""
        module = driver.sqlite()
        is_safe = module.sqlite_version_info >= driver.SAFE_SINCE
        try:
            sizes = [path.stat().st_size for path in (self._files.database, self._files.log)]
        except OSError as error:
            raise translated(error, self._files.database) from error
        return StoreFacts(module.__name__, module.sqlite_version, is_safe, schema.REVISION, *sizes)

    def tidy(self) -> None:
        """For quiet moments: empty the log into the file, and see that the files are still ours. Raises StoreError."""
        with self._writing:
            connection = self._usable_writer()
            self._look()
            try:
                self._log_is_empty = self._log_is_empty or driver.empty_log(connection)
            except DRIVER_ERRORS as error:
                raise self._seen(translated(error, self._files.database)) from error

    def _usable_writer(self) -> Connection:
        if self._damage is not None:
            raise self._damage
        if self._writer is None:
            raise StoreUnavailable("the store is closed", where=str(self.state_dir))
        return self._writer

    def _look(self, *, committed: bool = False) -> None:
        """Notice that the files were moved or removed; what was just committed to them is then as good as unknown."""
        try:
            self._watch.check()
        except StoreDamaged as error:
            error.outcome_unknown = committed
            raise self._seen(error) from None
        except OSError as error:
            raise translated(error, self._files.database, committing=committed) from error

    def _seen(self, error: StoreError) -> StoreError:
        """Remember damage: nothing may be written after it."""
        if isinstance(error, StoreDamaged):
            self._damage = error
        return error

    def _read(self, work: Callable[[Snapshot], T]) -> T:
        try:
            return self._readers.read(work)
        except StoreDamaged as error:
            self._damage = error
            raise


def _empty_log_quietly(connection: Connection) -> None:
    """Try to leave a file that is whole without its log; the log is as good where it cannot be."""
    try:
        driver.empty_log(connection)
    except DRIVER_ERRORS:
        return
