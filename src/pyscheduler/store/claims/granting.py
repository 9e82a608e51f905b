"""Taking runs, starting them, giving them back: S2, S3, S5, S6, S8. Spec: claims.md C5.

What must always hold: a grant is one statement that raises the token and writes the owner; a start is committed before
anything executes, under my own row's share lock, and at most once for each grant (`attempts_of_grant`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    text,
)

from pyscheduler.model.lease import Identity, OnLost
from pyscheduler.model.run import RunState, Trigger
from pyscheduler.store import rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Claim, Held, Owned, Start
from pyscheduler.store.claims.words import (
    NODE,
    attempts,
    db_now,
    holds,
    instant,
    leases,
    line,
    plain,
    runs,
    say,
    tags_of,
    tags_text,
    update_run,
)
from pyscheduler.store.hints import Hint
from pyscheduler.store.statements import Statement, compiled, is_one_of, json_list

_ORDER: Final = ("offered_at", "scheduled_at", "run_id")
_GRANTED: Final = (
    "run_id", "token", "job", "run_date", "scheduled_at", "trigger", "attempt", "config_version", "claimed_at",
    "on_lost", "node", "node_tags", "offered_at",
)  # fmt: skip


def _has_my_tags() -> ColumnElement[bool]:
    """Whether every tag that the run asks for is one of mine: both are JSON lists."""
    wanted = func.json_each(runs.node_tags).table_valued(column("value", String), name="wanted")
    mine = json_list("tags", "mine")
    return ~exists(select(wanted.c.value).where(wanted.c.value.not_in(select(mine.c.value))))


def _claim(*narrower: ColumnElement[bool]) -> Statement:
    me = (
        select(leases.name)
        .where(
            leases.name == bindparam("me"),
            leases.kind == NODE,
            leases.fenced_at.is_(None),
            leases.stopping == 0,
            leases.draining == 0,
            leases.lease_until > db_now(),
        )
        .with_for_update(read=True, key_share=True)
        .cte("me")
        .prefix_with("MATERIALIZED")
    )
    pick = (
        select(runs.run_id)
        .where(
            text(schema.IS_OFFERED),
            or_(runs.node == "", runs.node == bindparam("node")),
            _has_my_tags(),
            exists(select(me.c.name)),
            *narrower,
        )
        .order_by(*(runs[name] for name in _ORDER))
        .limit(bindparam("count"))
        .with_for_update(skip_locked=True, of=schema.runs)
        .cte("pick")
        # without it the LIMIT may be applied to a plan that is run again for each row
        .prefix_with("MATERIALIZED")
    )
    return compiled(
        update_run(token=runs.token + 1, owner_inc=bindparam("me"), claimed_at=db_now())
        .where(runs.run_id.in_(select(pick.c.run_id)))
        .returning(*(runs[name] for name in _GRANTED))
    )


CLAIM: Final = _claim()
CLAIM_OF: Final = _claim(is_one_of(runs.job, "jobs"))

_is_mine: Final = and_(
    runs.run_id == bindparam("run"), runs.token == bindparam("held"), runs.owner_inc == bindparam("me")
)
START: Final = compiled(
    update_run(state="running", attempt=bindparam("number"), offered_at=null(), reason="")
    .where(
        _is_mine,
        runs.state == RunState.QUEUED,
        runs.cancel_requested == 0,
        ~exists().where(
            attempts.run_id == bindparam("run"),
            or_(attempts.attempt == bindparam("number"), attempts.token == bindparam("held")),
        ),
    )
    .returning(runs.run_id)
)
_ATTEMPT: Final = (
    "run_id", "token", "attempt", "key", "config_version", "boot_id", "stdout_path", "stderr_path", "status_path",
    "note",
)  # fmt: skip
_ADD_ATTEMPT: Final = compiled(
    insert(schema.attempts)
    .values(
        started_at=db_now(),
        reason="",
        inc_id=bindparam("me"),
        **{name: bindparam(name) for name in _ATTEMPT},
    )
    .returning(attempts.run_id)
)

_is_over: Final = or_(runs.cancel_requested == 1, bindparam("cancelled") == 1)
HAND_BACK: Final = compiled(
    update_run(
        token=runs.token + 1,
        owner_inc=null(),
        state=case((and_(_is_over, runs.on_lost != OnLost.ENGINE), "cancelled"), else_="queued"),
        # what the engine decides about waits for its word, not for the next claim
        offered_at=case((_is_over, null()), else_=runs.offered_at),
    )
    .where(_is_mine, runs.state == RunState.QUEUED)
    .returning(runs.run_id, runs.state)
)

_LOCK_STARTED: Final = compiled(
    select(runs.run_id, runs.cancel_requested, runs.on_lost)
    .where(_is_mine, runs.state == RunState.RUNNING)
    .with_for_update()
)
_UNDO_ATTEMPT: Final = compiled(
    delete(schema.attempts)
    .where(
        attempts.run_id == bindparam("run"),
        attempts.token == bindparam("held"),
        attempts.inc_id == bindparam("me"),
        attempts.reported_at.is_(None),
    )
    .returning(attempts.run_id)
)
ABORT: Final = compiled(
    update_run(
        token=runs.token + 1,
        owner_inc=null(),
        state=case((and_(runs.cancel_requested == 1, runs.on_lost != OnLost.ENGINE), "cancelled"), else_="queued"),
        offered_at=case((runs.cancel_requested == 1, null()), else_=db_now()),
        # the try is not spent; the engine has its own count
        attempt=case((runs.on_lost == OnLost.ENGINE, runs.attempt), else_=runs.attempt - 1),
    )
    .where(_is_mine, runs.state == RunState.RUNNING)
    .returning(runs.run_id)
)

_OF_ATTEMPT: Final = (
    attempts.key,
    attempts.boot_id,
    attempts.stdout_path,
    attempts.stderr_path,
    attempts.status_path,
    attempts.started_at,
    runs.on_lost,
    runs.reclaim_us,
)
_OWNED: Final = compiled(
    select(
        runs.run_id,
        runs.token,
        runs.owner_inc,
        runs.state,
        runs.cancel_requested,
        runs.job,
        runs.attempt,
        runs.config_version,
        *_OF_ATTEMPT,
    )
    .select_from(
        schema.runs.outerjoin(
            schema.attempts,
            and_(attempts.run_id == runs.run_id, attempts.token == runs.token, attempts.inc_id.is_not(None)),
        )
    )
    .where(runs.owner_inc == bindparam("who"))
    .order_by(runs.run_id)
)
_REVOKED: Final = compiled(
    select(
        attempts.run_id,
        attempts.token,
        attempts.inc_id,
        literal(RunState.RUNNING.value),
        literal(0),
        runs.job,
        attempts.attempt,
        attempts.config_version,
        *_OF_ATTEMPT,
    )
    .select_from(schema.attempts.join(schema.runs, runs.run_id == attempts.run_id))
    .where(
        is_one_of(attempts.run_id, "run_ids"),
        attempts.inc_id.is_not(None),
        attempts.revoked_at.is_not(None),
        attempts.reported_at.is_(None),
    )
    .order_by(attempts.run_id, attempts.token)
)


def claim(
    on: Transaction, me: Identity, count: int, node: str, tags: Sequence[str], jobs: Sequence[str] | None = None
) -> list[Claim]:
    """S2."""
    if count <= 0:
        return []
    given: dict[str, Any] = {"me": me.inc_id, "count": count, "node": node, "tags": tags_text(tags)}
    found = on.rows(CLAIM, **given) if jobs is None else on.rows(CLAIM_OF, **given, jobs=tags_text(jobs))
    at = _GRANTED.index
    found.sort(key=lambda row: tuple(row[at(name)] for name in _ORDER))
    return [_claim_of(dict(zip(_GRANTED, row, strict=True))) for row in found]


def start(on: Transaction, me: Identity, starts: Sequence[Start]) -> set[str]:
    """S3. The runs' rows are locked by run_id, as everywhere."""
    wanted = sorted(starts, key=lambda one: one.run_id)
    if len({one.run_id for one in wanted}) < len(wanted):
        raise ValueError("two claims of one run: the older is none any more, and the answer could not tell them apart")
    may: set[str] = set()
    why = "this incarnation is fenced, or its lease is over"
    if holds(on, me):
        why = "not its claim any more, asked to be cancelled, or started before"
        answers = on.each(START, [_held(me, one) | {"number": one.attempt} for one in wanted])
        may = {run_id for answer in answers for (run_id,) in answer}
        started = [one for one in wanted if one.run_id in may]
        on.each(_ADD_ATTEMPT, [_attempt(me, one) for one in started])
        if started:
            on.hint(Hint.NEWS)
    refused = [one for one in wanted if one.run_id not in may]
    say(
        on,
        (
            line("start_refused", one.run_id, token=one.token, inc_id=me.inc_id, attempt=one.attempt, reason=why)
            for one in refused
        ),
    )
    return may


def hand_back(on: Transaction, me: Identity, held: Sequence[Held], *, cancelled: bool) -> set[str]:
    """S5."""
    many = [_held(me, one) | {"cancelled": int(cancelled)} for one in sorted(held, key=lambda one: one.run_id)]
    given = {run_id for answer in on.each(HAND_BACK, many) for run_id, _ in answer}
    if given:
        on.hint(Hint.OFFERED)
        on.hint(Hint.NEWS)  # one that was to be cancelled is over, or its engine's again
    return given


def abort_start(on: Transaction, me: Identity, held: Held) -> bool:
    """S6."""
    mine = _held(me, held)
    if not on.rows(_LOCK_STARTED, **mine) or not on.rows(_UNDO_ATTEMPT, **mine):
        return False
    on.rows(ABORT, **mine)
    on.hint(Hint.OFFERED)
    say(on, [line("start_aborted", held.run_id, token=held.token, inc_id=me.inc_id)])
    return True


def owned(on: Transaction, inc_id: str) -> list[Owned]:
    """S8."""
    return [_owned_of(row) for row in on.rows(_OWNED, who=inc_id)]


def revoked(on: Transaction, run_ids: Iterable[str]) -> list[Owned]:
    """S8, for what was taken away while nobody was there to be told."""
    return [_owned_of(row) for row in on.rows(_REVOKED, run_ids=tags_text(run_ids))]


def _held(me: Identity, one: Held | Start) -> dict[str, Any]:
    return {"run": one.run_id, "held": one.token, "me": me.inc_id}


def _attempt(me: Identity, one: Start) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in _ATTEMPT}
    return {name: plain(value) if isinstance(value, str) else value for name, value in values.items()} | {
        "me": me.inc_id
    }


def _claim_of(row: dict[str, Any]) -> Claim:
    return Claim(
        run_id=row["run_id"],
        token=row["token"],
        job=row["job"],
        run_date=rows.day(row["run_date"]),
        scheduled_at=instant(row["scheduled_at"]),
        trigger=Trigger(row["trigger"]),
        attempt=row["attempt"],
        config_version=row["config_version"],
        claimed_at=instant(row["claimed_at"]),
        on_lost=OnLost(row["on_lost"]),
        node=row["node"],
        tags=tags_of(row["node_tags"]),
    )


def _owned_of(row: rows.Row) -> Owned:
    run_id, token, inc_id, state, cancel, job, attempt, version, key, boot, out, err, status, started_at, *rest = row
    on_lost, window_us = rest
    return Owned(
        run_id=run_id,
        token=token,
        inc_id=inc_id,
        started=state == RunState.RUNNING,
        cancel_requested=bool(cancel),
        job=job,
        attempt=attempt,
        config_version=version,
        key=key or "",
        boot_id=boot or "",
        stdout_path=out or "",
        stderr_path=err or "",
        status_path=status or "",
        started_at=rows.instant_or_none(started_at),
        on_lost=OnLost(on_lost),
        reclaim_after_s=window_us / 1_000_000,
    )
