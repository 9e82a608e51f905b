"""What a batch must respect where nodes own rows of the same store: the authority's part of DESIGN 6.

What must always hold, in one transaction with the batch itself: the authority's row is held shared from the first
statement on (S11), so whoever was deposed writes nothing; every run of the batch is locked, in the order of run ids as
everywhere in the claims, and belongs to nobody; an offer takes with it the wish to end that an earlier attempt met.

`AuthorityLost` says that another leads. `RowOwned` says that our own book is wrong about a run: a bug, or a row that
was changed by hand. Nothing was written then, and the engine opens the store again and reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Final

from sqlalchemy import and_, bindparam, exists, null, or_, select, update

from pyscheduler.errors import StoreError
from pyscheduler.model.batch import Batch
from pyscheduler.model.run import Attempt
from pyscheduler.store import columns, rows, schema
from pyscheduler.store.claims.words import micros_of, tags_text
from pyscheduler.store.hints import Hint
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.statements import compiled, is_one_of
from pyscheduler.store.transaction import Transaction

_runs: Final = schema.runs.c
_attempts: Final = schema.attempts.c

LOCK_RUNS: Final = compiled(
    select(_runs.run_id, _runs.owner_inc).where(is_one_of(_runs.run_id, "ids")).order_by(_runs.run_id).with_for_update()
)
PLACE: Final = compiled(
    update(schema.runs)
    .values(
        cancel_requested=0,
        on_lost="",
        node=bindparam("where"),
        node_tags=bindparam("tags"),
        reclaim_us=bindparam("window"),
    )
    .where(_runs.run_id == bindparam("run"), _runs.owner_inc.is_(None))
    .returning(_runs.run_id)
)
ASK: Final = compiled(
    update(schema.runs)
    .values(cancel_requested=1)
    .where(
        _runs.run_id == bindparam("run"),
        _runs.attempt == bindparam("number"),
        _runs.owner_inc.is_not(None),
        _runs.state == "running",
    )
    .returning(_runs.run_id)
)
_is_asked: Final = and_(
    _attempts.ended_at.is_(None), exists().where(_runs.run_id == bindparam("run"), _runs.cancel_requested == 1)
)
_awaits_decision: Final = exists().where(
    _runs.run_id == bindparam("run"),
    _runs.attempt == bindparam("number"),
    _runs.owner_inc.is_(None),
    _runs.state == "running",
)
"""It has ended, and the engine has not heard of that: a kill that is answered counts after a crash as well."""
SIGN: Final = compiled(
    update(schema.attempts)
    .values(kill_by=bindparam("who"))
    .where(
        _attempts.run_id == bindparam("run"),
        _attempts.attempt == bindparam("number"),
        or_(_is_asked, _awaits_decision),
    )
    .returning(_attempts.run_id)
)
_taken: Final = and_(_runs.state == "queued", _runs.owner_inc.is_(None), _runs.offered_at.is_not(None))
TAKE_BACK_ALL: Final = compiled(update(schema.runs).values(offered_at=null()).where(_taken).returning(_runs.run_id))
TAKE_BACK: Final = compiled(
    update(schema.runs).values(offered_at=null()).where(_taken, is_one_of(_runs.run_id, "ids")).returning(_runs.run_id)
)
RUNNING: Final = compiled(
    select(_runs.owner_inc, *(_attempts[name] for name in columns.ATTEMPT))
    .select_from(
        schema.runs.join(schema.attempts, and_(_attempts.run_id == _runs.run_id, _attempts.attempt == _runs.attempt))
    )
    .where(_runs.state == "running")
)


OWNER: Final = compiled(
    select(_attempts.inc_id).where(_attempts.run_id == bindparam("run"), _attempts.attempt == bindparam("number"))
)


class RowOwned(StoreError):
    """A batch was about to write a run that a node owns."""


class Sharing:
    """The two halves around a batch's own statements. `hold` takes S11's lock, and raises AuthorityLost."""

    def __init__(self, hold: Callable[[Transaction], None]) -> None:
        self._hold = hold

    def before(self, transaction: Transaction, batch: Batch) -> None:
        """Take the locks that the batch needs. Raises AuthorityLost, RowOwned."""
        self._hold(transaction)
        ids = [run.run_id for run in batch.runs] + list(batch.deleted_runs)
        if not ids:
            return
        owned = [run_id for run_id, owner in transaction.rows(LOCK_RUNS, ids=json.dumps(ids)) if owner is not None]
        if owned:
            what = f"{', '.join(owned[:3])} belongs to a node by now: nothing was written"
            raise RowOwned(what, mend="the store is opened again by itself; if that comes back it is a bug")

    def take_back(self, transaction: Transaction, run_ids: Collection[str] | None) -> set[str]:
        """End these offers, None for all; returns the runs that nobody had claimed. Raises AuthorityLost."""
        self._hold(transaction)
        if run_ids is None:
            found = transaction.rows(TAKE_BACK_ALL)
        else:
            found = transaction.rows(TAKE_BACK, ids=json.dumps(sorted(run_ids)))
        return {run_id for (run_id,) in found}

    def after(self, transaction: Transaction, batch: Batch) -> None:
        """Say where offered runs may be claimed, and ask owners to end what somebody wants killed."""
        offers: list[dict[str, object]] = [
            {
                "run": each.run_id,
                "where": each.node,
                "tags": tags_text(each.tags),
                "window": micros_of(each.reclaim_after_s),
            }
            for each in sorted(batch.offers, key=lambda each: each.run_id)
        ]
        if offers:
            transaction.each(PLACE, offers)
            transaction.hint(Hint.OFFERED)
        kills = sorted(batch.kills, key=lambda kill: kill.run_id)
        if kills:
            transaction.each(ASK, [{"run": kill.run_id, "number": kill.attempt} for kill in kills])
            transaction.hint(Hint.ASKED)
            transaction.each(SIGN, [{"run": one.run_id, "number": one.attempt, "who": one.by} for one in kills])


def running(snapshot: Snapshot) -> list[tuple[str | None, Attempt]]:
    """Return the owner and the latest attempt of every run that is running; without owner it has ended or was lost."""
    return [(row[0], rows.attempt_of(row[1:])) for row in snapshot.rows(RUNNING)]


def owner_of(snapshot: Snapshot, run_id: str, attempt: int) -> str | None:
    """Return the incarnation that an attempt was granted to, or that adopted it."""
    found: str | None = snapshot.value(OWNER, run=run_id, number=attempt)
    return found
