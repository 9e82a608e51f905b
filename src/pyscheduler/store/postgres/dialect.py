"""The expressions in PostgreSQL's words. Pure: the dialect only writes text, its driver is not imported.

Parameters must be told their types: texts go as VARCHAR and whole numbers as BIGINT, whatever the column's own width,
so that a number too large for a column compares as what it is.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, LargeBinary, String
from sqlalchemy.dialects.postgresql.psycopg import PGCompiler_psycopg, PGDialect_psycopg
from sqlalchemy.engine.default import DefaultDialect


class _Compiler(PGCompiler_psycopg):
    """SQLAlchemy's own, with SQLite's functions in PostgreSQL's words."""

    def visit_json_each_func(self, function: Any, **how: Any) -> str:
        """Give a JSON list's texts as rows of one column, `value`; a function alone would name it after its alias."""
        return f"(SELECT jsonb_array_elements_text({self._arguments(function, how)}::jsonb) AS value)"

    def visit_instr_func(self, function: Any, **how: Any) -> str:
        """Give the place of a text in another, from 1; 0 where it is not."""
        return f"strpos({self._arguments(function, how)})"

    def visit_substr_func(self, function: Any, **how: Any) -> str:
        """Give a part of a text; PostgreSQL counts characters in its shorter integers only."""
        text, *numbers = (self.process(argument, **how) for argument in function.clauses)
        return f"substr({', '.join((text, *(f'({number})::INTEGER' for number in numbers)))})"

    def visit_as_filter_func(self, function: Any, **how: Any) -> str:
        """Keep a condition with a list from becoming a join: the list is hashed, and each row looked up in it.

        The planner takes a list for a hundred items, and would go through it for every row.
        """
        return f"({self.process(function.clauses, **how)}) IS TRUE"

    def visit_any_row_func(self, function: Any, **how: Any) -> str:
        """Ask whether a query has a row, once for each row outside: as a join it would read all rows of the table."""
        return f"(SELECT EXISTS {self.process(function.clauses, **how)})"

    def visit_typeof_func(self, function: Any, **how: Any) -> str:
        """Give SQLite's word for a value's type; a column holds its own type or null."""
        value = self._arguments(function, how)
        return (
            f"(CASE WHEN {value} IS NULL THEN 'null'"
            f" WHEN pg_typeof({value}) IN ('bigint', 'integer') THEN 'integer' ELSE 'text' END)"
        )

    def visit_cast(self, cast: Any, **how: Any) -> str:
        """Read a text as it is where SQLite must read bytes: PostgreSQL lets in no text that is no UTF-8."""
        if isinstance(cast.type, LargeBinary):
            return str(self.process(cast.clause, **how))
        return str(super().visit_cast(cast, **how))  # type: ignore[no-untyped-call]

    def render_bind_cast(self, type_: Any, dbapi_type: Any, sqltext: str) -> str:
        if isinstance(dbapi_type, Integer):
            return f"{sqltext}::BIGINT"
        if isinstance(dbapi_type, String):
            return f"{sqltext}::VARCHAR"
        return str(super().render_bind_cast(type_, dbapi_type, sqltext))  # type: ignore[no-untyped-call]

    def _arguments(self, function: Any, how: dict[str, Any]) -> str:
        return ", ".join(self.process(argument, **how) for argument in function.clauses)


def dialect() -> DefaultDialect:
    """Return a dialect that writes `%s` for a parameter, in the statement's order."""
    made = PGDialect_psycopg(paramstyle="format")  # type: ignore[no-untyped-call]
    made.statement_compiler = _Compiler
    return made
