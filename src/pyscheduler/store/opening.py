"""Opening a store, step by step, and undoing the steps when one fails.

The order matters: the lock comes before any look at the files, the look before anything that writes, and the marker
after the database it vouches for. `generation` is that marker: with it there, a missing or empty database is damage;
without it and without a database this is the first start.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pyscheduler.errors import StoreDamaged, StoreUnavailable
from pyscheduler.store import driver, generation, migrate
from pyscheduler.store.catalogue import ENGINE_VALUES
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, RESTORE, translated
from pyscheduler.store.files import StoreFiles, StoreLock, Watch
from pyscheduler.store.readers import Readers


@dataclass(frozen=True, slots=True)
class OpenStore:
    """Everything an open store is made of."""

    files: StoreFiles
    lock: StoreLock
    writer: Connection
    readers: Readers
    watch: Watch


def open_store(files: StoreFiles, *, sync: bool, wait_s: float, also: tuple[Path, ...] = ()) -> OpenStore:
    """Return the parts of the open store. Raises StoreError, and then nothing is held."""
    with ExitStack() as undo:
        try:
            files.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = StoreLock(files.lock)
            lock.take(wait_s)
            undo.callback(lock.release)
            _create_or_recognise(files, sync=sync)
            revision = migrate.recognised(files.database)
            writer = driver.open_writer(files.database, sync=sync)
            undo.callback(writer.close)
            _begin_log(writer, files)
            migrate.upgrade(writer, files.database, revision)
            readers = Readers(files.database)
            undo.callback(readers.close)
            # One reader is there from the start: damage is found out here, and `Store.close` may need it.
            readers.read(lambda snapshot: snapshot.value(ENGINE_VALUES))
            watch = Watch((files.database, files.log, files.index), (files.lock, *also))
        except DRIVER_ERRORS as error:
            raise translated(error, files.database) from error
        except OSError as error:
            raise translated(error, files.state_dir) from error
        undo.pop_all()
        return OpenStore(files, lock, writer, readers, watch)


def _create_or_recognise(files: StoreFiles, *, sync: bool) -> None:
    """Make the database on the very first start; refuse what must not be taken for one. Raises StoreDamaged."""
    if files.restoring.exists():
        what = "a backup was being put back and that did not end"
        raise StoreDamaged(what, where=str(files.state_dir), mend="run `pysched restore FILE` again")
    marked, _ = generation.read_file(files)
    if not files.database.exists():
        if marked:
            what = "the store's database is gone, and this is not a first start"
            mend = f"{RESTORE}; to begin with an empty history, move `generation` away too"
            raise StoreDamaged(what, where=str(files.database), mend=mend)
        migrate.create(files, sync=sync)
    elif files.database.stat().st_size == 0:
        raise StoreDamaged("the store's database is empty (0 bytes)", where=str(files.database), mend=RESTORE)
    if not marked:
        generation.write_file(files, 0)


def _begin_log(writer: Connection, files: StoreFiles) -> None:
    """Make sure that the log and its index exist, and that the file may be written. Raises StoreUnavailable."""
    if not driver.use_write_ahead_log(writer):
        what = "this file system has no shared memory for a database's log"
        raise StoreUnavailable(what, where=str(files.state_dir), mend="put state_dir on a local disk")
    # SQLite opens a file that it may only read as if nothing were amiss; asking to write is what tells.
    writer.execute("DELETE FROM engine WHERE key IS NULL")
