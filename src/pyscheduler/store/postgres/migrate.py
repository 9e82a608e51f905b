"""Making the tables, knowing them again, and bringing older ones up to date: one transaction each, or nothing.

The tables lie in the schema that `search_path` names first. MARKER is a table of one row that says whose they are, as
`application_id` does in a file. A schema without it must be empty of tables (those that belong to an extension do not
count): what is there is another program's, and ours are not put between them.

An advisory lock of the transaction lets two schedulers that start at once go one after the other; the second finds the
work done. The revisions are the same as a file's (`migrations/`), and run by Alembic only where an upgrade is due.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import psycopg
from sqlalchemy.schema import CreateIndex, CreateTable

from pyscheduler.errors import StoreDamaged, StoreError, StoreForeign
from pyscheduler.store import schema
from pyscheduler.store.dialects import POSTGRESQL, dialect_of
from pyscheduler.store.migrate import VERSION_TABLE
from pyscheduler.store.postgres.connect import Connection, patient
from pyscheduler.store.postgres.faults import PUT_BACK, translated

MARKER: Final = "pysched_store"
_MARKER_TABLE: Final = f"""
CREATE TABLE {MARKER} (
	single BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
	application BIGINT NOT NULL,
	made_at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""
LOCK: Final = f"({schema.APPLICATION_ID}::bigint << 32) | current_schema()::regnamespace::oid::bigint"
"""The number of every advisory lock of a store: the same for all who use one schema of one database."""
UPGRADE_S: Final = 3600.0
"""How long one statement of an upgrade may take, and another's upgrade be waited for."""
_PATIENCE: Final = "SET LOCAL lock_timeout = '1h'; SET LOCAL statement_timeout = '1h'"
_TABLES: Final = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
ORDER BY relname <> %s, relname LIMIT 4
"""
"""One statement, so that tables that somebody makes at this instant are all seen, or none; the marker comes first."""


def prepare(connection: Connection, where: str, *, may_make: bool) -> None:
    """Leave the tables at the newest revision. Raises StoreError; then nothing was changed.

    `may_make` is False where a store has been before: then an empty schema is damage, and no first start.
    """
    try:
        if _is_new(connection, where):
            if not may_make:
                raise _gone(where)
            _in_turn(connection, lambda: _make(connection) if _is_new(connection, where) else None)
        revision = _revision(connection, where)
        if revision not in schema.REVISIONS:
            what = f"the store has schema {revision}, and this release knows up to {schema.REVISION}"
            raise StoreForeign(what, where=where, mend="start the newer release that wrote it")
        if revision != schema.REVISION:
            _upgrade(connection)
    except psycopg.Error as error:
        raise translated(error, where) from error


def recognised(connection: Connection, where: str) -> bool:
    """Whether there is a store to read. Raises StoreError where there is something else, or another revision."""
    try:
        if _is_new(connection, where):
            return False
        revision = _revision(connection, where)
    except psycopg.Error as error:
        raise translated(error, where) from error
    if revision != schema.REVISION:
        what = f"the store has schema {revision}, and this release reads {schema.REVISION}"
        raise StoreForeign(what, where=where, mend="use the release of its scheduler, or start that of this one")
    return True


def refuse_no_schema(connection: Connection, where: str) -> None:
    """Raise StoreError where the tables have no place to lie in, psycopg.Error where that cannot be asked."""
    if _value(connection, "SELECT current_schema()") is None:
        mend = "CREATE SCHEMA, or GRANT the user USAGE on the one that its search_path names"
        raise StoreError("there is no schema for the tables to lie in", where=where, mend=mend)


def _in_turn(connection: Connection, work: Callable[[], object]) -> None:
    """Do the work in one transaction, alone among all that start."""
    with patient(connection, UPGRADE_S):
        connection.execute("BEGIN")
        try:
            connection.execute(_PATIENCE)
            connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            work()
            connection.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise


def _make(connection: Connection) -> None:
    texts = [VERSION_TABLE, _MARKER_TABLE]
    for table in schema.metadata.sorted_tables:
        texts.append(_text(CreateTable(table)))
        texts += (_text(CreateIndex(index)) for index in sorted(table.indexes, key=lambda index: str(index.name)))
    connection.execute(";".join([*texts, *schema.MORE[POSTGRESQL]]).encode())  # one trip for all of them
    connection.execute("INSERT INTO alembic_version (version_num) VALUES (%s)", (schema.REVISION,))
    connection.execute("INSERT INTO pysched_store (application) VALUES (%s)", (schema.APPLICATION_ID,))


def _upgrade(connection: Connection) -> None:
    from pyscheduler.store.migrations.upgrade import revisions_on

    with revisions_on(connection, "postgresql+psycopg://") as run:
        _in_turn(connection, run)


def _text(ddl: CreateTable | CreateIndex) -> str:
    return str(ddl.compile(dialect=dialect_of(POSTGRESQL))).replace("%%", "%")  # doubled for a driver that has values


def _is_new(connection: Connection, where: str) -> bool:
    """Whether the schema is empty. Raises StoreForeign where another program is at home."""
    refuse_no_schema(connection, where)
    names = [row[0] for row in connection.execute(_TABLES, [MARKER]).fetchall()]
    if MARKER in names:
        application = _value(connection, "SELECT application FROM pysched_store")
        if application != schema.APPLICATION_ID:
            what = f"the tables are another program's ({MARKER} says {application})"
            raise StoreForeign(what, where=where, mend="name an empty database")
        return False
    if names:
        what = f"the database has tables of another program ({', '.join(names)})"
        raise StoreForeign(what, where=where, mend="name an empty database: CREATE DATABASE …")
    return True


def _revision(connection: Connection, where: str) -> str:
    try:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except psycopg.errors.UndefinedTable:
        found = []
    if len(found) != 1:
        raise StoreDamaged("the store does not say which schema it has", where=where, mend=PUT_BACK)
    return str(found[0][0])


def _gone(where: str) -> StoreDamaged:
    what = "the database is empty, and this state_dir has had a store before"
    mend = f"{PUT_BACK}; to begin with an empty history, move `generation` out of the state_dir"
    return StoreDamaged(what, where=where, mend=mend)


def _value(connection: Connection, sql: str, *values: object) -> Any:
    row = connection.execute(sql.encode(), values).fetchone()
    return None if row is None else row[0]
