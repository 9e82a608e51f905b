"""What may be thrown away: runs past their retention, their logs, and the files that finished attempts left.

Everything is bounded: so many runs at a time, so many days of logs in one snapshot. Spec: jobs.md 8.3; DESIGN 4 (files
of attempts), 8 row 11.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime
from functools import cache, partial
from typing import Final

from sqlalchemy import bindparam, not_, select, text

from pyscheduler.model.run import FINAL_STATES, Trigger
from pyscheduler.store import rows, run_streams, schema
from pyscheduler.store.questions import PrunableRun
from pyscheduler.store.readers import Read, Snapshot
from pyscheduler.store.recall import IDS, ended_dates, pieces, rows_by
from pyscheduler.store.run_streams import Window
from pyscheduler.store.statements import Statement, compiled, is_one_of, on_index

LATEST: Final = 2**63 - 1
_runs: Final = schema.runs.c
_attempts: Final = schema.attempts.c


def final_runs_before(
    snapshot: Snapshot, day: date, limit: int, keep: Collection[str], unchanged_since: datetime | None
) -> list[PrunableRun]:
    """Return up to `limit` ended runs with an earlier run date, oldest date first, but for those to keep.

    Those changed since `unchanged_since` are to be kept too: a late run of an old date is no old run.
    """
    given, touched = json.dumps(sorted(keep)), LATEST if unchanged_since is None else rows.micros(unchanged_since)
    found = snapshot.rows(_ended_before(), day=day.isoformat(), keep=given, count=limit, touched=touched)
    run_ids = [row[0] for row in found]
    logs: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
    for run_id, *paths in snapshot.rows(_log_paths(), run_ids=json.dumps(run_ids)):
        logs[run_id] += [path for path in paths if path and path not in logs[run_id]]
    return [PrunableRun(run_id, tuple(paths)) for run_id, paths in logs.items()]


def log_paths_between(read: Read, since: date, until: date) -> Iterator[str]:
    """Yield the log files of ended runs with `run_date` from `since` on and before `until`, each once a run."""
    for piece in pieces(_ended_ids(read, since, until), IDS):
        for _, *paths in read(partial(Snapshot.rows, statement=_log_paths(), run_ids=json.dumps(piece))):
            yield from {path: None for path in paths if path}


def keys_of_runs(read: Read, run_ids: Iterable[str]) -> dict[str, bool]:
    """Return the key of every attempt of these runs, with whether it and its run have ended: its files may go."""
    found: dict[str, bool] = {}
    for piece in pieces(run_ids, IDS):
        found.update(are_over(read(partial(Snapshot.rows, statement=keys(), run_ids=json.dumps(piece)))))
    return found


def are_over(found: Iterable[rows.Row]) -> dict[str, bool]:
    """Return by each attempt's key whether it and its run have ended, from the rows of `keys`."""
    return {key: outcome is not None and state in FINAL_STATES for key, outcome, state in found}


def _ended_ids(read: Read, since: date, until: date) -> Iterator[str]:
    window = Window.whole(newest_first=True)
    for run_date in ended_dates(read, since, before=until.isoformat()):
        for state in FINAL_STATES:
            for trigger in Trigger:
                equal = {"run_date": run_date, "state": state.value, "trigger": trigger.value}
                yield from (row[0] for row in run_streams.ended(rows_by(read), equal, window, piece=64))


# --------------------------------------------------------------------------- the statements


@cache
def _ended_before() -> Statement:
    found = select(_runs.run_id).where(
        text(schema.IS_FINAL),
        _runs.run_date < bindparam("day"),
        _runs.updated_at < bindparam("touched"),
        not_(is_one_of(_runs.run_id, "keep")),
    )
    in_order = found.order_by(_runs.run_date).limit(bindparam("count"))
    return compiled(on_index(in_order, schema.runs, "runs_ended_of_date"))


@cache
def _log_paths() -> Statement:
    return compiled(
        select(_attempts.run_id, _attempts.stdout_path, _attempts.stderr_path)
        .where(is_one_of(_attempts.run_id, "run_ids"))
        .order_by(_attempts.run_id, _attempts.attempt)
    )


@cache
def keys() -> Statement:
    """Return the statement that asks for the attempts of `run_ids`, a JSON list: key, outcome, the run's state."""
    together = schema.attempts.join(schema.runs, _runs.run_id == _attempts.run_id)
    found = select(_attempts.key, _attempts.outcome, _runs.state).select_from(together)
    return compiled(found.where(is_one_of(_attempts.run_id, "run_ids")))
