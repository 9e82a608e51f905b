"""How jobs stand on a shared store: what became of the last run, the last success, and who has what is open now.

Only looking; what is read here is never a reason to write (claims.md B10) but for one thing: whether a run of a job
still goes, which `tick` and `work` ask while they are the authority, so that nobody else makes runs meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Protocol, cast

from sqlalchemy import bindparam, select, text

from pyscheduler.model.run import RunState
from pyscheduler.store import rows, schema
from pyscheduler.store.claims import making, words
from pyscheduler.store.claims.door import Door, Transaction
from pyscheduler.store.claims.shapes import Marks
from pyscheduler.store.peek import Peek
from pyscheduler.store.statements import Statement, compiled, is_one_of

_runs: Final = schema.runs.c
_leases: Final = schema.leases.c


class Asked(Protocol):
    """A snapshot or a transaction, as far as it is asked."""

    def rows(self, statement: Statement, **values: object) -> list[rows.Row]: ...


RECENT: Final = 20
"""Open runs that are told of one job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that has not ended. The owner's fields are empty where nobody has it."""

    run_id: str
    state: RunState
    scheduled_at: datetime
    token: int
    claimed_at: datetime | None
    owner: str | None
    node: str
    host_id: str
    pid: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run that has. `ended_at` is when that was stored, by the database's clock."""

    run_id: str
    state: RunState
    scheduled_at: datetime
    ended_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One job: its last ended run, its last success, and the open runs, the oldest first, RECENT at most."""

    job: str
    last: EndedRun | None
    success: EndedRun | None
    open: tuple[OpenRun, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """Which jobs have a run that somebody has, and which have one that has not ended."""

    going: frozenset[str]
    open: frozenset[str]


def busy_jobs(door: Door, jobs: Iterable[str]) -> Busy:
    """Return which of the jobs are busy. Raises StoreError."""
    names = json.dumps(sorted(jobs))
    found = door.alone(lambda on: on.rows(_busy(), jobs=names))
    going = frozenset(job for job, state, owner in found if owner is not None or state == RunState.RUNNING.value)
    return Busy(going, frozenset(row[0] for row in found))


def standings(door: Door, jobs: Iterable[str]) -> dict[str, Standing]:
    """Return how each of the jobs stands. Raises StoreError."""
    names = sorted(jobs)
    return door.write(lambda on: {name: _standing(on, name) for name in names})


def peeked(peek: Peek, jobs: Iterable[str]) -> dict[str, Standing]:
    """Return the same from one snapshot, which holds nobody up. Raises StoreError."""
    names = sorted(jobs)
    return peek._read(lambda snapshot: {name: _standing(snapshot, name) for name in names})  # noqa: SLF001 - one more read


def marks(peek: Peek, jobs: Iterable[str]) -> Marks:
    """Return up to when each job's firings were made into runs. Raises StoreError."""
    wanted = tuple(jobs)
    return peek._read(lambda snapshot: making.marks(cast("Transaction", snapshot), wanted))  # noqa: SLF001


def now(peek: Peek) -> datetime:
    """Return the server's clock. Raises StoreError."""
    return peek._read(lambda snapshot: rows.instant(snapshot.value(words.NOW)))  # noqa: SLF001


def _standing(on: Asked, job: str) -> Standing:
    return Standing(
        job=job,
        last=_ended(on.rows(_last(), job=job)),
        success=_ended(on.rows(_last_success(), job=job)),
        open=tuple(map(_open, on.rows(_open_runs(), job=job))),
    )


def _ended(found: list[rows.Row]) -> EndedRun | None:
    if not found:
        return None
    run_id, state, scheduled_at, updated_at, reason = found[0]
    return EndedRun(
        run_id=run_id,
        state=RunState(state),
        scheduled_at=rows.instant(scheduled_at),
        ended_at=rows.instant(updated_at),
        reason=reason,
    )


def _open(row: rows.Row) -> OpenRun:
    run_id, state, scheduled_at, token, claimed_at, owner, node, host_id, pid = row
    return OpenRun(
        run_id=run_id,
        state=RunState(state),
        scheduled_at=rows.instant(scheduled_at),
        token=token,
        claimed_at=rows.instant_or_none(claimed_at),
        owner=owner,
        node=node or "",
        host_id=host_id or "",
        pid=pid,
    )


# --------------------------------------------------------------------------- the statements


@cache
def _busy() -> Statement:
    columns = (_runs.job, _runs.state, _runs.owner_inc)
    return compiled(select(*columns).distinct().where(text(schema.IS_OPEN), is_one_of(_runs.job, "jobs")))


_ENDED = (_runs.run_id, _runs.state, _runs.scheduled_at, _runs.updated_at, _runs.reason)


@cache
def _last() -> Statement:
    return compiled(
        select(*_ENDED)
        .where(text(schema.IS_FINAL), _runs.job == bindparam("job"))
        .order_by(_runs.scheduled_at.desc(), _runs.run_id.desc())
        .limit(1)
    )


@cache
def _last_success() -> Statement:
    state = _runs.state == RunState.SUCCEEDED.value
    return compiled(
        select(*_ENDED)
        .where(text(schema.IS_FINAL), _runs.job == bindparam("job"), state)
        .order_by(_runs.scheduled_at.desc(), _runs.run_id.desc())
        .limit(1)
    )


@cache
def _open_runs() -> Statement:
    owner = schema.runs.outerjoin(schema.leases, _runs.owner_inc == _leases.name)
    columns = (_runs.run_id, _runs.state, _runs.scheduled_at, _runs.token, _runs.claimed_at, _runs.owner_inc)
    whose = (_leases.node, _leases.host_id, _leases.pid)
    return compiled(
        select(*columns, *whose)
        .select_from(owner)
        .where(text(f"runs.{schema.IS_OPEN}"), _runs.job == bindparam("job"))
        .order_by(_runs.scheduled_at, _runs.run_id)
        .limit(RECENT)
    )
