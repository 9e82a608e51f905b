"""The runs and attempts that an engine's start reads back: what is open, what has ended lately, whole days of a job.

A million runs must not slow a start: everything here follows an index and is read in pieces of bounded size, each from
a snapshot of its own. Nothing else writes while an engine starts, so the pieces fit together. Spec: jobs.md 8.3, 9.1;
seed 000, steps 1 and 2; DESIGN 3 "Memory".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import cache, partial
from itertools import islice
from typing import Final, TypeVar

from sqlalchemy import bindparam, func, select, text, tuple_

from pyscheduler.model.run import Attempt, Run, RunState, Trigger
from pyscheduler.store import columns, rows, run_streams, schema
from pyscheduler.store.readers import Read, Snapshot
from pyscheduler.store.run_streams import Window
from pyscheduler.store.statements import Statement, compiled, is_one_of, on_index
from pyscheduler.store.streams import Row

T = TypeVar("T")
Day = tuple[str, date]
"""A job and a run date."""

PIECE: Final = 2_000
"""Rows of one snapshot: about twenty milliseconds."""
IDS: Final = 500
"""Ids asked for at once."""
DAYS: Final = 20
"""Days of a job read in one snapshot."""

_runs: Final = schema.runs.c
_attempts: Final = schema.attempts.c
_WORST_FIRST: Final = (RunState.FAILED, RunState.CANCELLED, RunState.SKIPPED, RunState.SUCCEEDED)
_MORE: Final = columns.RUN[len(run_streams.KEY) :]


def pieces(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter."""
    left = iter(items)
    while piece := list(islice(left, size)):
        yield piece


def rows_by(read: Read) -> run_streams.Rows:
    """Return a reader that takes a snapshot of its own for each piece."""

    def piece(statement: Statement, **values: object) -> list[Row]:
        return read(lambda snapshot: snapshot.rows(statement, **values))

    return piece


def open_runs(read: Read) -> list[Run]:
    """Return every run that has not ended, oldest `scheduled_at` first."""
    window = Window.whole(newest_first=False)
    return [rows.run_of(row) for row in run_streams.still_open(rows_by(read), window, _MORE)]


def final_runs_since(read: Read, day: date, limit: int) -> Iterator[Run]:
    """Yield up to `limit` ended runs with `run_date` of `day` or later, newest date first, then newest first."""
    return islice(_ended_by_date(read, day), limit)


def memory_window(read: Read, since: date, limit: int) -> tuple[list[Run], date]:
    """Return the ended runs of whole run dates, `limit` at most, and the first date that is complete.

    The newest dates are the ones that stay; within a date the order is none.
    """
    found: list[Run] = []
    for run_date in ended_dates(read, since):
        before = len(found)
        for ended in _streams_of(read, run_date):
            found += map(rows.run_of, islice(ended, limit + 1 - len(found)))
        if len(found) > limit:
            return found[:before], date.fromisoformat(run_date) + timedelta(days=1)
    return found, since


def ended_of_date(read: Read, day: date, limit: int) -> tuple[list[Run], bool]:
    """Return up to `limit` ended runs of one run date, failed ones first, and whether these are all of them."""
    found: list[Run] = []
    for ended in _streams_of(read, day.isoformat()):
        found += map(rows.run_of, islice(ended, limit + 1 - len(found)))
        if len(found) > limit:
            return found[:limit], False
    return found, True


def runs_of_days(read: Read, days: Iterable[Day]) -> tuple[list[Run], dict[Day, int]]:
    """Return all runs of these jobs' run dates, and the highest number of each day that has any."""
    found = [run for piece in pieces(days, DAYS) for run in read(partial(_of_days, days=piece))]
    seqs: dict[Day, int] = {}
    for run in found:
        seqs[run.job, run.run_date] = max(run.seq, seqs.get((run.job, run.run_date), 0))
    return found, seqs


def _of_days(snapshot: Snapshot, days: list[Day]) -> list[Run]:
    found = (snapshot.rows(_runs_of_day(), job=job, run_date=day.isoformat()) for job, day in days)
    return [rows.run_of(row) for each in found for row in each]


def _ended_by_date(read: Read, day: date) -> Iterator[Run]:
    for run_date in ended_dates(read, day):
        yield from map(rows.run_of, run_streams.merge(_streams_of(read, run_date), newest_first=True))


def _streams_of(read: Read, run_date: str) -> Iterator[Iterator[Row]]:
    """Yield a stream for each state and trigger of one run date, failed runs first and succeeded ones last."""
    window, piece = Window.whole(newest_first=True), rows_by(read)
    for state in _WORST_FIRST:
        for trigger in Trigger:
            equal = {"run_date": run_date, "state": state.value, "trigger": trigger.value}
            yield run_streams.ended(piece, equal, window, _MORE, piece=64, largest=PIECE)


def ended_dates(read: Read, since: date, *, before: str = run_streams.HIGHEST_ID) -> Iterator[str]:
    """Yield the run dates that have ended runs, newest first, hopping from one to the next."""
    latest, found = _latest_ended_date(), before
    while True:
        found = read(partial(Snapshot.value, statement=latest, before=found))
        if found is None or found < since.isoformat():
            return
        yield found


def latest_attempts(read: Read, run_ids: Iterable[str]) -> dict[str, Attempt]:
    """Return the latest attempt of each run that has one."""
    return {attempt.run_id: attempt for attempt in _found(read, _latest_attempts(), run_ids)}


def attempts_of(read: Read, run_ids: Iterable[str]) -> dict[str, list[Attempt]]:
    """Return all attempts, first to last, of each run that has any."""
    found: dict[str, list[Attempt]] = {}
    for attempt in _found(read, _attempts_of(), run_ids):
        found.setdefault(attempt.run_id, []).append(attempt)
    return found


def starts_told(read: Read, run_ids: Iterable[str]) -> set[tuple[str, int]]:
    """Return (run id, attempt) of each start of these runs that the logbook tells of."""
    lines = (
        line
        for piece in pieces(run_ids, IDS)
        for line in read(partial(Snapshot.rows, statement=_starts_told(), run_ids=json.dumps(piece)))
    )
    return {(run_id, json.loads(detail)["attempt"]) for run_id, detail in lines}


def _found(read: Read, statement: Statement, run_ids: Iterable[str]) -> Iterator[Attempt]:
    for piece in pieces(run_ids, IDS):
        yield from map(rows.attempt_of, read(partial(Snapshot.rows, statement=statement, run_ids=json.dumps(piece))))


# --------------------------------------------------------------------------- the statements


@cache
def _runs_of_day() -> Statement:
    found = select(*(_runs[name] for name in columns.RUN)).where(
        _runs.job == bindparam("job"), _runs.run_date == bindparam("run_date")
    )
    return compiled(found.order_by(_runs.scheduled_at, _runs.seq))


@cache
def _latest_ended_date() -> Statement:
    found = select(func.max(_runs.run_date)).where(text(schema.IS_FINAL), _runs.run_date < bindparam("before"))
    return compiled(on_index(found, schema.runs, "runs_ended_of_date"))


@cache
def _latest_attempts() -> Statement:
    latest = (
        select(_attempts.run_id, func.max(_attempts.attempt))
        .where(is_one_of(_attempts.run_id, "run_ids"))
        .group_by(_attempts.run_id)
    )
    every = (_attempts[name] for name in columns.ATTEMPT)
    return compiled(select(*every).where(tuple_(_attempts.run_id, _attempts.attempt).in_(latest)))


@cache
def _starts_told() -> Statement:
    lines = schema.events.c
    found = select(lines.run_id, lines.detail).where(is_one_of(lines.run_id, "run_ids"))
    found = found.where(func.as_filter(lines.action == "attempt_started"))
    return compiled(on_index(found, schema.events, "events_of_run"))


@cache
def _attempts_of() -> Statement:
    found = select(*(_attempts[name] for name in columns.ATTEMPT)).where(is_one_of(_attempts.run_id, "run_ids"))
    return compiled(found.order_by(_attempts.run_id, _attempts.attempt))
