"""What a B test looks at in the store, and what it forges there: the tables themselves, past every rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update

from pyscheduler.store import schema
from pyscheduler.store.claims import Door
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.statements import compiled


class RunRow(NamedTuple):
    """One run."""

    run_id: str
    state: str
    token: int
    owner: str | None
    attempt: int
    claimed_at: int | None
    reason: str


_runs, _events, _leases = schema.runs.c, schema.events.c, schema.leases.c
_RUNS = compiled(
    select(
        _runs.run_id, _runs.state, _runs.token, _runs.owner_inc, _runs.attempt, _runs.claimed_at, _runs.reason
    ).order_by(_runs.scheduled_at, _runs.job, _runs.seq)
)
_LINES = compiled(select(_events.run_id).where(_events.action == bindparam("action")).order_by(_events.id))
_INCARNATIONS = compiled(select(_leases.name).where(_leases.kind == "node"))


def run_rows(door: Door) -> list[RunRow]:
    """Return every run, in due order."""
    return [RunRow(*row) for row in door.write(lambda on: on.rows(_RUNS))]


def lines_of(door: Door, action: str) -> list[str]:
    """Return the runs of which the logbook has a line of this kind."""
    return [row[0] for row in door.write(lambda on: on.rows(_LINES, action=action))]


def incarnations(door: Door) -> set[str]:
    """Return every incarnation whose row is there."""
    return {row[0] for row in door.write(lambda on: on.rows(_INCARNATIONS))}


def forge_lease(door: Door, **values: Any) -> None:
    """Change every node's row as no scheduler would."""
    statement = compiled(update(schema.leases).values(**values).where(_leases.kind == "node"))
    door.write(lambda on: on.change(statement, **values))


def do(door: Door, sql: str) -> None:
    """Do something to the database itself."""
    from pyscheduler.store.statements import Statement

    def work(on: Transaction) -> None:
        on.change(Statement(sql, (), {}, lambda _dialect: _raw(sql)))

    door.write(work)


def _raw(sql: str) -> Any:
    from sqlalchemy import text

    return text(sql)


Look = Callable[[Transaction], Any]
