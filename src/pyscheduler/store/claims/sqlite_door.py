"""The door to a store on one host: `tick` and `work` side by side on one SQLite file. Spec: DESIGN 6, "SQLite".

What must always hold: the store is open only while it is written to, and `store.lock` is held just as long; whoever has
it otherwise (another `tick`, a `serve` for its life) is waited for, `wait_s` at most. The first use opens the store as
`Store.open` does, which makes it, upgrades it, and refuses what is damaged or somebody else's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar

from pyscheduler.store import driver
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, translated
from pyscheduler.store.files import StoreFiles, StoreLock
from pyscheduler.store.store import Store
from pyscheduler.store.transaction import SqliteTransaction, transact

T = TypeVar("T")

WAIT_S: Final = 10.0
"""How long another holder of the store is waited for. DESIGN 6."""


class SqliteDoor:
    """Opens the store of a folder for each write, and closes it. Safe to use from any thread: one at a time.

    `clock` replaces the database's clock (microseconds since 1970 UTC); `sync=False` is for tests.
    """

    dialect = "sqlite"

    def __init__(
        self,
        state_dir: Path,
        *,
        wait_s: float = WAIT_S,
        sync: bool = True,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._files = StoreFiles(Path(state_dir))
        self._wait_s, self._sync, self._clock = wait_s, sync, clock
        self._turn = threading.Lock()
        self._known = False

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is on disk on return. Raises StoreError."""
        with self._turn:
            try:
                if not self._known or self._files.restoring.exists():
                    Store.open(self._files.state_dir, sync=self._sync, wait_s=self._wait_s).close()
                    self._known = True
                return self._write(work)
            except OSError as error:
                raise translated(error, self._files.state_dir) from error

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do the same: a file wants no fewer words."""
        return self.write(work)

    def close(self) -> None:
        """Nothing is open between two writes."""

    def _write(self, work: Callable[[Transaction], T]) -> T:
        with ExitStack() as after:
            lock = StoreLock(self._files.lock)
            lock.take(self._wait_s)
            after.callback(lock.release)
            connection = self._open()
            after.callback(connection.close)
            return transact(connection, lambda held: work(SqliteTransaction(held)), self._files.database)

    def _open(self) -> Connection:
        try:
            connection = driver.open_writer(self._files.database, sync=self._sync)
        except DRIVER_ERRORS as error:
            raise translated(error, self._files.database) from error
        if self._clock is not None:
            replace_clock(connection, self._clock)
        return connection


def replace_clock(connection: Any, clock: Callable[[], int]) -> None:
    """Let `db_now()` of one connection tell another time; for tests."""
    connection.create_function("db_now", 0, clock)
