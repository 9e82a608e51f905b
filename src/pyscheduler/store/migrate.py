"""Making the database, knowing it again, and bringing an older one up to date.

A new database is built under another name and renamed once it is whole and on disk, so a crash never leaves half of
one. An older one is upgraded by Alembic inside a single transaction: a crash leaves the old schema, and the next
start tries again. Alembic is imported only when an upgrade is due; comparing one word tells whether it is.

What is looked at before anything is written: the file is a SQLite database, it is ours, its revision is known, and,
while it is small (QUICK_CHECK_BYTES), every page of it hangs together. A larger file is checked by `pysched doctor` and
by every backup; what is damaged in it shows itself as StoreDamaged when it is read.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy.schema import CreateIndex, CreateTable

from pyscheduler.errors import StoreDamaged, StoreForeign
from pyscheduler.store import driver, schema
from pyscheduler.store.dialects import SQLITE, dialect_of
from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, RESTORE, translated
from pyscheduler.store.files import StoreFiles, make_empty, sync_folder, sync_way_to

QUICK_CHECK_BYTES: Final = 64 * 1024 * 1024
"""Up to this size a start checks every page: a quarter of a second at most."""

VERSION_TABLE: Final = """
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""  # noqa: W291 - to the letter what Alembic itself would make


def create(files: StoreFiles, *, sync: bool) -> None:
    """Make an empty database at the newest revision. Raises StoreError, OSError."""
    part = files.new_database
    make_empty(part)
    try:
        with closing(driver.open_new(part)) as connection:
            connection.execute(f"PRAGMA synchronous={'FULL' if sync else 'OFF'}")
            _make_tables(connection)
    except DRIVER_ERRORS as error:
        raise translated(error, part) from error
    os.replace(part, files.database)
    sync_folder(files.state_dir)
    if sync:
        sync_way_to(files.state_dir)


def _make_tables(connection: Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for table in schema.metadata.sorted_tables:
        connection.execute(str(CreateTable(table).compile(dialect=dialect_of(SQLITE))))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.execute(str(CreateIndex(index).compile(dialect=dialect_of(SQLITE))))
    for more in schema.MORE[SQLITE]:
        connection.execute(more)
    connection.execute(VERSION_TABLE)
    connection.execute("INSERT INTO alembic_version (version_num) VALUES (?)", (schema.REVISION,))
    connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={int(schema.REVISION)}")
    connection.execute("COMMIT")


def recognised(path: Path) -> str:
    """Return the revision of the database at `path`, after reading it without changing a byte.

    Raises StoreDamaged, StoreForeign, StoreUnavailable.
    """
    try:
        with closing(driver.open_reader(path)) as connection:
            _refuse_foreign(connection, path)
            revision = _revision(connection, path)
            if path.stat().st_size <= QUICK_CHECK_BYTES:
                _refuse_broken(connection, path, "quick_check(1)")
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error
    if revision not in schema.REVISIONS:
        what = f"the store has schema {revision}, and this release knows up to {schema.REVISION}"
        raise StoreForeign(what, where=str(path), mend="start the newer release that wrote it")
    return revision


def check_whole(path: Path) -> None:
    """Read every page and every index of the database. Raises StoreError. Takes seconds a gigabyte."""
    recognised(path)
    try:
        with closing(driver.open_reader(path)) as connection:
            _refuse_broken(connection, path, "integrity_check(1)")
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error


def upgrade(connection: Connection, path: Path, revision: str) -> None:
    """Bring the database from `revision` to the newest, all or nothing. Raises StoreError."""
    if revision == schema.REVISION:
        return
    from pyscheduler.store.migrations.upgrade import upgrade_to_head

    upgrade_to_head(connection, path)
    connection.execute(f"PRAGMA user_version={int(schema.REVISION)}")


def _refuse_foreign(connection: Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != schema.APPLICATION_ID:
        what = f"the file is a database of another program (application_id {application:#x})"
        raise StoreForeign(what, where=str(path), mend="choose another state_dir, or move that file away")


def _revision(connection: Connection, path: Path) -> str:
    try:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except DRIVER_ERRORS as error:
        if "no such table" not in str(error):
            raise
        found = []
    if len(found) != 1:
        raise StoreDamaged("the store does not say which schema it has", where=str(path), mend=RESTORE)
    return str(found[0][0])


def _refuse_broken(connection: Connection, path: Path, check: str) -> None:
    (verdict,) = connection.execute(f"PRAGMA {check}").fetchone()
    if verdict != "ok":
        said = " ".join(str(verdict).split())  # SQLite's word takes several lines
        raise StoreDamaged(f"the store's file is damaged ({said})", where=str(path), mend=RESTORE)
