"""The table `scheduler_jobs`, and how it comes to be there. Spec: pipeline.md 13.

A row is one JobRecord: see `rows.py` for `payload` and `results`. A table of an older release may lack the columns of
`_ADDED`; they are added, nothing else of it is touched, and its rows read null there. Several processes may prepare one
database at the same instant: whoever comes second finds that the first has done it.

On MySQL our own table compares texts byte by byte (utf8mb4_bin), as the other stores do, and holds long JSON; a table
made by 0.7 keeps its collation and its 64 KiB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import Column, Engine, Executable, Integer, MetaData, String, Table, Text, inspect, text
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateColumn, CreateTable

TABLE_NAME: Final = "scheduler_jobs"
_LONG: Final = Text().with_variant(LONGTEXT(), "mysql", "mariadb")

scheduler_jobs: Final = Table(
    TABLE_NAME,
    MetaData(),
    Column("id", String(36), primary_key=True),
    Column("category", String(255), nullable=True),
    Column("channel_id", String(255), nullable=False),
    Column("status", String(64), nullable=False),
    Column("created", String(64), nullable=False),
    Column("updated", String(64), nullable=False),
    Column("workflow_count", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("payload", _LONG, nullable=True),
    Column("results", _LONG, nullable=True),
    Column("error", _LONG, nullable=True),
    mysql_charset="utf8mb4",
    mysql_collate="utf8mb4_bin",
    mariadb_charset="utf8mb4",
    mariadb_collate="utf8mb4_bin",
)

_ADDED: Final = ("payload", "results", "error")
"""Columns that older releases did not have, oldest first; all may be null."""


def prepare(engine: Engine) -> None:
    """Make the table if it is missing, and add the columns that an older one lacks; raises what the database says."""
    if not inspect(engine).has_table(TABLE_NAME):
        _do(engine, CreateTable(scheduler_jobs), lambda: inspect(engine).has_table(TABLE_NAME))
    for name in _ADDED:
        if name not in _columns(engine):
            _add(engine, name)


def _add(engine: Engine, name: str) -> None:
    column = CreateColumn(scheduler_jobs.c[name]).compile(dialect=engine.dialect)
    _do(engine, text(f"ALTER TABLE {TABLE_NAME} ADD COLUMN {column}"), lambda: name in _columns(engine))


def _columns(engine: Engine) -> set[str]:
    return {column["name"] for column in inspect(engine).get_columns(TABLE_NAME)}


def _do(engine: Engine, change: Executable, done: Callable[[], bool]) -> None:
    """Make a change of the schema, unless another process was quicker and it is done already."""
    try:
        with engine.connect() as connection:
            connection.execute(change)
    except DBAPIError:
        if not done():
            raise
