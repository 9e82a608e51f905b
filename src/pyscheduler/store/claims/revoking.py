"""What the dead leave: S7a, S7b, S17. Spec: claims.md C5 as amended by DESIGN 6 ("Two windows", "Adopt").

What must always hold:

- the other's row is locked for oneself before anything is judged: no claim and no start of its slips in behind, because
  both hold that row shared. A plain UPDATE would not conflict with them (claims.md, S7);
- times are looked at after the lock, in a statement of their own: while one waits for a lock time goes on;
- a started attempt is revoked by proof that covers *it*, by an administrator, or after `reclaim_after`; nothing else;
- a window is a run's own: an incarnation is fenced by it when the windows of all that it has started have passed, and
  loses before that only the runs whose own has. What it has not started waits for S7a, as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, bindparam, null, select, text, update

from pyscheduler.model.lease import MAX_LOST, Identity, OnLost, Proof, ProofKind, Seen
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store import schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Fenced, Held
from pyscheduler.store.claims.words import (
    MY_LEASE,
    NODE,
    attempts,
    db_now,
    leases,
    line,
    micros_of,
    plain,
    runs,
    say,
    update_run,
)
from pyscheduler.store.hints import Hint
from pyscheduler.store.statements import compiled, on_index

_their: Final = and_(leases.name == bindparam("who"), leases.kind == NODE)
_LOCK_LEASE: Final = compiled(select(leases.hb_seq, leases.host_id, leases.fenced_at).where(_their).with_for_update())
_SHARE_LEASE: Final = compiled(select(leases.host_id).where(_their).with_for_update(read=True, key_share=True))
_IS_OVER: Final = compiled(
    select(leases.name).where(
        _their, leases.hb_seq == bindparam("seq"), leases.lease_until < db_now(), leases.fenced_at.is_(None)
    )
)
_SILENT: Final = compiled(
    select(db_now() - leases.renewed_at).where(_their, leases.hb_seq == bindparam("seq"), leases.lease_until < db_now())
)
FENCE: Final = compiled(
    update(schema.leases)
    .values(fenced_at=db_now(), fenced_by=bindparam("me"), fence_reason=bindparam("why"))
    .where(_their, leases.fenced_at.is_(None))
    .returning(leases.name)
)
_LOCK_OWNED: Final = compiled(
    select(runs.run_id, runs.token, runs.state, runs.cancel_requested, runs.on_lost, runs.lost_count, runs.reclaim_us)
    .where(runs.owner_inc == bindparam("who"))
    .order_by(runs.run_id)
    .with_for_update()
)
REVOKE: Final = compiled(
    update_run(
        state=bindparam("to"),
        owner_inc=null(),
        token=runs.token + 1,
        reason=bindparam("run_reason"),
        lost_count=runs.lost_count + bindparam("lost"),
    )
    .where(
        runs.run_id == bindparam("run"),
        runs.token == bindparam("held"),
        runs.owner_inc == bindparam("who"),
        runs.state == bindparam("was"),
    )
    .returning(runs.run_id)
)
_OFFER_AGAIN: Final = compiled(
    update_run(offered_at=db_now())
    .where(runs.run_id == bindparam("run"), runs.token == bindparam("held") + 1, runs.owner_inc.is_(None))
    .returning(runs.run_id)
)
_NO_OFFER: Final = compiled(
    update_run(offered_at=null())
    .where(runs.run_id == bindparam("run"), runs.token == bindparam("held") + 1, runs.owner_inc.is_(None))
    .returning(runs.run_id)
)
_REVOKE_ATTEMPT: Final = compiled(
    update(schema.attempts)
    .values(
        revoked_at=db_now(),
        revoke_reason=bindparam("why"),
        ended_at=db_now(),
        outcome=Outcome.LOST.value,
        reason=bindparam("why"),
    )
    .where(
        attempts.run_id == bindparam("run"),
        attempts.token == bindparam("held"),
        attempts.inc_id.is_not(None),
        attempts.revoked_at.is_(None),
    )
    .returning(attempts.run_id)
)
ADOPT: Final = compiled(
    update_run(owner_inc=bindparam("me"))
    .where(
        runs.run_id == bindparam("run"),
        runs.token == bindparam("held"),
        runs.owner_inc == bindparam("who"),
        runs.state == RunState.RUNNING,
    )
    .returning(runs.run_id)
)
_ADOPT_ATTEMPT: Final = compiled(
    update(schema.attempts)
    .values(inc_id=bindparam("me"))
    .where(
        attempts.run_id == bindparam("run"),
        attempts.token == bindparam("held"),
        attempts.inc_id == bindparam("who"),
        attempts.reported_at.is_(None),
        attempts.revoked_at.is_(None),
    )
    .returning(attempts.run_id)
)
_STRAYS: Final = compiled(
    on_index(
        select(runs.run_id, runs.token)
        .join(schema.leases, leases.name == runs.owner_inc)
        .where(leases.fenced_at.is_not(None), text(schema.IS_OWNED))
        .order_by(runs.run_id),
        schema.runs,
        "runs_owned",
    )
)


class _Row(NamedTuple):
    """An owned run, locked."""

    run_id: str
    token: int
    state: str
    cancel_requested: int
    on_lost: str
    lost_count: int
    reclaim_us: int

    @property
    def started(self) -> bool:
        return self.state == RunState.RUNNING

    @property
    def held(self) -> tuple[str, int]:
        return self.run_id, self.token


def hand_out_unstarted(on: Transaction, me: Identity, inc_id: str, why: Seen | Proof) -> list[str]:
    """S7a."""
    found = on.rows(_LOCK_LEASE, who=inc_id)
    if not found or found[0][2] is not None or not _may_hand_out(on, inc_id, why):
        return []
    claims = [row for row in _owned(on, inc_id) if not row.started]
    _revoke(on, inc_id, claims, "its claim was handed out again")
    say(on, _lines(claims, inc_id, me.inc_id, why))
    return [row.run_id for row in claims]


def fence(on: Transaction, me: Identity, inc_id: str, proof: Proof, reason: str) -> Fenced:
    """S7b."""
    found = on.rows(_LOCK_LEASE, who=inc_id)
    lacking = _lacking(me, inc_id, proof, found[0] if found else None)
    owned = [] if lacking else _owned(on, inc_id)
    lacking = lacking or _not_covered(owned, proof)
    if lacking:
        return Fenced(done=False, why=lacking)
    if proof.kind is ProofKind.WINDOW and (short := _within_window(on, me, inc_id, proof, owned, reason)) is not None:
        return short
    why = plain(reason)
    on.rows(FENCE, who=inc_id, me=proof.by or me.inc_id, why=why)
    _revoke(on, inc_id, owned, why)
    say(on, _lines(owned, inc_id, proof.by or me.inc_id, proof))
    over = _cancelled(owned)
    return Fenced(
        done=True,
        claimed=tuple(row.run_id for row in owned if not row.started and row.run_id not in over),
        running=tuple(row.run_id for row in owned if row.started),
        cancelled=over,
    )


def _within_window(
    on: Transaction, me: Identity, inc_id: str, proof: Proof, owned: Sequence[_Row], reason: str
) -> Fenced | None:
    """Return what came of it where not every window has passed: the runs whose own has are taken. None: all have."""
    assert proof.seen is not None
    silent = on.rows(_SILENT, who=inc_id, seq=proof.seen.hb_seq)
    window_us = micros_of(proof.reclaim_after_s)
    started = [row for row in owned if row.started]
    over = [row for row in started if silent and (row.reclaim_us or window_us) < silent[0][0]]
    if silent and len(over) == len(started) and window_us < silent[0][0]:
        return None
    if not over:
        return Fenced(done=False, why="it has given a sign of life within the reclaim window")
    _revoke(on, inc_id, over, plain(reason))
    say(on, _lines(over, inc_id, proof.by or me.inc_id, proof))
    return Fenced(
        done=False,
        why="the reclaim window of the scheduler, or of other runs of its, has not passed",
        running=tuple(row.run_id for row in over),
        cancelled=_cancelled(over),
    )


def adopt(on: Transaction, me: Identity, inc_id: str, held: Held, proof: Proof) -> bool:
    """S17. Both rows are held shared, in the order of their names: neither can be fenced meanwhile."""
    if proof.inc_id != inc_id or proof.kind is not ProofKind.DEAD or inc_id == me.inc_id:
        return False
    hosts: dict[str, str] = {}
    for name in sorted((me.inc_id, inc_id)):
        rows = on.rows(MY_LEASE, me=name) if name == me.inc_id else on.rows(_SHARE_LEASE, who=name)
        if not rows:
            return False
        hosts[name] = rows[0][-1]
    if not hosts[inc_id] or hosts[inc_id] != hosts[me.inc_id]:
        return False
    values = {"me": me.inc_id, "who": inc_id, "run": held.run_id, "held": held.token}
    if not on.rows(ADOPT, **values):
        return False
    adopted = on.rows(_ADOPT_ATTEMPT, **values)
    assert adopted, "a running run has an attempt under its token that has not ended"
    say(on, [line("adopted", held.run_id, token=held.token, inc_id=me.inc_id, owner_before=inc_id)])
    return True


def strays(on: Transaction) -> list[Held]:
    """Return runs that belong to a fenced incarnation. There are none; one that is found is an alarm."""
    return [Held(run_id, token) for run_id, token in on.rows(_STRAYS)]


# --------------------------------------------------------------------------- what is lacking


def _may_hand_out(on: Transaction, inc_id: str, why: Seen | Proof) -> bool:
    if isinstance(why, Proof):
        return why.inc_id == inc_id and why.kind in (ProofKind.DEAD, ProofKind.REBOOT)
    return why.name == inc_id and bool(on.rows(_IS_OVER, who=inc_id, seq=why.hb_seq))


def _lacking(me: Identity, inc_id: str, proof: Proof, found: Sequence[Any] | None) -> str:
    if found is None:
        return "there is no such incarnation"
    if inc_id == me.inc_id:
        return "nobody fences himself"
    if found[2] is not None:
        return "it is fenced already"
    if proof.inc_id != inc_id:
        return "the proof is of another incarnation"
    if proof.kind is not ProofKind.WINDOW:
        return ""
    if proof.seen is None or proof.seen.name != inc_id or not proof.reclaim_after_s > 0:
        return "its row was not watched"
    return ""


def _not_covered(owned: Iterable[_Row], proof: Proof) -> str:
    """Say which started attempts may still run for all that a scheduler's death proves."""
    if proof.kind is not ProofKind.DEAD:
        return ""
    alive = [row.run_id for row in owned if row.started and row.held not in proof.lost]
    return f"these attempts of its may still run: {', '.join(alive)}" if alive else ""


# --------------------------------------------------------------------------- what becomes of its runs


def _owned(on: Transaction, inc_id: str) -> list[_Row]:
    return [_Row(*row) for row in on.rows(_LOCK_OWNED, who=inc_id)]


def _revoke(on: Transaction, inc_id: str, owned: Sequence[_Row], why: str) -> None:
    """Take these runs, which are locked, from their owner."""
    becomes = [(row, *_after(row)) for row in owned]
    moved = on.each(
        REVOKE,
        [
            {
                "run": row.run_id,
                "held": row.token,
                "who": inc_id,
                "was": row.state,
                "to": to.value,
                "run_reason": reason,
                "lost": int(row.started),
            }
            for row, to, reason in becomes
        ],
    )
    assert all(moved), "a row that is locked does not change"
    if moved:
        on.hint(Hint.OFFERED)
        on.hint(Hint.NEWS)
    again = [row for row, to, _ in becomes if row.started and to is RunState.QUEUED]
    on.each(_OFFER_AGAIN, [{"run": row.run_id, "held": row.token} for row in again])
    # the engine's own: its answer to the wish is awaited, and nobody may claim it meanwhile
    asked = [row for row in owned if row.cancel_requested and not row.started and row.on_lost == OnLost.ENGINE]
    on.each(_NO_OFFER, [{"run": row.run_id, "held": row.token} for row in asked])
    started = [row for row in owned if row.started]
    on.each(_REVOKE_ATTEMPT, [{"run": row.run_id, "held": row.token, "why": why} for row in started])


def _cancelled(owned: Iterable[_Row]) -> tuple[str, ...]:
    """Return those that somebody had wanted cancelled, and about which no engine decides."""
    return tuple(row.run_id for row in owned if row.cancel_requested and row.on_lost != OnLost.ENGINE)


def _after(row: _Row) -> tuple[RunState, str]:
    """Return what a run becomes when it is taken from its owner, and why. DESIGN 6, claims.md B27."""
    if row.on_lost == OnLost.ENGINE:
        return RunState(row.state), ""  # its engine reads that the attempt is lost, and decides
    if row.cancel_requested:
        return RunState.CANCELLED, "cancelled while its owner was lost"
    if not row.started:
        return RunState.QUEUED, ""
    if row.on_lost == OnLost.RERUN and row.lost_count + 1 <= MAX_LOST:
        return RunState.QUEUED, "started again: the attempt was lost"
    return RunState.FAILED, "lost"


def _lines(owned: Iterable[_Row], inc_id: str, by: str, why: Seen | Proof) -> list[dict[str, object]]:
    detail = {"inc_id": inc_id, "by": by, "proof": why.kind.value if isinstance(why, Proof) else "seen"}
    return [
        line("lost_running" if row.started else "lost_claimed", row.run_id, token=row.token, **detail) for row in owned
    ]
