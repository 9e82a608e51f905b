"""What a start makes of what it finds: attempts left running, firings missed. Spec: seed 000 steps 2 and 3, jobs.md 9.

The engine asks its launcher what became of each attempt and hands the answer here; nothing is looked up in this room.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.model import event as ev
from pyscheduler.model.firing import Firing, Missed
from pyscheduler.model.job import CatchUp, Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run
from pyscheduler.rules.retry import after_attempt, ended

NO_ROW: Final = "no attempt was recorded, so nothing was launched"

KEEP: Final = {CatchUp.LATEST: 1, CatchUp.ALL: 1000, CatchUp.NONE: 0}
"""How many of a job's newest missed firings get a run."""


def missing_row(run: Run) -> Attempt:
    """Return the row of an attempt that a crash kept from being recorded at all."""
    return Attempt(run_id=run.run_id, attempt=run.attempt, key="", started_at=run.updated_at)


def found_ended(
    run: Run, attempt: Attempt, result: AttemptResult, job: Job | None, now: datetime, chance: float
) -> ev.Event:
    """Return what an attempt that ended without us means: the wait for a retry counts from its own end."""
    row = ended(attempt, result, job, now)
    return after_attempt(run, row, job, row.ended_at or now, chance)


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Which missed firings of one job run late, and what is told of the others."""

    run: tuple[Firing, ...]
    dropped: int
    first: Firing | None = None
    last: Firing | None = None


def catch_up(missed: Missed, rule: CatchUp, existing: Collection[datetime]) -> CaughtUp:
    """Choose among a job's missed firings (seed 000 step 3), oldest first.

    `missed.newest` must hold one more than KEEP asks for, ascending. `existing` holds the instants of the window
    that have a run already: they are neither run again nor told as dropped.
    """
    keep = KEEP[rule]
    newest = missed.newest[-keep:] if keep else ()
    rest = missed.newest[: len(missed.newest) - len(newest)]
    chosen = tuple(firing for firing in newest if firing.scheduled_at not in existing)
    kept = {firing.scheduled_at for firing in newest}
    dropped = missed.count - len(newest) - sum(1 for instant in existing if instant not in kept)
    if dropped <= 0:
        return CaughtUp(chosen, 0)
    return CaughtUp(chosen, dropped, missed.first, rest[-1] if rest else missed.last)
