"""Store, the one door: what has been saved here is still here after any crash.

What must always hold:

- one process has the store open (`store.lock`), and within it one connection writes, one transaction at a time;
- `apply` returns only when the whole batch is on disk, and raises only when it is not, or, with `outcome_unknown`, when
  nobody can know before the store is opened again;
- a store that is missing, empty, damaged or somebody else's is never taken for a new one, and never written to: an
  empty history would make every missed firing look new (field case FC-056);
- after damage was seen nothing more is written, and the log is left as it is.

Spec: jobs.md 8, DESIGN 3 and 7. The questions are in `reads.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self, TypeVar

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable
from pyscheduler.model.batch import Batch
from pyscheduler.store import backup, driver, generation, schema, write
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, translated
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.generation import GenerationState
from pyscheduler.store.opening import OpenStore, open_store
from pyscheduler.store.questions import StoreFacts
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.reads import Reads
from pyscheduler.store.transaction import transact

T = TypeVar("T")


class Store(Reads):
    """All that the scheduler remembers. Made by `Store.open`."""

    def __init__(self, parts: OpenStore) -> None:
        self._files = parts.files
        self._watch = parts.watch
        self._lock = parts.lock
        self._readers = parts.readers
        self._writer: Connection | None = parts.writer
        self._writing = threading.RLock()
        self._damage: StoreDamaged | None = None
        self._log_is_empty = True

    @classmethod
    def open(cls, state_dir: Path, *, sync: bool = True, wait_s: float = 0.0, also: tuple[Path, ...] = ()) -> Self:
        """Open the store of a state directory, making it on the first start and upgrading an older one.

        `sync=False` survives a crash of this process but not of the machine: for tests. `wait_s` is how long another
        holder of the lock is waited for. `also` are further locks' files that must stay what they are while it is open.
        Raises StoreLocked, StoreDamaged, StoreForeign, StoreUnavailable.
        """
        return cls(open_store(StoreFiles(Path(state_dir)), sync=sync, wait_s=wait_s, also=also))

    @property
    def state_dir(self) -> Path:
        """The folder that holds it."""
        return self._files.state_dir

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

    def apply(self, batch: Batch) -> None:
        """Save the batch whole; it is durable when this returns. Raises StoreError, NaiveTime."""
        steps = write.steps_of(batch)
        try:
            self._transact(lambda connection: write.perform(connection, steps, batch))
        except UnicodeEncodeError:
            plain = write.cleaned(steps)
            self._transact(lambda connection: write.perform(connection, plain, batch))

    def raise_generation(self) -> GenerationState:
        """Begin a new generation: once for each start of an engine, before anything is decided. Raises StoreError."""
        values = self.engine_values()
        with self._writing:
            try:
                found = generation.compare(values, generation.read_file(self._files))
                self.apply(Batch(engine=found.engine_values()))
                generation.write_file(self._files, found.next)
            except OSError as error:
                raise translated(error, self._files.generation) from error
        return found

    def backup(self, target: Path) -> None:
        """Write a consistent copy while the store works, checked whole and durable. Raises StoreError.

        An earlier backup of that name is replaced at the very end; any other file is left alone.
        """
        with self._writing:
            connection = self._usable_writer()
            source = backup.Source(
                self._files.database, connection, self._writing, is_open=lambda: self._writer is connection
            )
        backup.backup(source, Path(target))

    @staticmethod
    def check(file: Path) -> None:
        """Read all of a backup (or of a closed store's database). Raises StoreError where it is not whole."""
        backup.check(Path(file))

    @staticmethod
    def restore(file: Path, state_dir: Path) -> Path | None:
        """Put a backup in place of a store that no process has open; returns where the old database went.

        The next start finds the store older than its folder and holds catch-up. Raises StoreLocked, StoreError.
        """
        return backup.restore(Path(file), Path(state_dir))

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

    def _transact(self, work: Callable[[Connection], None]) -> None:
        with self._writing:
            connection = self._usable_writer()
            self._log_is_empty = False
            try:
                transact(connection, work, self._files.database)
            except StoreError as error:
                self._seen(error)
                raise
            self._look(committed=True)

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
