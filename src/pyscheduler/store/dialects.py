"""The two databases a store can lie in, and how one Core expression becomes text on each.

The expressions are written in SQLite's words (`json_each instr typeof substr`, `CAST … AS BLOB`), because its text is
the hot path; `postgres/dialect.py` says the same in PostgreSQL's. So an expression may use what is named there, and
what both databases have under one name. Parameters are positional on both and in one order; PostgreSQL's may be fewer
at the end (SQLite's LIMIT brings an OFFSET). Nothing of PostgreSQL's is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.expression import FromClause

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"


class _SqliteCompiler(SQLiteCompiler):
    """SQLAlchemy's own, which has no place for SQLite's INDEXED BY, nor for our words to PostgreSQL's planner."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text

    def visit_as_filter_func(self, function: Any, **how: Any) -> str:
        """Say the condition; SQLite looks each row up as it comes anyway."""
        return str(self.process(function.clauses, **how))

    def visit_any_row_func(self, function: Any, **how: Any) -> str:
        """Ask whether a query has a row."""
        return f"EXISTS {self.process(function.clauses, **how)}"


@cache
def dialect_of(name: str) -> DefaultDialect:
    """Return what writes the text for a database."""
    if name == POSTGRESQL:
        from pyscheduler.store.postgres import dialect

        return dialect.dialect()
    made = sqlite.dialect(paramstyle="qmark")
    made.statement_compiler = _SqliteCompiler
    return made


def insert_of(name: str) -> Callable[..., Any]:
    """Return the database's own `insert`, which knows what to do on a conflict."""
    if name == POSTGRESQL:
        from sqlalchemy.dialects import postgresql

        return postgresql.insert
    return sqlite.insert
