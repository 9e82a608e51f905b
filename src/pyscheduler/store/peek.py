"""The store to look at: read-only, without its lock, beside whoever has it open or when nobody has.

For questions from outside the scheduler: what it remembers while it is down, and a copy of all of it. Nothing is made,
upgraded or tidied here; a store that is not there is no store, not an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pyscheduler.store import backup, driver, migrate
from pyscheduler.store.faults import on_server, translated
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.readers import Readers, Snapshot
from pyscheduler.store.reads import Reads

T = TypeVar("T")


class Peek(Reads):
    """All questions of `Reads`, answered from the files. Made by `Peek.open`; a context manager."""

    def __init__(self, files: StoreFiles) -> None:
        self._files = files
        self._readers: Readers = Readers(files.database)

    @staticmethod
    def open(state_dir: Path, *, url: str | None = None) -> Peek | None:
        """Return a look at the store of a state directory, or on a server; None where there is none yet.

        Raises StoreError.
        """
        files = StoreFiles(Path(state_dir))
        if url is not None:
            with on_server():
                from pyscheduler.store.postgres.peek import PostgresPeek
            return PostgresPeek.opened(files, url)
        try:
            if not files.database.exists():
                return None
        except OSError as error:
            raise translated(error, files.database) from error
        migrate.recognised(files.database)
        return Peek(files)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def where(self) -> str:
        """What people call it."""
        return str(self._files.database)

    def close(self) -> None:
        """Let go of the connections."""
        self._readers.close()

    def check(self) -> None:
        """Read every page. Raises StoreDamaged where one is broken. Takes seconds a gigabyte."""
        migrate.check_whole(self._files.database)

    def backup(self, target: Path) -> None:
        """Copy the store to `target` as it is at this instant, checked whole and durable. Raises StoreError.

        Whoever writes goes on; only the log cannot be cut until the copy is done. An earlier backup of that name is
        replaced at the very end; any other file is left alone.
        """
        with (
            backup.replacing(target, self._files.database) as part,
            closing(driver.open_reader(self._files.database)) as source,
            closing(driver.open_new(part)) as copy,
        ):
            source.backup(copy)  # in one step: another process's writes would make one in steps begin anew each time

    def _read(self, work: Callable[[Snapshot], T], /) -> T:
        return self._readers.read(work)
