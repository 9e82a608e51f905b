"""The authority's lease: S9, S10, S14. Spec: claims.md C5, C8.

What must always hold: the row is never removed and its epoch never decreases; a takeover holds it for itself, so it
waits for every transaction that the deposed authority still has open (`guarded.py` holds it shared), and none follows.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import and_, bindparam, func, null, select, update

from pyscheduler.model.lease import AUTHORITY, Identity, Seen, Timing
from pyscheduler.store import rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import AuthorityRow
from pyscheduler.store.claims.words import NODE, db_now, holds, instant, leases, micros_of
from pyscheduler.store.hints import Hint
from pyscheduler.store.statements import compiled

_row: Final = leases.name == AUTHORITY
_LOCK: Final = compiled(
    select(leases.epoch, leases.hb_seq, leases.holder_inc, leases.released).where(_row).with_for_update()
)
_IS_OVER: Final = compiled(select(leases.name).where(_row, leases.lease_until < db_now()))
_IS_FENCED: Final = compiled(
    select(leases.name).where(leases.name == bindparam("who"), leases.kind == NODE, leases.fenced_at.is_not(None))
)
_lease_until: Final = db_now() + bindparam("lease_us", type_=schema.BIG)
TAKE: Final = compiled(
    update(schema.leases)
    .values(
        epoch=leases.epoch + 1,
        holder_inc=bindparam("me"),
        released=0,
        hb_seq=0,
        stale_seq=null(),  # a mark is of one epoch: its count begins anew
        stale_at=null(),
        started_at=db_now(),
        renewed_at=db_now(),
        lease_until=_lease_until,
    )
    .where(_row, leases.epoch == bindparam("was"))
    .returning(leases.epoch)
)
_mine: Final = and_(_row, leases.holder_inc == bindparam("me"), leases.epoch == bindparam("mine"), leases.released == 0)
GUARD: Final = compiled(select(leases.name).where(_mine).with_for_update(read=True, key_share=True))
"""S11: the first statement of every transaction of the authority."""
RENEW: Final = compiled(
    update(schema.leases)
    .values(hb_seq=leases.hb_seq + 1, renewed_at=db_now(), lease_until=_lease_until)
    .where(_mine)
    .returning(leases.name)
)
RESIGN: Final = compiled(update(schema.leases).values(released=1).where(_mine))

_holder: Final = schema.leases.alias("holder")
_LOOK: Final = compiled(
    select(
        leases.epoch,
        leases.holder_inc,
        leases.hb_seq,
        leases.renewed_at,
        leases.lease_until,
        leases.released,
        func.coalesce(_holder.c.address, ""),
        func.coalesce(_holder.c.node, ""),
        select(func.coalesce(func.max(schema.configs.c.version), 0)).scalar_subquery(),
        db_now(),
    )
    .select_from(schema.leases.outerjoin(_holder, _holder.c.name == leases.holder_inc))
    .where(_row)
)


def take(on: Transaction, me: Identity, timing: Timing, seen: Seen | None) -> int | None:
    """S9. The authority's row is locked first, then mine, as everywhere."""
    found = on.rows(_LOCK)
    if not found or not holds(on, me):
        return None
    epoch, hb_seq, holder, released = found[0]
    if not (released or holder in (None, me.inc_id) or _is_lost(on, holder, Seen(AUTHORITY, hb_seq, epoch), seen)):
        return None
    ((taken,),) = on.rows(TAKE, me=me.inc_id, was=epoch, lease_us=micros_of(timing.authority_lease_s))
    return int(taken)


def _is_lost(on: Transaction, holder: str, is_now: Seen, seen: Seen | None) -> bool:
    return bool(on.rows(_IS_FENCED, who=holder)) or (seen == is_now and bool(on.rows(_IS_OVER)))


def renew(on: Transaction, me: Identity, timing: Timing, epoch: int) -> bool:
    """S10."""
    return bool(on.rows(RENEW, me=me.inc_id, mine=epoch, lease_us=micros_of(timing.authority_lease_s)))


def resign(on: Transaction, me: Identity, epoch: int) -> None:
    """S14."""
    if on.change(RESIGN, me=me.inc_id, mine=epoch):
        on.hint(Hint.FREE)


def look(on: Transaction) -> AuthorityRow | None:
    """Return who is the authority; None before the first registration. One statement."""
    found = on.rows(_LOOK)
    if not found:
        return None
    epoch, holder, hb_seq, renewed_at, lease_until, released, address, node, version, now = found[0]
    return AuthorityRow(
        epoch=epoch,
        holder=holder,
        hb_seq=hb_seq,
        renewed_at=rows.instant_or_none(renewed_at),
        lease_until=rows.instant_or_none(lease_until),
        released=bool(released),
        address=address,
        node=node,
        config_version=version,
        now=instant(now),
    )
