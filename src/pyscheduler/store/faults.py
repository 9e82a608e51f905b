"""From the driver's errors to the family's, in one place: what it means, and how to mend it.

The distinction that matters is by who must act: room on the disk and a lock may come by themselves (StoreUnavailable,
the service tries again); a damaged file needs a backup (StoreDamaged, the service ends); a broken constraint is our
bug.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable

try:
    from pysqlite3.dbapi2 import Error as _OtherError
except ImportError:  # only the standard library's SQLite is here
    DRIVER_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error,)
else:
    DRIVER_ERRORS = (sqlite3.Error, _OtherError)

RESTORE: Final = "keep a copy of the folder, then put a backup back with `pysched restore FILE`"
_USER: Final = "only root and the scheduler's own user may: use sudo -u with that user"
_ROOM: Final = "make room; nothing is lost and it goes on by itself"

# the primary result codes of sqlite3.h, the low byte of each extended code
_PERM, _BUSY, _LOCKED, _READONLY, _INTERRUPT, _IOERR, _CORRUPT = 3, 5, 6, 8, 9, 10, 11
_FULL, _CANTOPEN, _PROTOCOL, _CONSTRAINT, _NOTADB = 13, 14, 15, 19, 26
_READONLY_DBMOVED = _READONLY | (4 << 8)

_DAMAGED: Final = frozenset({_CORRUPT, _NOTADB})
_OUT_OF_REACH: Final = frozenset({_PERM, _READONLY, _IOERR, _CANTOPEN})


@contextmanager
def on_server() -> Iterator[None]:
    """Import inside what needs PostgreSQL's driver, which is an extra. Raises StoreError where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        what, mend = "the driver for PostgreSQL is not installed", 'pip install "psycopg[binary,pool]"'
        raise StoreError(what, mend=mend) from error


def code_of(error: BaseException) -> int:
    """Return SQLite's extended result code, 0 where the driver gives none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0)


def is_busy(error: BaseException) -> bool:
    """Whether another program held a lock: the one kind of failure that is worth a second try."""
    return code_of(error) & 0xFF in (_BUSY, _LOCKED, _PROTOCOL)


def is_interrupted(error: BaseException) -> bool:
    """Whether a read was cut off because it took too long."""
    return code_of(error) & 0xFF == _INTERRUPT


def translated(error: BaseException, path: Path, *, committing: bool = False) -> StoreError:
    """Return the family's error for one of the driver's or of the operating system.

    `committing` says that COMMIT itself failed, so nobody knows yet whether the change is on disk.
    """
    found = _of_system(error, path) if isinstance(error, OSError) else _of_sqlite(error, path)
    found.outcome_unknown = committing
    return found


def _of_sqlite(error: BaseException, path: Path) -> StoreError:
    code, text, where = code_of(error), str(error), str(path)
    kind = code & 0xFF
    if code == _READONLY_DBMOVED:
        return StoreDamaged("the store's file was moved or deleted while in use", where=where, mend=RESTORE)
    if kind in _DAMAGED:
        return StoreDamaged(f"the store's file is damaged ({text})", where=where, mend=RESTORE)
    if kind == _FULL:
        return StoreUnavailable("the disk is full", where=where, mend=_ROOM)
    if kind in _OUT_OF_REACH:
        mend = "look at the mount, and at the owner and mode of the folder and its files; it goes on by itself"
        return StoreUnavailable(f"the store cannot be read or written ({text})", where=where, mend=mend)
    if is_busy(error):
        mend = "end the program that has it open, a database shell or a copy tool"
        return StoreUnavailable(f"another program keeps the store locked ({text})", where=where, mend=mend)
    if kind == _INTERRUPT:
        return StoreUnavailable("a read took longer than it may", where=where, mend="ask for less, or ask again")
    if kind == _CONSTRAINT:
        mend = "nothing was written; this is a bug in pyscheduler, please report it"
        return StoreError(f"the store refuses a contradiction ({text})", where=where, mend=mend)
    return StoreError(f"the store has failed ({text})", where=where)


def _of_system(error: OSError, path: Path) -> StoreError:
    where = str(error.filename or path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnavailable("the disk is full", where=where, mend=_ROOM)
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreUnavailable("this user may not look into the folder", where=where, mend=_USER)
    mend = "look at the mount, and at the owner and mode of the folder and its files"
    return StoreUnavailable(f"the folder cannot be used ({error.strerror})", where=where, mend=mend)
