"""SQL text, made once from the tables and kept.

Statements are written with SQLAlchemy Core and compiled once for each database; what runs is the text, with plain
tuples for values. That keeps one group commit's processor cost near the driver's own, and the SQL portable. SQLite's
text is made at once, PostgreSQL's when it is first asked for (`Statement.on`); how they differ stands in `dialects.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Select,
    String,
    Table,
    TableValuedAlias,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy import column as sql_column
from sqlalchemy.sql.expression import CompoundSelect, FromClause, Insert

from pyscheduler.store import columns, schema
from pyscheduler.store.dialects import SQLITE, dialect_of, insert_of

Executable = Select[Any] | CompoundSelect[Any] | Insert | Update | Delete
Make = Callable[[str], Executable]
"""Return the expression for a dialect, where the two need different ones."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL text with the names of its parameters in their order; `fixed` holds those that never change."""

    sql: str
    names: tuple[str, ...]
    fixed: Mapping[str, Any]
    make: Make | None = field(default=None, repr=False, compare=False)
    others: dict[str, Statement] = field(default_factory=dict, repr=False, compare=False)

    def on(self, dialect: str) -> Statement:
        """Return the same for a database (`dialects.py`), made when it is first asked for."""
        if dialect == SQLITE:
            return self
        found = self.others.get(dialect)
        if found is None:
            assert self.make is not None, "a text that was made for one database is not one for another"
            found = self.others[dialect] = _text(self.make(dialect), dialect)
        return found

    def bind(self, **values: object) -> tuple[Any, ...]:
        """Return the values as the driver wants them. KeyError for one that is missing."""
        fixed = self.fixed
        return tuple(values[name] if name in values else fixed[name] for name in self.names)


def compiled(statement: Executable) -> Statement:
    """Return the text of a statement; parameters without a value must be given to `bind`."""
    return made(lambda _: statement)


def made(make: Make) -> Statement:
    """Return the text of a statement that is a different expression on each database: one with a conflict clause."""
    found = _text(make(SQLITE), SQLITE)
    return Statement(found.sql, found.names, found.fixed, make)


def _text(statement: Executable, dialect: str) -> Statement:
    text = statement.compile(dialect=dialect_of(dialect))
    fixed = {name: value for name, value in text.params.items() if value is not None}
    return Statement(str(text), tuple(text.positiontup or ()), fixed)


def is_one_of(column: ColumnElement[Any] | Column[Any], name: str) -> ColumnElement[bool]:
    """Return `column IN (…)` for a JSON list given as one parameter, so that one text serves every length."""
    return column.in_(select(json_list(name, f"{name}_list").c.value))


def is_among(column: ColumnElement[Any] | Column[Any], name: str) -> ColumnElement[bool]:
    """Return the same for rows that are found otherwise and only looked at here; `is_one_of` may find them."""
    return cast("ColumnElement[bool]", func.as_filter(is_one_of(column, name)))


def any_row(rows: Select[Any]) -> ColumnElement[bool]:
    """Return whether a correlated query of one column has a row, looked up for each row outside."""
    return cast("ColumnElement[bool]", func.any_row(rows.scalar_subquery()))


def json_list(name: str, alias: str) -> TableValuedAlias:
    """Return the texts of a JSON list given as one parameter, as a table of one column, `value`."""
    return func.json_each(bindparam(name)).table_valued(sql_column("value", String), name=alias)


def on_index(statement: Select[Any], table: FromClause, index: str) -> Select[Any]:
    """Bind a statement to an index: without statistics SQLite guesses, and one bad guess reads a million rows."""
    return statement.with_hint(table, f"INDEXED BY {index}", "sqlite")


def _put(table: Table, columns: tuple[str, ...], keys: tuple[str, ...], fixed: tuple[str, ...] = ()) -> Statement:
    def put(dialect: str) -> Executable:
        new = insert_of(dialect)(table).values({name: bindparam(name) for name in columns})
        changes = {name: new.excluded[name] for name in columns if name not in keys + fixed}
        once: Insert = new.on_conflict_do_update(index_elements=list(keys), set_=changes)
        return once

    return made(put)


def _add_once(table: Table, columns: tuple[str, ...]) -> Statement:
    def add(dialect: str) -> Executable:
        new: Any = insert_of(dialect)(table).values({name: bindparam(name) for name in columns})
        once: Insert = new.on_conflict_do_nothing()
        return once

    return made(add)


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

ADD_ALERT: Final = _add_once(schema.alerts, columns.ALERT)
"""The first alert of an id stays: the same one is never raised twice."""


def _add_delivery() -> Statement:
    """Write a delivery down only where its alert is the one just raised, not an earlier one of the same id."""
    raised = and_(
        schema.alerts.c.alert_id == bindparam("alert_id"), schema.alerts.c.raised_at == bindparam("raised_at")
    )
    values: list[Any] = [bindparam(name, type_=schema.deliveries.c[name].type) for name in columns.DELIVERY]
    row: Select[Any] = select(*values).where(exists().where(raised))

    def add(dialect: str) -> Executable:
        new: Any = insert_of(dialect)(schema.deliveries).from_select(list(columns.DELIVERY), row)
        once: Insert = new.on_conflict_do_nothing()
        return once

    return made(add)


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
