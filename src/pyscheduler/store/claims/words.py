"""What the claims' statements have in common: the clock, my own row, lines of the logbook. Spec: claims.md C3, C5.

The share lock on my row (`MY_LEASE`) is what makes a claim or a start by an incarnation that is being fenced
impossible: the fence holds that row for itself, and whoever comes later finds itself fenced. SQLite has one writer at a
time and drops these clauses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Update, bindparam, func, insert, select, update

from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.lease import Identity
from pyscheduler.store import columns, rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.statements import compiled

leases: Final = schema.leases.c
runs: Final = schema.runs.c
attempts: Final = schema.attempts.c

NODE: Final = "node"
"""The kind of an incarnation's row among the leases."""


def db_now() -> ColumnElement[int]:
    """Return the database's clock, read when the row is, in microseconds since 1970 UTC."""
    return func.db_now(type_=BigInteger)


def micros_of(seconds: float) -> int:
    """Return a length of time as the statements add it."""
    return round(seconds * 1_000_000)


NOW: Final = compiled(select(db_now()))

_living: Final = (leases.name == bindparam("me"), leases.kind == NODE, leases.fenced_at.is_(None))
MY_LEASE: Final = compiled(
    select(leases.name, leases.host_id)
    .where(*_living, leases.lease_until > db_now())
    .with_for_update(read=True, key_share=True)
)
"""My row, held against a fence, while I am neither fenced nor out of my lease; no row says that I may begin nothing."""

_LINE: Final = compiled(
    insert(schema.events)
    .values({name: db_now() if name == "at" else bindparam(name) for name in columns.LINE})
    .returning(schema.events.c.id)
)


def holds(on: Transaction, me: Identity) -> bool:
    """Whether I may begin anything; and nobody can fence me before this transaction is over."""
    return bool(on.rows(MY_LEASE, me=me.inc_id))


def line(action: str, run_id: str, actor: str = "scheduler", **detail: object) -> dict[str, object]:
    """Return one line of the logbook about a run, as `say` writes it."""
    job = parse_run_id(run_id).job
    return {"actor": actor, "action": action, "run_id": run_id, "job": job, "detail": rows.json_text(detail)}


def say(on: Transaction, lines: Iterable[dict[str, object]]) -> None:
    """Write lines into the logbook, at the database's time."""
    if many := list(lines):
        on.each(_LINE, many)


def update_run(**values: Any) -> Update:
    """Return the beginning of every write to a run."""
    return update(schema.runs).values(updated_at=db_now(), **values)


def plain(text: str) -> str:
    """Return the text as every database can hold it."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


def instant(value: int | None) -> datetime:
    """Return an instant that is never null in the rows that it is read from."""
    assert value is not None
    return rows.instant(value)


def tags_text(tags: Iterable[str]) -> str:
    """Return tags as they stand in a row."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def tags_of(text: str) -> tuple[str, ...]:
    """Return the inverse of `tags_text`."""
    return tuple(json.loads(text)) if text else ()
