"""Making runs, offering them, ending them by a person's wish: S12, S13, S15. Spec: claims.md C5.

What must always hold: a firing becomes a run at most once (`runs_due_once`), and a watermark that has passed it keeps a
run that was removed from being made again; only a run that nobody owns is offered, and only under the authority.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import String, and_, bindparam, case, func, literal, null, or_, select, text, update

from pyscheduler.model.lease import OnLost
from pyscheduler.model.run import FINAL_STATES, RunState
from pyscheduler.store import rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.ending import LOCK_RUN
from pyscheduler.store.claims.forgetting import PRUNED
from pyscheduler.store.claims.shapes import Cancelled, Marks, Occurrence, Offer, Watermark
from pyscheduler.store.claims.words import NOW, db_now, line, micros_of, plain, runs, say, tags_text, update_run
from pyscheduler.store.dialects import insert_of
from pyscheduler.store.hints import Hint
from pyscheduler.store.statements import Executable, compiled, is_one_of, made, on_index

WATERMARK: Final = "watermark."
"""What the keys of watermarks in `engine` begin with; the job's name follows."""
SERVED: Final = "last_tick"
"""The engine's own watermark, one for all of its jobs: every firing up to it is handled."""
_values: Final = schema.engine.c
_MOVE: Final = compiled(
    update(schema.engine)
    .values(value=bindparam("becomes"))
    .where(_values.key == bindparam("which"), _values.value == bindparam("was"))
    .returning(_values.key)
)


def _begin(dialect: str) -> Executable:
    new = insert_of(dialect)(schema.engine).values(key=bindparam("which"), value=bindparam("becomes"))
    once: Executable = new.on_conflict_do_nothing(index_elements=["key"]).returning(_values.key)
    return once


_BEGIN: Final = made(_begin)
_MARKS: Final = compiled(select(_values.key, _values.value).where(is_one_of(_values.key, "keys")))

_GIVEN: Final = (
    "job", "run_date", "scheduled_at", "trigger", "state", "reason", "config_version", "on_lost", "node", "node_tags",
    "reclaim_us",
)  # fmt: skip


def _make(dialect: str) -> Executable:
    """Insert a run under the next number of its date, unless its firing has one."""
    next_seq = (
        select((func.coalesce(func.max(runs.seq), 0) + 1).label("seq"))
        .where(runs.job == bindparam("job"), runs.run_date == bindparam("run_date"))
        .subquery("next")
    )
    run_id = (
        bindparam("job", type_=String)
        + "."
        + bindparam("run_date", type_=String)
        + "."
        + func.cast(next_seq.c.seq, type_=String)
    )
    given = {name: bindparam(name, type_=runs[name].type) for name in _GIVEN}
    offered: Any = case(
        (given["state"] == RunState.QUEUED, db_now() + bindparam("place", type_=schema.BIG)), else_=null()
    )
    values: dict[str, Any] = {
        "run_id": run_id,
        **given,
        "seq": next_seq.c.seq,
        "created_at": db_now(),
        "updated_at": db_now(),
        "cause": literal(""),
        "attempt": literal(0),
        "attempt_base": literal(0),
        "reruns": literal(0),
        "forced": literal(0),
        "queued_at": offered,
        "offered_at": offered,
    }
    row: Any = select(*values.values()).select_from(next_seq).where(text("1 = 1"))
    new = insert_of(dialect)(schema.runs).from_select(list(values), row)
    once: Executable = new.on_conflict_do_nothing(
        index_elements=["job", "scheduled_at"], index_where=text(schema.IS_DUE)
    ).returning(runs.run_id)
    return once


_MAKE: Final = made(_make)
_RIPE: Final = on_index(
    select(runs.run_id)
    .where(
        text(schema.IS_OPEN),
        runs.state == RunState.RETRY_WAIT,
        runs.on_lost != OnLost.ENGINE,
        runs.not_before <= db_now(),
    )
    .order_by(runs.run_id)
    .with_for_update(),
    schema.runs,
    "runs_open",
)
_RIPE_AT: Final = compiled(
    select(
        db_now(),
        select(func.min(runs.not_before))
        .where(text(schema.IS_OPEN), runs.state == RunState.RETRY_WAIT, runs.on_lost != OnLost.ENGINE)
        .scalar_subquery(),
    )
)
ADMIT: Final = compiled(
    update_run(state="queued", offered_at=db_now(), queued_at=db_now(), not_before=null())
    .where(runs.run_id.in_(_RIPE), runs.state == RunState.RETRY_WAIT, runs.owner_inc.is_(None))
    .returning(runs.run_id)
)
_is_free: Final = and_(runs.run_id == bindparam("run"), runs.owner_inc.is_(None))
OFFER: Final = compiled(
    update_run(
        offered_at=bindparam("at", type_=schema.BIG),
        node=bindparam("place"),
        node_tags=bindparam("wanted_tags"),
        cancel_requested=0,
    )
    .where(_is_free, runs.state == RunState.QUEUED)
    .returning(runs.run_id)
)
WITHDRAW: Final = compiled(update_run(offered_at=null()).where(_is_free).returning(runs.run_id))
ASK: Final = compiled(
    update_run(cancel_requested=1)
    .where(runs.run_id == bindparam("run"), runs.token == bindparam("held"), runs.owner_inc.is_not(None))
    .returning(runs.run_id)
)
CANCEL: Final = compiled(
    update_run(
        state="cancelled",
        token=runs.token + case((runs.owner_inc.is_(None), 0), else_=1),
        owner_inc=null(),
        offered_at=null(),
        not_before=null(),
        reason=bindparam("why"),
    )
    .where(
        runs.run_id == bindparam("run"),
        runs.token == bindparam("held"),
        or_(runs.owner_inc.is_(None), runs.state == RunState.QUEUED),
    )
    .returning(runs.run_id)
)


def materialise(on: Transaction, occurrences: Sequence[Occurrence], watermarks: Sequence[Watermark]) -> list[str]:
    """S12. Watermarks are moved in the order of the jobs' names; runs are offered in the order of their instants."""
    moved = _move(on, watermarks)
    due = sorted(
        (one for one in occurrences if one.job in moved), key=lambda one: (one.scheduled_at, one.job, one.run_date)
    )
    made_ = on.each(_MAKE, [_run(one, place) for place, one in enumerate(due)])
    run_ids = [run_id for answer in made_ for (run_id,) in answer]
    if run_ids:
        on.hint(Hint.OFFERED)
    return run_ids


def _run(one: Occurrence, place: int) -> dict[str, Any]:
    return {
        "job": one.job,
        "run_date": one.run_date.isoformat(),
        "scheduled_at": rows.micros(one.scheduled_at),
        "trigger": one.trigger.value,
        "state": one.state.value,
        "reason": plain(one.reason),
        "config_version": one.config_version,
        "on_lost": one.on_lost.value,
        "node": one.node,
        "node_tags": tags_text(one.tags),
        "reclaim_us": micros_of(one.reclaim_after_s),
        "place": place,
    }


def _move(on: Transaction, marks: Sequence[Watermark]) -> set[str]:
    """Move watermarks; returns the jobs whose mark was as the caller saw it. I16: none moves back."""
    wanted = sorted((mark for mark in marks if mark.was is None or mark.becomes >= mark.was), key=lambda mark: mark.job)
    begun = [mark for mark in wanted if mark.was is None]
    known = [(mark, mark.was) for mark in wanted if mark.was is not None]
    answers = on.each(_BEGIN, [_becomes(mark) for mark in begun])
    answers += on.each(_MOVE, [_becomes(mark) | {"was": str(rows.micros(was))} for mark, was in known])
    return {key.removeprefix(WATERMARK) for answer in answers for (key,) in answer}


def _becomes(mark: Watermark) -> dict[str, Any]:
    return {"which": WATERMARK + mark.job, "becomes": str(rows.micros(mark.becomes))}


def marks(on: Transaction, jobs: Iterable[str]) -> Marks:
    """Return up to when each job's firings have been made into runs, in one statement."""
    wanted = [SERVED, PRUNED, *(WATERMARK + job for job in jobs)]
    found: dict[str, str] = dict(on.rows(_MARKS, keys=tags_text(wanted)))
    served, pruned = found.pop(SERVED, None), found.pop(PRUNED, None)
    return Marks(
        {key.removeprefix(WATERMARK): rows.instant(int(value)) for key, value in found.items()},
        None if served is None else datetime.fromisoformat(served),
        None if pruned is None else rows.instant(int(pruned)),
    )


def admit(on: Transaction) -> list[str]:
    """S13, for the runs of `tick` and `work`."""
    run_ids = sorted(run_id for (run_id,) in on.rows(ADMIT))
    if run_ids:
        on.hint(Hint.OFFERED)
    return run_ids


def ripe_at(on: Transaction) -> tuple[datetime, datetime | None]:
    """Return the database's clock, and when the next wait for a retry is over that S13 ends. One statement."""
    ((now, ripe),) = on.rows(_RIPE_AT)
    return rows.instant(now), rows.instant_or_none(ripe)


def offer(on: Transaction, offers: Sequence[Offer]) -> set[str]:
    """Offer runs; one instant for all, and their places after it, so that they are claimed in this order."""
    ((now,),) = on.rows(NOW)
    many = [
        {"run": one.run_id, "at": now + place, "place": one.node, "wanted_tags": tags_text(one.tags)}
        for place, one in enumerate(offers)
    ]
    many.sort(key=lambda values: values["run"])
    run_ids = {run_id for answer in on.each(OFFER, many) for (run_id,) in answer}
    if run_ids:
        on.hint(Hint.OFFERED)
    return run_ids


def withdraw(on: Transaction, run_ids: Sequence[str]) -> set[str]:
    """Take offers back."""
    answers = on.each(WITHDRAW, [{"run": run_id} for run_id in sorted(set(run_ids))])
    return {run_id for answer in answers for (run_id,) in answer}


def call_off(on: Transaction, run_id: str, by: str, why: str, *, only_running: bool) -> Cancelled:
    """S15 for a run of `tick` or `work`, by somebody who is named; a run of the engine's is left to the engine."""
    found = on.rows(LOCK_RUN, run=run_id)
    if found and (state := found[0][2]) not in FINAL_STATES:
        if found[0][4] == OnLost.ENGINE:
            return Cancelled.ENGINE
        if only_running and state != RunState.RUNNING:
            return Cancelled.NOT_RUNNING
    deed = f"cancelled by {by}: {why}" if why else f"cancelled by {by}"
    answer = cancel(on, run_id, deed)
    if answer in (Cancelled.CANCELLED, Cancelled.REQUESTED):
        say(on, [line("cancel", run_id, actor=plain(by), before=found[0][2], reason=plain(why))])
    return answer


def cancel(on: Transaction, run_id: str, reason: str = "cancelled") -> Cancelled:
    """S15. The row is held from the look to the word. `reason` is what a run says that ends by this."""
    found = on.rows(LOCK_RUN, run=run_id)
    if not found:
        return Cancelled.UNKNOWN
    token, owner, state, _, on_lost = found[0]
    if state in FINAL_STATES:
        return Cancelled.FINAL
    is_engines = on_lost == OnLost.ENGINE
    if owner is None and (is_engines or state == RunState.RUNNING):
        return Cancelled.ENGINE
    if owner is not None and (is_engines or state == RunState.RUNNING):
        on.rows(ASK, run=run_id, held=token)
        on.hint(Hint.ASKED)
        return Cancelled.REQUESTED
    on.rows(CANCEL, run=run_id, held=token, why=plain(reason))
    on.hint(Hint.NEWS)
    return Cancelled.CANCELLED
