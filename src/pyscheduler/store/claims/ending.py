"""How an attempt ended: S4. Spec: claims.md C5.

What must always hold: an end is stored once, and moves its run only while the run still belongs to the incarnation that
the attempt's own row names, under the attempt's token. What comes later is kept as a line `superseded` and moves
nothing. So a report may be repeated any number of times, by its incarnation or from the journal that it left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, bindparam, case, func, null, select, update

from pyscheduler.model.run import RunState
from pyscheduler.store import rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Applied, Report
from pyscheduler.store.claims.words import attempts, db_now, line, micros_of, plain, runs, say, update_run
from pyscheduler.store.hints import Hint
from pyscheduler.store.statements import compiled

LOCK_RUN: Final = compiled(
    select(runs.token, runs.owner_inc, runs.state, runs.cancel_requested, runs.on_lost)
    .where(runs.run_id == bindparam("run"))
    .with_for_update()
)
_GRANT: Final = compiled(
    select(attempts.inc_id, attempts.reported_at, attempts.revoked_at).where(
        attempts.run_id == bindparam("run"), attempts.token == bindparam("held"), attempts.inc_id.is_not(None)
    )
)
END_RUN: Final = compiled(
    update_run(
        state=bindparam("to"),
        owner_inc=null(),
        token=runs.token + 1,
        cancel_requested=0,
        reason=bindparam("run_reason"),
        not_before=case(
            (bindparam("to") == RunState.RETRY_WAIT, db_now() + bindparam("retry_us", type_=schema.BIG)), else_=null()
        ),
    )
    .where(
        runs.run_id == bindparam("run"),
        runs.token == bindparam("held"),
        runs.owner_inc == bindparam("inc"),
        runs.state == RunState.RUNNING,
    )
    .returning(runs.run_id)
)
_TOLD: Final = (
    "outcome", "exit_code", "signal", "reason", "pid", "kill_by", "cpu_s", "max_rss_bytes", "note",
)  # fmt: skip
_of_grant: Final = (attempts.run_id == bindparam("run"), attempts.token == bindparam("held"))
_ended_at: Final = db_now() - bindparam("ago_us", type_=schema.BIG)
_KEPT: Final = ("pid", "kill_by")
"""What the row may know already: a report that does not say it takes nothing away."""


def _new(name: str) -> ColumnElement[Any]:
    told = bindparam(f"new_{name}", type_=attempts[name].type)
    return func.coalesce(told, attempts[name]) if name in _KEPT else told


_END_ATTEMPT: Final = compiled(
    update(schema.attempts)
    .values(
        ended_at=case((_ended_at > attempts.started_at, _ended_at), else_=attempts.started_at),
        reported_at=db_now(),
        **{name: _new(name) for name in _TOLD},
    )
    .where(*_of_grant, attempts.reported_at.is_(None), attempts.revoked_at.is_(None))
    .returning(attempts.run_id)
)
_KEEP_LATE: Final = compiled(
    update(schema.attempts)
    .values(
        reported_at=db_now(),
        ended_at=func.coalesce(attempts.ended_at, _ended_at),
        outcome=func.coalesce(attempts.outcome, bindparam("new_outcome")),
    )
    .where(*_of_grant, attempts.reported_at.is_(None))
    .returning(attempts.run_id)
)


_CANCEL: Final = 3
"""Where `cancel_requested` stands in LOCK_RUN's row."""
_LATE: Final = ("run", "held", "ago_us", "new_outcome")


def outcomes(on: Transaction, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
    """S4 for many: the runs' rows are locked by run_id; a second report of one grant counts as told again."""
    wanted = list({(one.run_id, one.token): one for one in reversed(reports)}.values())
    wanted.sort(key=lambda one: (one.run_id, one.token))
    keys = [{"run": one.run_id, "held": one.token} for one in wanted]
    held = on.each(LOCK_RUN, keys)
    grants = on.each(_GRANT, keys)
    verdicts = {
        (one.run_id, one.token): _verdict(one, run, grant) for one, run, grant in zip(wanted, held, grants, strict=True)
    }
    of = {
        verdict: [
            (one, run[0] if run else None, grant[0][0] if grant else "")
            for one, run, grant in zip(wanted, held, grants, strict=True)
            if verdicts[one.run_id, one.token] is verdict
        ]
        for verdict in (Applied.YES, Applied.SUPERSEDED)
    }
    _end(on, of[Applied.YES])
    _keep(on, of[Applied.SUPERSEDED])
    return verdicts


def _verdict(report: Report, run: Sequence[rows.Row], grant: Sequence[rows.Row]) -> Applied:
    if not grant:
        return Applied.UNKNOWN
    ((inc_id, reported_at, revoked_at),) = grant
    if reported_at is not None:
        return Applied.AGAIN
    is_its = bool(run) and run[0][:3] == (report.token, inc_id, RunState.RUNNING.value)
    return Applied.YES if is_its and revoked_at is None else Applied.SUPERSEDED


_Found = tuple[Report, rows.Row | None, str]


def _end(on: Transaction, found: Sequence[_Found]) -> None:
    """Write the ends; every guard is said again, though the rows are ours until the commit."""
    moved = on.each(END_RUN, [_run_end(report, run, inc_id) for report, run, inc_id in found if run is not None])
    assert all(moved), "a row that is locked does not change"
    on.each(_END_ATTEMPT, [_told(report) for report, _, _ in found])
    if found:
        on.hint(Hint.NEWS)


def _keep(on: Transaction, late: Sequence[_Found]) -> None:
    """Keep what came too late: it changes nothing."""
    on.each(_KEEP_LATE, [{key: _told(report)[key] for key in _LATE} for report, _, _ in late])
    say(
        on,
        (
            line(
                "superseded",
                report.run_id,
                token=report.token,
                inc_id=inc_id,
                outcome=report.outcome.value,
                exit_code=report.exit_code,
                reason=plain(report.reason),
            )
            for report, _, inc_id in late
        ),
    )


def _run_end(report: Report, run: rows.Row, inc_id: str) -> dict[str, Any]:
    to = report.to or RunState.RUNNING
    if to is RunState.RETRY_WAIT and run[_CANCEL]:  # somebody wants it to end
        to = RunState.CANCELLED
    return {
        "run": report.run_id,
        "held": report.token,
        "inc": inc_id,
        "to": to.value,
        "run_reason": plain(report.run_reason),
        "retry_us": micros_of(report.retry_after_s),
    }


def _told(report: Report) -> dict[str, Any]:
    values = {name: getattr(report, name) for name in _TOLD} | {"outcome": report.outcome.value}
    return {
        "run": report.run_id,
        "held": report.token,
        "ago_us": micros_of(max(0.0, report.ended_ago_s)),
        **{f"new_{name}": plain(value) if isinstance(value, str) else value for name, value in values.items()},
    }
