"""Copies of a store: made while it works, checked, and put back.

**backup** copies page by page through the writing connection itself, a megabyte at a time: between two steps the writer
commits as usual, and SQLite carries each change into what was copied already. So no reader holds the log up, nothing
starts over, and the copy is the store as of the last step. It is written under another name, checked whole, synced and
renamed: FILE is the old backup or the new one.

**restore** checks first, takes the store's lock (a live store is never overwritten), and moves the old files aside
instead of deleting them. While it works `state_dir/restoring` stands there, and no store opens: a crash in between is
ended by running it again. At last it raises `generation`, so that the next start knows that its store is older than the
state directory and starts nothing that was missed by itself (DESIGN 5).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Final

from pyscheduler.errors import StoreDamaged, StoreError, StoreForeign, StoreUnavailable
from pyscheduler.store import catalogue, driver, generation, migrate
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, translated
from pyscheduler.store.files import (
    StoreFiles,
    StoreLock,
    make_empty,
    sync_file,
    sync_folder,
    sync_way_to,
    write_durably,
)

PAGES_AT_ONCE: Final = 256
"""A step's length: a megabyte, one or two milliseconds in which the writer waits."""
GIVE_WAY_S: Final = 0.001
"""Long enough for a waiting writer to take its turn between two steps."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open store, as a backup needs it: its writing connection, the lock on that, and whether it is still open."""

    database: Path
    connection: Connection
    turn: RLock
    is_open: Callable[[], bool]


def backup(source: Source, target: Path) -> None:
    """Copy the store to `target`, giving way to the writer. Raises StoreError."""
    with replacing(target, source.database) as part, closing(driver.open_new(part)) as copy:
        _copy(source, copy)


@contextmanager
def replacing(target: Path, database: Path) -> Iterator[Path]:
    """Give an empty file to copy `database` into; when that has gone well it becomes `target`, checked and durable.

    A backup of that name is replaced at the very end; any other file is left alone. Raises StoreError.
    """
    part = target.with_name(target.name + ".part")
    try:
        if target.exists():
            if os.path.samefile(target, database):
                raise _same_file(target)
            check(target)
        make_empty(part)
        yield part
        _make_one_file(part)
        migrate.check_whole(part)
        sync_file(part)
        os.replace(part, target)
        sync_folder(target.parent)
    except DRIVER_ERRORS as error:
        raise translated(error, part) from error
    except OSError as error:
        raise translated(error, target) from error
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _make_one_file(part: Path) -> None:
    """Take the copy out of WAL mode, so that it can be read where nothing can be written."""
    with closing(driver.open_new(part)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")


def _copy(source: Source, copy: Connection) -> None:
    def give_way(*_: int) -> None:
        source.turn.release()
        try:
            time.sleep(GIVE_WAY_S)
        finally:
            source.turn.acquire()
        if not source.is_open():
            raise StoreUnavailable("the store was closed during its backup", where=str(source.database))

    with source.turn:
        source.connection.backup(copy, pages=PAGES_AT_ONCE, progress=give_way, sleep=0)


def check(file: Path) -> None:
    """Read all of a copy and make sure that it is a whole store of a known schema. Raises StoreError."""
    if not file.is_file():
        raise StoreError("there is no such file", where=str(file), mend="name a file that `pysched backup` has written")
    try:
        migrate.check_whole(file)
    except (StoreDamaged, StoreForeign) as error:
        # The words for a store that is in use ("put a backup back") would send people round in a circle.
        what = f"this is no whole backup of a store: {error.what}"
        raise type(error)(what, where=str(file), mend="name a file that `pysched backup` has written") from error


def restore(file: Path, state_dir: Path) -> Path | None:
    """Make `file` the store of a state directory; returns where the old database went, None where there was none.

    Raises StoreLocked while a process has the store open, StoreError for a copy that is not whole.
    """
    check(file)
    files = StoreFiles(state_dir)
    lock = StoreLock(files.lock)
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.take()
        return _put_in_place(file, files)
    except DRIVER_ERRORS as error:
        raise translated(error, file) from error
    except OSError as error:
        raise translated(error, state_dir) from error
    finally:
        lock.release()


def _put_in_place(file: Path, files: StoreFiles) -> Path | None:
    if files.database.exists() and os.path.samefile(file, files.database):
        raise _same_file(file)
    part = files.new_database
    make_empty(part)
    with closing(driver.open_reader(file)) as source, closing(driver.open_new(part)) as copy:
        source.backup(copy)
        values = dict(copy.execute(catalogue.ENGINE_VALUES.sql).fetchall())
    sync_file(part)
    write_durably(files.restoring, f"{file}\n")
    aside = _move_aside(files)
    os.replace(part, files.database)
    sync_folder(files.state_dir)
    sync_way_to(files.state_dir)
    found = generation.compare(values, generation.read_file(files))
    generation.write_file(files, found.next)
    files.restoring.unlink()
    sync_folder(files.state_dir)
    return aside


def _same_file(file: Path) -> StoreError:
    return StoreError("that file is the store itself", where=str(file), mend="name another one")


def _move_aside(files: StoreFiles) -> Path | None:
    """Give the old database and its log new names that belong together, and let the log's index go."""
    number = 1
    while (aside := files.database.with_name(f"pysched.db.before-restore-{number}")).exists():
        number += 1
    with suppress(FileNotFoundError):
        os.replace(files.log, aside.with_name(aside.name + "-wal"))
    with suppress(FileNotFoundError):
        files.index.unlink()
    try:
        os.replace(files.database, aside)
    except FileNotFoundError:
        return None
    return aside
