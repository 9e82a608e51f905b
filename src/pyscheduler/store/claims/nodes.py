"""My own row and everybody's: S0, S1, S16, drain, and what may be seen of nodes. Spec: claims.md C5.

What must always hold: a row is written under its incarnation's name once, is never taken by another, and once fenced is
never renewed: `fenced_at` stands in the WHERE of every renewal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    String,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from pyscheduler.model.lease import AUTHORITY, DAY_S, Identity, Seen, Timing
from pyscheduler.store import schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Beat, NodeRow
from pyscheduler.store.claims.words import (
    NODE,
    NOW,
    attempts,
    db_now,
    instant,
    leases,
    micros_of,
    plain,
    runs,
    tags_of,
    tags_text,
)
from pyscheduler.store.dialects import SQLITE, insert_of
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Executable, any_row, compiled, made

_WHO: Final = (
    "host_id", "boot_id", "pid_ns", "pid", "start_ticks", "state_dir", "node", "tags", "capacity", "address",
)  # fmt: skip
LATELY_S: Final = 3600.0
"""For how long a fenced incarnation is still shown."""
KEEP_S: Final = DAY_S
WEEK_S: Final = 7 * DAY_S
_me: Final = and_(leases.name == bindparam("me"), leases.kind == NODE, leases.fenced_at.is_(None))

_REGISTER: Final = compiled(
    insert(schema.leases).values(
        name=bindparam("me"),
        kind=NODE,
        started_at=db_now(),
        renewed_at=db_now(),
        lease_until=db_now() + bindparam("lease_us", type_=schema.BIG),
        **{name: bindparam(name) for name in _WHO},
    )
)


def _found_authority(dialect: str) -> Executable:
    new = insert_of(dialect)(schema.leases).values(name=AUTHORITY, kind=AUTHORITY, released=1)
    once: Executable = new.on_conflict_do_nothing(index_elements=["name"])
    return once


_FOUND_AUTHORITY: Final = made(_found_authority)


def _heartbeat(dialect: str) -> Executable:
    """Renew the lease and ask what is to be stopped (a JSON list), in one statement."""
    listed_ids: Any = func.json_group_array if dialect == SQLITE else func.json_agg
    to_cancel = (
        select(cast(listed_ids(runs.run_id), String))
        .where(runs.owner_inc == bindparam("me"), runs.cancel_requested == 1)
        .scalar_subquery()
    )
    return (
        update(schema.leases)
        .values(
            hb_seq=leases.hb_seq + 1,
            renewed_at=db_now(),
            lease_until=db_now() + bindparam("lease_us", type_=schema.BIG),
        )
        .where(_me)
        .returning(leases.stopping, leases.draining, to_cancel)
    )


_HEARTBEAT: Final = made(_heartbeat)
_STOPPING: Final = compiled(update(schema.leases).values(stopping=1).where(_me))
_LOCK_ME: Final = compiled(select(leases.name).where(_me).with_for_update())
_IS_BUSY: Final = compiled(
    select(leases.name)
    .where(leases.name == AUTHORITY, leases.holder_inc == bindparam("me"), leases.released == 0)
    .union_all(select(runs.run_id).where(runs.owner_inc == bindparam("me")))
    .limit(1)
)
_LEAVE: Final = compiled(
    update(schema.leases).values(fenced_at=db_now(), fenced_by=bindparam("me"), fence_reason="exit").where(_me)
)
_MARK_STALE: Final = compiled(
    update(schema.leases)
    .values(stale_seq=leases.hb_seq, stale_at=db_now())
    .where(
        leases.name == bindparam("who"),
        leases.epoch == bindparam("which"),
        leases.hb_seq == bindparam("seq"),
        # an older mark of the same count says more
        or_(leases.stale_seq.is_(None), leases.stale_seq != leases.hb_seq),
    )
)
_SERVER_START: Final = "(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000)::BIGINT"


def _stale(dialect: str) -> Executable:
    """Find a mark of the observation time ago.

    One from before the server's start counts no more: while it was away nobody could renew, and gets the time to.
    """
    found = select(leases.hb_seq, leases.epoch).where(
        leases.name == bindparam("who"),
        leases.stale_seq == leases.hb_seq,
        leases.stale_at + bindparam("observe_us", type_=schema.BIG) < db_now(),
    )
    return found if dialect == SQLITE else found.where(leases.stale_at > literal_column(_SERVER_START))


_STALE: Final = made(_stale)
_DRAIN: Final = compiled(
    update(schema.leases)
    .values(draining=bindparam("draining"))
    .where(
        leases.kind == NODE,
        leases.fenced_at.is_(None),
        or_(leases.node == bindparam("who"), leases.name == bindparam("who")),
    )
    .returning(leases.name)
)


def _counts() -> tuple[Any, Any]:
    owned = select(func.count()).select_from(schema.runs).where(runs.owner_inc == leases.name).correlate(schema.leases)
    return (
        owned.where(runs.state == "queued").scalar_subquery(),
        owned.where(runs.state == "running").scalar_subquery(),
    )


_authority: Final = schema.leases.alias("authority")
_LISTED: Final = compiled(
    select(
        leases.name,
        *(leases[name] for name in _WHO),
        *(leases[name] for name in ("started_at", "renewed_at", "lease_until", "hb_seq", "stopping", "draining")),
        leases.fenced_at,
        func.coalesce(leases.fence_reason, ""),
        case(
            (
                exists().where(
                    _authority.c.name == AUTHORITY, _authority.c.holder_inc == leases.name, _authority.c.released == 0
                ),
                1,
            ),
            else_=0,
        ),
        *_counts(),
        db_now(),
    )
    .where(
        leases.kind == NODE,
        or_(leases.fenced_at.is_(None), leases.fenced_at > db_now() - bindparam("lately_us", type_=schema.BIG)),
    )
    .order_by(leases.started_at, leases.name)
)
_FORGET: Final = compiled(
    delete(schema.leases)
    .where(
        leases.kind == NODE,
        leases.fenced_at < db_now() - bindparam("keep_us", type_=schema.BIG),
        # what is named by something now is so for long: it is not looked at for ever
        leases.fenced_at > db_now() - bindparam("last_us", type_=schema.BIG),
        ~exists().where(runs.owner_inc == leases.name),
        ~any_row(
            select(attempts.inc_id)
            .where(attempts.inc_id == leases.name, attempts.inc_id.is_not(None))
            .correlate(schema.leases)
        ),
        ~exists().where(_authority.c.name == AUTHORITY, _authority.c.holder_inc == leases.name),
    )
    .returning(leases.name)
)


def register(on: Transaction, me: Identity, timing: Timing) -> None:
    """S0; and rows of the dead that nothing names go, so that a `tick` a minute does not fill the store."""
    on.change(_FOUND_AUTHORITY)
    forget(on, KEEP_S)
    who = {name: getattr(me, name) for name in _WHO}
    texts = {name: plain(value) for name, value in who.items() if isinstance(value, str)}
    on.change(
        _REGISTER,
        me=me.inc_id,
        lease_us=micros_of(timing.lease_s),
        **(who | texts | {"tags": tags_text(map(plain, me.tags))}),
    )


def heartbeat(on: Transaction, me: Identity, timing: Timing) -> Beat | None:
    """S1, one statement: a lease is renewed as often as it is asked what is to be stopped."""
    found = on.rows(_HEARTBEAT, me=me.inc_id, lease_us=micros_of(timing.lease_s))
    if not found:
        return None
    ((stopping, draining, to_cancel),) = found
    return Beat(
        cancel_requested=frozenset(json.loads(to_cancel or "[]")), stopping=bool(stopping), draining=bool(draining)
    )


def set_stopping(on: Transaction, me: Identity) -> None:
    """Say that I am stopping."""
    on.change(_STOPPING, me=me.inc_id)


def unregister(on: Transaction, me: Identity) -> bool:
    """S16. My row is held first, so that nothing becomes mine meanwhile."""
    if not on.rows(_LOCK_ME, me=me.inc_id) or on.rows(_IS_BUSY, me=me.inc_id):
        return False
    return on.change(_LEAVE, me=me.inc_id) == 1


def mark_stale(on: Transaction, seen: Seen) -> None:
    """Leave word that this row stood at this count now."""
    on.change(_MARK_STALE, who=seen.name, which=seen.epoch, seq=seen.hb_seq)


def stale(on: Transaction, name: str, timing: Timing) -> Seen | None:
    """Return what an earlier pass left word of."""
    observe_s = timing.authority_observe_s if name == AUTHORITY else timing.observe_s
    found = on.rows(_STALE, who=name, observe_us=micros_of(observe_s))
    return Seen(name, *found[0]) if found else None


def listed(on: Transaction) -> list[NodeRow]:
    """Return every incarnation's row."""
    return [_node_of(row) for row in on.rows(_LISTED, lately_us=micros_of(LATELY_S))]


def forget(on: Transaction, keep_s: float) -> list[str]:
    """Remove rows that nothing refers to any more and that were fenced so long ago, a week more at most."""
    keep_us = micros_of(keep_s)
    return sorted(name for (name,) in on.rows(_FORGET, keep_us=keep_us, last_us=keep_us + micros_of(WEEK_S)))


def drain(on: Transaction, node: str, *, draining: bool) -> list[str]:
    """Let a node take nothing new, or again."""
    return sorted(name for (name,) in on.rows(_DRAIN, who=node, draining=int(draining)))


def now(on: Transaction) -> datetime:
    """Return the database's clock."""
    return instant(on.rows(NOW)[0][0])


def _node_of(row: Row) -> NodeRow:
    name, *who = row[: 1 + len(_WHO)]
    said = dict(zip(_WHO, who, strict=True)) | {"tags": tags_of(who[_WHO.index("tags")])}
    times: Sequence[Any] = row[1 + len(_WHO) :]
    started_at, renewed_at, lease_until, hb_seq, stopping, draining, fenced_at, why, leads, claimed, running, at = times
    return NodeRow(
        inc_id=name,
        **said,
        started_at=instant(started_at),
        renewed_at=instant(renewed_at),
        lease_until=instant(lease_until),
        hb_seq=hb_seq,
        stopping=bool(stopping),
        draining=bool(draining),
        fenced_at=None if fenced_at is None else instant(fenced_at),
        fence_reason=why,
        is_authority=bool(leads),
        claimed=claimed,
        running=running,
        now=instant(at),
    )
