"""The small reads: one run, its attempts, counts, durations, configurations. Spec: jobs.md 8.1, 12.1, 13.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from functools import cache, partial
from typing import Final

from sqlalchemy import and_, bindparam, func, select, text

from pyscheduler.model.config_record import ConfigRecord, ConfigVersion
from pyscheduler.model.run import Attempt, Outcome, Run, RunState, Trigger
from pyscheduler.store import columns, rows, run_streams, schema
from pyscheduler.store.catalogue import JOBS
from pyscheduler.store.readers import Read, Snapshot
from pyscheduler.store.recall import pieces
from pyscheduler.store.run_streams import Window
from pyscheduler.store.statements import Statement, compiled, on_index
from pyscheduler.store.streams import Row

LOOKED_THROUGH: Final = 100
"""Succeeded runs of each trigger among which the newest durations are looked for."""

_runs: Final = schema.runs.c
_attempts: Final = schema.attempts.c
_configs: Final = schema.configs.c


def get_run(snapshot: Snapshot, run_id: str) -> Run | None:
    """Return the run, or None."""
    row = snapshot.row(_run(), run_id=run_id)
    return None if row is None else rows.run_of(row)


def attempts(snapshot: Snapshot, run_id: str) -> list[Attempt]:
    """Return the run's attempts, first to last."""
    return [rows.attempt_of(row) for row in snapshot.rows(_attempts_of_run(), run_id=run_id)]


def counts_by_state(snapshot: Snapshot, run_date: date) -> dict[RunState, int]:
    """Return how many runs of the date are in each state that occurs."""
    day = run_date.isoformat()
    found: Counter[RunState] = Counter()
    for statement, value in ((_ended_counts(), day), (_open_counts(), f".{day}.")):
        for state, count in snapshot.rows(statement, day=value):
            found[RunState(state)] += count
    return dict(found)


def recent_durations(snapshot: Snapshot, job: str, limit: int) -> tuple[float, ...]:
    """Return the seconds that the job's latest succeeded attempts took, newest run first."""
    return _durations_of(snapshot, [job], limit).get(job, ())


def recent_durations_for(read: Read, jobs: Iterable[str], limit: int) -> dict[str, tuple[float, ...]]:
    """Return `recent_durations` of each job that has any, a snapshot for every JOBS of them."""
    found: dict[str, tuple[float, ...]] = {}
    for piece in pieces(jobs, JOBS):
        found |= read(partial(_durations_of, jobs=piece, limit=limit))
    return found


def _durations_of(snapshot: Snapshot, jobs: list[str], limit: int) -> dict[str, tuple[float, ...]]:
    everything, succeeded = Window.whole(newest_first=True), RunState.SUCCEEDED.value
    triggers = [trigger for _, trigger in run_streams.choices(snapshot.rows, [succeeded], Trigger, everything)]
    found: dict[str, tuple[float, ...]] = {}
    for job in jobs:
        took: list[Row] = []
        for trigger in triggers:
            took += snapshot.rows(_durations(), job=job, trigger=trigger, count=limit)
        if took:
            found[job] = tuple(micros / 1_000_000 for _, micros in sorted(took, reverse=True)[:limit])
    return found


def existing_run_ids(snapshot: Snapshot, beginning: str, limit: int) -> tuple[str, ...]:
    """Return up to `limit` run ids that begin so, in text order."""
    high = beginning + run_streams.HIGHEST_ID
    return tuple(row[0] for row in snapshot.rows(_ids(), low=beginning, high=high, count=limit))


def latest_config(snapshot: Snapshot) -> ConfigRecord | None:
    """Return the newest configuration, or None before the first."""
    row = snapshot.row(_latest_config())
    return None if row is None else rows.config_of(row)


def config(snapshot: Snapshot, version: int) -> ConfigRecord | None:
    """Return one configuration, or None."""
    row = snapshot.row(_config(), version=version)
    return None if row is None else rows.config_of(row)


def config_versions(snapshot: Snapshot, limit: int, before: int | None) -> list[ConfigVersion]:
    """Return up to `limit` configurations without their text, newest first, of versions below `before`."""
    below = run_streams.FOREVER if before is None else before
    return [rows.config_version_of(row) for row in snapshot.rows(_config_versions(), below=below, count=limit)]


# --------------------------------------------------------------------------- the statements


@cache
def _run() -> Statement:
    return compiled(select(*(_runs[name] for name in columns.RUN)).where(_runs.run_id == bindparam("run_id")))


@cache
def _attempts_of_run() -> Statement:
    found = select(*(_attempts[name] for name in columns.ATTEMPT)).where(_attempts.run_id == bindparam("run_id"))
    return compiled(found.order_by(_attempts.attempt))


@cache
def _ended_counts() -> Statement:
    found = select(_runs.state, func.count()).where(text(schema.IS_FINAL), _runs.run_date == bindparam("day"))
    return compiled(on_index(found.group_by(_runs.state), schema.runs, "runs_ended_of_date"))


@cache
def _open_counts() -> Statement:
    """Count from the index of open runs alone, which holds no run date but the id that carries it."""
    of_day = func.instr(_runs.run_id, bindparam("day")) > 0
    found = select(_runs.state, func.count()).where(text(schema.IS_OPEN), of_day)
    return compiled(on_index(found.group_by(_runs.state), schema.runs, "runs_open"))


@cache
def _durations() -> Statement:
    newest = select(_runs.run_id, _runs.attempt, _runs.scheduled_at).where(
        text(schema.IS_FINAL),
        _runs.job == bindparam("job"),
        _runs.state == RunState.SUCCEEDED.value,
        _runs.trigger == bindparam("trigger"),
    )
    in_order = newest.order_by(_runs.scheduled_at.desc(), _runs.run_id).limit(LOOKED_THROUGH)
    looked = on_index(in_order, schema.runs, "runs_ended_of_job").subquery("newest")
    its_attempt = and_(
        _attempts.run_id == looked.c.run_id,
        _attempts.attempt == looked.c.attempt,
        _attempts.outcome == Outcome.SUCCEEDED.value,
    )
    return compiled(
        select(looked.c.scheduled_at, _attempts.ended_at - _attempts.started_at)
        .select_from(looked.join(schema.attempts, its_attempt))
        .where(_attempts.ended_at.is_not(None))
        .order_by(looked.c.scheduled_at.desc())
        .limit(bindparam("count"))
    )


@cache
def _ids() -> Statement:
    run_id = _runs.run_id
    return compiled(
        select(run_id)
        .where(run_id >= bindparam("low"), run_id < bindparam("high"))
        .order_by(run_id)
        .limit(bindparam("count"))
    )


@cache
def _latest_config() -> Statement:
    return compiled(select(*(_configs[name] for name in columns.CONFIG)).order_by(_configs.version.desc()).limit(1))


@cache
def _config() -> Statement:
    return compiled(
        select(*(_configs[name] for name in columns.CONFIG)).where(_configs.version == bindparam("version"))
    )


@cache
def _config_versions() -> Statement:
    without_text = (_configs[name] for name in columns.CONFIG[:-1])
    found = select(*without_text).where(_configs.version < bindparam("below"))
    return compiled(found.order_by(_configs.version.desc()).limit(bindparam("count")))
