"""SQL text, made once from the tables and kept.

Statements are written with SQLAlchemy Core and compiled once for the driver's dialect; what runs is the text, with
plain tuples for values. That keeps one group commit's processor cost near the driver's own, and the SQL portable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.sql.expression import CompoundSelect, FromClause

from pyscheduler.store import columns, schema


class _Compiler(SQLiteCompiler):
    """SQLAlchemy's own, which has no place for SQLite's INDEXED BY."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text


DIALECT: Final = sqlite.dialect(paramstyle="qmark")
DIALECT.statement_compiler = _Compiler

Executable = Select[Any] | CompoundSelect[Any] | Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL text with the names of its parameters in their order; `fixed` holds those that never change."""

    sql: str
    names: tuple[str, ...]
    fixed: Mapping[str, Any]

    def bind(self, **values: object) -> tuple[Any, ...]:
        """Return the values as the driver wants them. KeyError for one that is missing."""
        fixed = self.fixed
        return tuple(values[name] if name in values else fixed[name] for name in self.names)


def compiled(statement: Executable) -> Statement:
    """Return the text of a statement; parameters without a value must be given to `bind`."""
    text = statement.compile(dialect=DIALECT)
    fixed = {name: value for name, value in text.params.items() if value is not None}
    return Statement(str(text), tuple(text.positiontup or ()), fixed)


def is_one_of(column: ColumnElement[Any] | Column[Any], name: str) -> ColumnElement[bool]:
    """Return `column IN (…)` for a JSON list given as one parameter, so that one text serves every length."""
    values = func.json_each(bindparam(name)).table_valued("value", name=f"{name}_list")
    return column.in_(select(values.c.value))


def on_index(statement: Select[Any], table: FromClause, index: str) -> Select[Any]:
    """Bind a statement to an index: without statistics SQLite guesses, and one bad guess reads a million rows."""
    return statement.with_hint(table, f"INDEXED BY {index}", "sqlite")


def _put(table: Table, columns: tuple[str, ...], keys: tuple[str, ...], fixed: tuple[str, ...] = ()) -> Statement:
    new = insert(table).values({name: bindparam(name) for name in columns})
    changes = {name: new.excluded[name] for name in columns if name not in keys + fixed}
    return compiled(new.on_conflict_do_update(index_elements=list(keys), set_=changes))


def _remove(table: Table, key: str) -> Statement:
    return compiled(delete(table).where(table.c[key] == bindparam(key)))


PUT_RUN: Final = _put(schema.runs, columns.RUN, ("run_id",), columns.RUN_FIXED)
PUT_ATTEMPT: Final = _put(schema.attempts, columns.ATTEMPT, ("run_id", "attempt"))
PUT_ENGINE: Final = _put(schema.engine, ("key", "value"), ("key",))
PUT_CONFIG: Final = _put(schema.configs, columns.CONFIG, ("version",))
PUT_REPLY: Final = _put(schema.replies, columns.REPLY, ("actor", "key"))
REMOVE_REPLIES: Final = compiled(delete(schema.replies).where(schema.replies.c.at < bindparam("before")))
PUT_SESSION: Final = _put(schema.sessions, columns.SESSION, ("session_hash",), ("user", "proof", "csrf", "created_at"))
ADD_LINE: Final = compiled(insert(schema.events).values({name: bindparam(name) for name in columns.LINE}))

ADD_ALERT: Final = compiled(
    insert(schema.alerts).values({name: bindparam(name) for name in columns.ALERT}).on_conflict_do_nothing()
)
"""The first alert of an id stays: the same one is never raised twice."""


def _add_delivery() -> Statement:
    """Write a delivery down only where its alert is the one just raised, not an earlier one of the same id."""
    raised = and_(
        schema.alerts.c.alert_id == bindparam("alert_id"), schema.alerts.c.raised_at == bindparam("raised_at")
    )
    values: list[Any] = [bindparam(name) for name in columns.DELIVERY]
    row: Select[Any] = select(*values).where(exists().where(raised))
    new = insert(schema.deliveries).from_select(list(columns.DELIVERY), row)
    return compiled(new.on_conflict_do_nothing())


ADD_DELIVERY: Final = _add_delivery()
DELIVERY_CHANGES: Final = ("status", "attempts", "last_error", "updated_at")
SET_DELIVERY: Final = compiled(
    update(schema.deliveries)
    .values({name: bindparam(f"new_{name}") for name in DELIVERY_CHANGES})
    .where(schema.deliveries.c.delivery_id == bindparam("which"))
)

REMOVE_ENGINE: Final = _remove(schema.engine, "key")
REMOVE_SESSION: Final = _remove(schema.sessions, "session_hash")
REMOVE_RUN: Final = (
    compiled(
        delete(schema.deliveries).where(
            schema.deliveries.c.alert_id.in_(
                select(schema.alerts.c.alert_id).where(schema.alerts.c.run_id == bindparam("run_id"))
            )
        )
    ),
    *(
        _remove(table, "run_id")
        for table in (schema.alerts, schema.run_files, schema.events, schema.attempts, schema.runs)
    ),
)
"""A run goes with everything that names it."""


def _remove_old_alerts() -> tuple[Statement, ...]:
    of_no_run = and_(schema.alerts.c.run_id.is_(None), schema.alerts.c.raised_at < bindparam("before"))
    their_ids = select(schema.alerts.c.alert_id).where(of_no_run)
    return (
        compiled(delete(schema.deliveries).where(schema.deliveries.c.alert_id.in_(their_ids))),
        compiled(delete(schema.alerts).where(of_no_run)),
    )


REMOVE_OLD_ALERTS: Final = _remove_old_alerts()
