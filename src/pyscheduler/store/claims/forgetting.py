"""Removing runs that are long over, where `tick` and `work` keep the store. Spec: jobs.md 8.3; claims.md S16, B28.

What must always hold: only an ended run goes, that nobody owns and that `tick` or `work` made: `serve` removes its own.
A watermark has passed its firing, so it is not made again; its number is remembered, so it is not given again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Final

from sqlalchemy import bindparam, select, text

from pyscheduler.model.lease import OnLost
from pyscheduler.store import rows, schema
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.words import runs
from pyscheduler.store.pruning import are_over, keys
from pyscheduler.store.recall import IDS, pieces
from pyscheduler.store.statements import PUT_ENGINE, REMOVE_RUN, compiled, on_index

PRUNED: Final = "pruned_by_pass"
"""When a pass last removed all that was old enough, in microseconds of Unix time."""

Remember = Callable[[str | None, Sequence[str]], tuple[str, str]]
"""From what is remembered of removed runs, and those that go now: the engine value's key and its new text."""

_values: Final = schema.engine.c
_OLD: Final = compiled(
    on_index(
        select(runs.run_id)
        .where(
            text(schema.IS_FINAL),
            runs.run_date < bindparam("day"),
            runs.updated_at < bindparam("touched"),
            runs.owner_inc.is_(None),
            runs.on_lost != OnLost.ENGINE,
        )
        .order_by(runs.run_date)
        .limit(bindparam("count")),
        schema.runs,
        "runs_ended_of_date",
    )
)
_VALUE: Final = compiled(select(_values.value).where(_values.key == bindparam("which")))


def prune(
    on: Transaction, day: date, untouched_since: datetime, at_most: int, *, pass_at: datetime, remember: Remember
) -> list[str]:
    """Remove runs with an earlier run date that nothing has touched since then; returns which.

    Fewer than `at_most` are all that there were, and then it is written down that the pass of `pass_at` has done it.
    """
    touched = rows.micros(untouched_since)
    gone = [run_id for (run_id,) in on.rows(_OLD, day=day.isoformat(), touched=touched, count=at_most)]
    if gone:
        key, _ = remember(None, ())
        kept = next((value for (value,) in on.rows(_VALUE, which=key)), None)
        for statement in REMOVE_RUN:
            on.put(statement, [(run_id,) for run_id in gone])
        on.put(PUT_ENGINE, [remember(kept, gone)])
    if len(gone) < at_most:
        on.put(PUT_ENGINE, [(PRUNED, str(rows.micros(pass_at)))])
    return gone


def keys_of_runs(on: Transaction, run_ids: Iterable[str]) -> dict[str, bool]:
    """Return the key of every attempt of these runs, with whether it and its run have ended: its files may go."""
    found: dict[str, bool] = {}
    for piece in pieces(run_ids, IDS):
        found.update(are_over(on.rows(keys(), run_ids=json.dumps(piece))))
    return found
