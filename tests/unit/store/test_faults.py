"""From the driver's errors to the family's: what it means, by who must act."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable
from pyscheduler.store import faults
from pyscheduler.store.faults import on_server

PATH = Path("/state/pysched.db")


def sqlite_error(code: int, text: str = "what SQLite says") -> sqlite3.Error:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "expected", "says"),
    [
        (sqlite3.SQLITE_CORRUPT, StoreDamaged, "damaged"),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamaged, "damaged"),
        (sqlite3.SQLITE_NOTADB, StoreDamaged, "damaged"),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreDamaged, "moved or deleted"),
        (sqlite3.SQLITE_FULL, StoreUnavailable, "disk is full"),
        (sqlite3.SQLITE_READONLY, StoreUnavailable, "mount"),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailable, "mount"),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailable, "mount"),
        (sqlite3.SQLITE_BUSY, StoreUnavailable, "another program"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreUnavailable, "another program"),
        (sqlite3.SQLITE_INTERRUPT, StoreUnavailable, "longer than it may"),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, StoreError, "bug"),
        (sqlite3.SQLITE_ERROR, StoreError, "what SQLite says"),
    ],
)
def test_each_kind_of_error_says_what_it_means(code: int, expected: type[StoreError], says: str) -> None:
    """Exactly that class, with the file in front and a way out behind."""
    found = faults.translated(sqlite_error(code), PATH)
    assert type(found) is expected
    assert str(found).startswith(f"{PATH}: ")
    assert says in str(found)
    assert not found.outcome_unknown


def test_an_error_of_the_commit_is_unknown() -> None:
    """Whatever the error, when COMMIT itself reports it."""
    assert faults.translated(sqlite_error(sqlite3.SQLITE_IOERR), PATH, committing=True).outcome_unknown


@pytest.mark.parametrize(
    ("number", "says"), [(errno.ENOSPC, "full"), (errno.EDQUOT, "full"), (errno.EROFS, "Read-only")]
)
def test_the_systems_errors_are_out_of_reach(number: int, says: str) -> None:
    """The file that it speaks of is named, else the one we had in mind."""
    found = faults.translated(OSError(number, "Read-only file system", "/state/x"), PATH)
    assert isinstance(found, StoreUnavailable)
    assert str(found).startswith("/state/x: ")
    assert says in str(found)
    assert str(faults.translated(OSError(number, "?"), PATH)).startswith(str(PATH))


def test_only_locks_are_worth_another_try() -> None:
    """A full disk is not: the second try would fill it as well."""
    assert faults.is_busy(sqlite_error(sqlite3.SQLITE_BUSY_RECOVERY))
    assert faults.is_busy(sqlite_error(sqlite3.SQLITE_LOCKED))
    assert not faults.is_busy(sqlite_error(sqlite3.SQLITE_FULL))
    assert not faults.is_busy(sqlite3.ProgrammingError("closed"))
    assert faults.is_interrupted(sqlite_error(sqlite3.SQLITE_INTERRUPT))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_another_user_is_told_so(number: int) -> None:
    """It is not the mount."""
    found = faults.translated(OSError(number, "Permission denied", "/state/x"), PATH)
    assert str(found).startswith("/state/x: this user may not look into the folder; ")
    assert "sudo -u" in found.mend


def test_a_driver_that_is_not_installed_is_named() -> None:
    """PostgreSQL's is one; what else cannot be imported is our own fault, and said as it is."""
    with pytest.raises(StoreError, match=r"driver for PostgreSQL"), on_server():
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")
    with pytest.raises(ModuleNotFoundError), on_server():
        raise ModuleNotFoundError("No module named 'x'", name="x")
