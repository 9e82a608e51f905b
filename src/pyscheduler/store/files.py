"""The store's files in `state_dir`: their names, the lock that one process holds, and whether they are still there.

| file | what it is |
|---|---|
| `pysched.db`, `-wal`, `-shm` | the database, its log of what is not yet copied into it, and the log's index |
| `store.lock` | locked (flock) by the one process that has the store open, whose pid is its text. Never removed |
| `generation` | a number, raised at each start of an engine (`generation.py`); proof that a store once was here |
| `pysched.db.new` | a database being made, not yet one |
| `restoring` | there while a backup is being put in place; a store with it is neither the old nor the new one |

What must always hold: nothing here opens the database's file itself. On POSIX, closing *any* descriptor of a file drops
every lock the process has on it, SQLite's included.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyscheduler.errors import StoreDamaged, StoreLocked
from pyscheduler.store.faults import RESTORE

LOCK_LOOK_S: Final = 0.05
"""How often a waiter looks whether the lock is free."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The paths of one store."""

    state_dir: Path

    @property
    def database(self) -> Path:
        return self.state_dir / "pysched.db"

    @property
    def new_database(self) -> Path:
        return self.state_dir / "pysched.db.new"

    @property
    def log(self) -> Path:
        return self.state_dir / "pysched.db-wal"

    @property
    def index(self) -> Path:
        return self.state_dir / "pysched.db-shm"

    @property
    def lock(self) -> Path:
        return self.state_dir / "store.lock"

    @property
    def generation(self) -> Path:
        return self.state_dir / "generation"

    @property
    def restoring(self) -> Path:
        return self.state_dir / "restoring"


class Watch:
    """Remembers which files an open store is made of, and notices when one is moved, removed or replaced.

    The lock's file is one of them: a second process locks whatever file is under that name, and both would decide.
    SQLite would go on with the unlinked one, and everything saved from then on would be gone at the next start.
    """

    def __init__(self, store: tuple[Path, ...], locks: tuple[Path, ...]) -> None:
        """Watch a store's files and locks. Raises OSError where one is not there."""
        self._locks = tuple(map(os.fspath, locks))
        self._paths = (*map(os.fspath, store), *self._locks)
        self._identities = self._look()

    def check(self) -> None:
        """Raise StoreDamaged when a file is not the one it was, OSError when that cannot be seen: a few stat calls."""
        try:
            found = self._look()
            name = next((self._paths[at] for at, was in enumerate(self._identities) if found[at] != was), None)
        except FileNotFoundError as gone:
            name = str(gone.filename)
        if name in self._locks:
            what = "the lock file was moved, removed or replaced while in use: another scheduler may be at work by now"
            raise StoreDamaged(
                what, where=name, mend="see that only one scheduler serves this state_dir, and start it again"
            )
        if name is not None:
            what = "the store's file was moved, removed or replaced while in use"
            raise StoreDamaged(what, where=name, mend=f"put it back and start again, or {RESTORE}")

    def _look(self) -> list[tuple[int, int]]:
        found = map(os.stat, self._paths)
        return [(file.st_dev, file.st_ino) for file in found]


class StoreLock:
    """The lock on a state directory: one process has its store open, and the kernel lets go when it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, wait_s: float = 0.0) -> None:
        """Take the lock, waiting up to `wait_s` for another holder to let go. Raises StoreLocked, OSError."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(descriptor, time.monotonic() + wait_s)
            # Overwritten in place and never cut: on a full disk that needs no new block.
            os.pwrite(descriptor, b"%-19d\n" % os.getpid(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; harmless when not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _wait(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._refusal(descriptor) from None
                time.sleep(LOCK_LOOK_S)
            else:
                return

    def _refusal(self, descriptor: int) -> StoreLocked:
        holder = ""
        with suppress(ValueError):
            holder = f" (pid {int(os.pread(descriptor, 20, 0))})"
        what = f"another process{holder} has this store open"
        return StoreLocked(what, where=str(self._path.parent), mend="stop it, or use another state_dir")


def make_empty(path: Path) -> None:
    """Make an empty file that only we may read, for a database to be made in; leftovers of an earlier try go."""
    for leftover in (path, path.with_name(path.name + "-journal")):
        with suppress(FileNotFoundError):
            leftover.unlink()
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def write_durably(path: Path, text: str) -> None:
    """Replace a small file so that a crash leaves the old text or the new one, never a part. Raises OSError."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, path)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Make a file's content durable. No process may have it open as a database. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename or removal in the folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_way_to(folder: Path) -> None:
    """Make the name of a folder durable, and the names of those above it up to its mount, whoever made them.

    One that we may not read was there before us. Raises OSError.
    """
    for above in folder.absolute().parents:
        with suppress(PermissionError):
            sync_folder(above)
        if above.is_mount():
            return
