"""Which runs stand upstream and downstream of one, and how they are.

Days that are in memory are told from the book, older ones from the store. At most NEIGHBOURS of each side are looked
up, and how many there are in all is told beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from pyscheduler.api.desk import FrontDesk
from pyscheduler.engine.book import Day
from pyscheduler.model.run import Run
from pyscheduler.rules.dependencies import latest_of

NEIGHBOURS: Final = 100


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A job's run date beside a run, with the run that stands for it, if there is one. `on` is what is waited for."""

    job: str
    run_date: date | None
    on: str
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Both sides, and how many there are of each."""

    upstream: Sequence[Neighbour]
    downstream: Sequence[Neighbour]
    upstream_count: int
    downstream_count: int


async def neighbours_of(desk: FrontDesk, run: Run) -> Neighbours:
    """Return what stands beside a run, by the configuration in force. Raises StoreError, Unavailable."""
    engine = desk.engine
    job = engine.config.jobs.get(run.job)
    edges = () if job is None else job.depends_on
    shift = None if job is None else engine.config.calendar_for(job).shift
    above = [
        (edge.job, None if shift is None else shift(run.run_date, edge.run_date), edge.on.value)
        for edge in edges[:NEIGHBOURS]
    ]
    days = engine.desk.days_depending_on(run.job, run.run_date)
    below = [(name, day, _word(desk, name, run.job)) for name, day in days[:NEIGHBOURS]]
    wanted = [(name, day) for name, day, _ in (*above, *below) if day is not None]
    found = await _standing(desk, wanted)
    return Neighbours(
        [Neighbour(name, day, on, found.get((name, day)) if day is not None else None) for name, day, on in above],
        [Neighbour(name, day, on, found.get((name, day))) for name, day, on in below],
        len(edges),
        len(days),
    )


def _word(desk: FrontDesk, name: str, upstream: str) -> str:
    """Return what a job waits for in an upstream."""
    edges = desk.engine.config.jobs[name].depends_on
    return next((edge.on.value for edge in edges if edge.job == upstream), "")


async def _standing(desk: FrontDesk, days: list[Day]) -> dict[Day, Run]:
    """Return the run that stands for each day that has one."""
    book = desk.engine.book
    old = [day for day in days if not book.is_complete(*day)]
    found: dict[Day, Run] = {}
    if old:
        runs, _ = await desk.ask(lambda store: store.runs_of_days(old))
        for day in old:
            latest = latest_of(run for run in runs if (run.job, run.run_date) == day)
            if latest is not None:
                found[day] = latest
    for day in days:
        if day not in found and (latest := book.latest_for(*day)) is not None:
            shown = book.published(latest.run_id)
            if shown is not None:
                found[day] = shown
    return found
