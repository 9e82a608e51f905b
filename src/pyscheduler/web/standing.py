"""Which run stands for a job's date: from the book for what is in memory, from the store for dates of long ago.

What a job that fires every minute leaves for a date is never read whole: of old dates a few newest runs are looked at,
among which the one that stands is, unless overlap has called off as many after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date
from typing import Final

from pyscheduler.api.desk import FrontDesk
from pyscheduler.model.run import Run
from pyscheduler.rules.dependencies import standing
from pyscheduler.store.questions import RunQuery
from pyscheduler.store.reads import Reads

LOOKED_AT: Final = 20
"""Newest runs of an old date that are looked at."""

Day = tuple[str, date]


async def standing_runs(desk: FrontDesk, days: Collection[Day]) -> dict[Day, Run]:
    """Return the run that stands for each (job, run date) that has one, as dependencies see it. Raises StoreError."""
    book = desk.engine.book
    in_memory = {day: book.latest_for(*day) for day in days if day[1] >= book.memory_start}
    shown = {day: book.published(run.run_id) for day, run in in_memory.items() if run is not None}
    found = {day: desk.with_reason(run) for day, run in shown.items() if run is not None}
    old = [day for day in days if day not in in_memory]
    return found | (await desk.ask(lambda store: _of_store(store, old)) if old else {})


def _of_store(store: Reads, days: Iterable[Day]) -> dict[Day, Run]:
    found = {}
    for job, run_date in days:
        runs = store.runs(RunQuery(job=job, run_date=run_date, limit=LOOKED_AT)).items
        if runs:
            found[job, run_date] = max(runs, key=standing)
    return found
