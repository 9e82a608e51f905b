"""Which SQLite, and how it is opened: the only place that knows a PRAGMA.

SQLite 3.7 to 3.51.2 can lose pages when two connections write or checkpoint at the same moment, and distributions
still ship such versions: so `pysqlite3`, which brings a newer one, is used where it is installed, and on every
version exactly one connection writes and checkpoints; all others open the file read-only. The environment variable
PYSCHED_SQLITE=stdlib|pysqlite3 chooses by hand. One process must not open one file through both: each would drop the
other's file locks. Source: DESIGN 7 and 9, the SQLite documents "WAL" and "How To Corrupt".

`mmap_size` stays 0 on purpose: a disk error under a memory map is a signal that kills the process, not an error.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote

from pyscheduler.errors import StoreError

BUSY_S: Final = 5.0
"""How long SQLite itself waits for a lock that another program holds."""
CHECKPOINT_PAGES: Final = 1000
_CACHE_KIB: Final = 16_000

Connection = sqlite3.Connection
"""The driver's connection; pysqlite3's has the same face."""

SAFE_SINCE: Final = (3, 51, 3)
"""The first version that never loses pages to a second writer."""
OLDEST: Final = (3, 35, 0)
"""The first version that knows all the SQL we use."""


def sqlite() -> ModuleType:
    """Return the driver module. Raises ImportError where PYSCHED_SQLITE asks for one that is not installed."""
    found = _chosen()
    if found.sqlite_version_info < OLDEST:
        what = f"SQLite {found.sqlite_version} is too old, {'.'.join(map(str, OLDEST))} is the oldest that will do"
        raise StoreError(what, where=found.__name__, mend="install pysqlite3, which brings a newer one")
    return found


def _chosen() -> ModuleType:
    chosen = os.environ.get("PYSCHED_SQLITE", "")
    if chosen == "stdlib":
        return sqlite3
    try:
        return importlib.import_module("pysqlite3.dbapi2")
    except ImportError:
        if chosen:
            raise
        return sqlite3


def open_writer(path: Path, *, sync: bool) -> Connection:
    """Return the one connection that writes and checkpoints. The file must exist.

    With `sync` a commit is on the disk when it returns; without, only a crash of this process is survived.
    """
    connection = _open(path, "mode=rw")
    pragmas = {
        "busy_timeout": int(BUSY_S * 1000),
        "synchronous": "FULL" if sync else "OFF",
        "wal_autocheckpoint": CHECKPOINT_PAGES,
        "cache_size": -_CACHE_KIB,
        "secure_delete": "OFF",
    }
    _set(connection, pragmas)
    return connection


def open_reader(path: Path) -> Connection:
    """Return a connection that cannot change the file, nor tidy its log away."""
    connection = _open(path, "mode=ro")
    _set(connection, {"busy_timeout": int(BUSY_S * 1000), "query_only": "ON", "wal_autocheckpoint": 0})
    return connection


def open_new(path: Path) -> Connection:
    """Return a connection that makes the file; nobody else knows it yet."""
    return _open(path, "mode=rwc")


def _open(path: Path, mode: str) -> Connection:
    # isolation_level None: the driver begins no transaction of its own; transaction.py says BEGIN.
    # The writer is opened by one thread and used by another, one at a time.
    connection: Connection = sqlite().connect(
        f"file:{quote(os.fspath(path.absolute()))}?{mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    connection.create_function("db_now", 0, wall_clock)
    return connection


def wall_clock() -> int:
    """Return the machine's clock in microseconds since 1970 UTC: what `db_now()` is in SQL on one host."""
    return time.time_ns() // 1000


def _set(connection: Connection, pragmas: dict[str, Any]) -> None:
    try:
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name}={value}")
    except BaseException:
        connection.close()
        raise


def use_write_ahead_log(connection: Connection) -> bool:
    """Switch the file to WAL, which it remembers; False where the file system cannot (no shared memory)."""
    return bool(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal")


def empty_log(connection: Connection) -> bool:
    """Copy the whole log into the file and cut it to nothing; False when a reader still needs it. Waits for nobody."""
    connection.execute("PRAGMA busy_timeout=0")
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1000)}")
    return not busy
