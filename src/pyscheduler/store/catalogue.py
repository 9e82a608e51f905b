"""What exists, without its contents: which jobs have runs, which numbers are taken, which firings have a run, which run
stands for its date. Spec: jobs.md 3.5, 9.2; DESIGN 3 "Memory", 8 row 2.

Answers follow an index, hopping from one name or date to the next instead of reading all runs in between.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import date, datetime
from functools import cache, partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, not_, select, text

from pyscheduler.model.run import Cause, RunState
from pyscheduler.store import rows, schema
from pyscheduler.store.questions import LatestRow
from pyscheduler.store.readers import Read, Snapshot
from pyscheduler.store.recall import PIECE, pieces
from pyscheduler.store.statements import Statement, compiled, json_list
from pyscheduler.store.streams import Row

JOBS: Final = 100
"""Jobs looked through in one snapshot."""
ENGINE_VALUES: Final = compiled(select(schema.engine.c.key, schema.engine.c.value))

_runs: Final = schema.runs.c


def engine_values(snapshot: Snapshot) -> dict[str, str]:
    """Return every engine value."""
    return dict(snapshot.rows(ENGINE_VALUES))


def has_runs(snapshot: Snapshot, job: str) -> bool:
    """Whether the job has any run at all."""
    return snapshot.row(_first_date(), job=job) != (None,)


def first_dates(snapshot: Snapshot, jobs: Collection[str]) -> dict[str, date]:
    """Return the earliest run date of each of these jobs that has runs."""
    found = ((job, snapshot.value(_first_date(), job=job)) for job in jobs)
    return {job: date.fromisoformat(day) for job, day in found if day is not None}


def jobs_with_runs(read: Read) -> set[str]:
    """Return the name of every job that has a run, hopping from one to the next."""
    found: set[str] = set()
    last = ""
    while True:
        piece = read(partial(Snapshot.rows, statement=_jobs_after(), after=last, count=PIECE))
        found.update(row[0] for row in piece)
        if len(piece) < PIECE:
            return found
        last = piece[-1][0]


def latest_index(read: Read, since: date, jobs: Collection[str] | None) -> Iterator[LatestRow]:
    """Yield the run that stands for each (job, run date of `since` or later): the greatest (`scheduled_at`, `seq`).

    One that overlap called off stands only where no other exists (DESIGN 8 row 2).
    """
    for row in _by_jobs(read, _latest_index(), since, jobs):
        run_id, job, run_date, seq, scheduled_at, state, cause = row
        yield LatestRow(
            run_id, job, date.fromisoformat(run_date), seq, rows.instant(scheduled_at), RunState(state), Cause(cause)
        )


def max_seqs(read: Read, since: date) -> dict[tuple[str, date], int]:
    """Return the highest number taken for each (job, run date of `since` or later)."""
    found = _by_jobs(read, _max_seqs(), since, None)
    return {(job, date.fromisoformat(run_date)): seq for job, run_date, seq in found}


def _by_jobs(read: Read, statement: Statement, since: date, jobs: Collection[str] | None) -> Iterator[Row]:
    names = sorted(jobs_with_runs(read) if jobs is None else jobs)
    for piece in pieces(names, JOBS):
        jobs_given, day = json.dumps(piece), since.isoformat()
        yield from read(partial(Snapshot.rows, statement=statement, jobs=jobs_given, since=day))


def max_seq(snapshot: Snapshot, job: str, run_date: date) -> int:
    """Return the highest number taken for the job and run date, 0 where there is none."""
    return int(snapshot.value(_max_seq(), job=job, run_date=run_date.isoformat()) or 0)


def firings_with_runs(snapshot: Snapshot, job: str, since: datetime, until: datetime) -> set[datetime]:
    """Return the due instants in (since, until] that have a run (jobs.md 3.5)."""
    found = snapshot.rows(_firings(), job=job, since=rows.micros(since), until=rows.micros(until))
    return {rows.instant(row[0]) for row in found}


# --------------------------------------------------------------------------- the statements


@cache
def _first_date() -> Statement:
    return compiled(select(func.min(_runs.run_date)).where(_runs.job == bindparam("job")))


def _called_off(run: Any) -> ColumnElement[bool]:
    return and_(run.state == RunState.CANCELLED.value, run.cause == Cause.OVERLAP.value)


@cache
def _jobs_after() -> Statement:
    names = select(func.min(_runs.job).label("job")).where(_runs.job > bindparam("after"))
    hops = names.cte("names", recursive=True)
    following = select(func.min(_runs.job)).where(_runs.job > hops.c.job).scalar_subquery()
    hops = hops.union_all(select(following).where(hops.c.job.is_not(None)))
    return compiled(select(hops.c.job).where(hops.c.job.is_not(None)).limit(bindparam("count")))


def _job_dates() -> Select[Any]:
    """Return the statement for each chosen job's run dates since a day."""
    jobs = json_list("jobs", "jobs")
    return (
        select(_runs.job, _runs.run_date)
        .select_from(jobs.join(schema.runs, _runs.job == jobs.c.value))
        .where(_runs.run_date >= bindparam("since"))
    )


@cache
def _latest_index() -> Statement:
    pairs = _job_dates().distinct().subquery("pairs")
    other = schema.runs.alias("other")
    of_pair = (
        select(other.c.run_id)
        .where(other.c.job == pairs.c.job, other.c.run_date == pairs.c.run_date)
        .order_by(other.c.scheduled_at.desc(), other.c.seq.desc())
        .limit(1)
    )
    standing = func.coalesce(of_pair.where(not_(_called_off(other.c))).scalar_subquery(), of_pair.scalar_subquery())
    columns = (_runs.run_id, _runs.job, _runs.run_date, _runs.seq, _runs.scheduled_at, _runs.state, _runs.cause)
    return compiled(select(*columns).select_from(pairs.join(schema.runs, _runs.run_id == standing)))


@cache
def _max_seqs() -> Statement:
    return compiled(_job_dates().add_columns(func.max(_runs.seq)).group_by(_runs.job, _runs.run_date))


@cache
def _max_seq() -> Statement:
    return compiled(
        select(func.max(_runs.seq)).where(_runs.job == bindparam("job"), _runs.run_date == bindparam("run_date"))
    )


@cache
def _firings() -> Statement:
    at = _runs.scheduled_at
    return compiled(
        select(at).where(
            text(schema.IS_DUE), _runs.job == bindparam("job"), at > bindparam("since"), at <= bindparam("until")
        )
    )
