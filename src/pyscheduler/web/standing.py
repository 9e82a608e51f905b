"""Which run stands for a job's date: from the book for what is in memory, from the store for dates of long ago.

What a job that fires every minute leaves for a date is never read whole: of old dates a few newest runs are looked at,
among which the one that stands is, unless overlap has called off as many after it.
"""

from __future__ import annotations

import asyncio
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
SLICE: Final = 250
"""Days looked up in one turn of the loop: some milliseconds."""

Day = tuple[str, date]


async def standing_runs(desk: FrontDesk, days: Collection[Day]) -> dict[Day, Run]:
    """Return the run that stands for each (job, run date) that has one, as dependencies see it. Raises StoreError."""
    found: dict[Day, Run] = {}
    old = []
    for count, day in enumerate(days, 1):
        if day[1] < desk.engine.book.memory_start:
            old.append(day)
        elif (run := _of_book(desk, day)) is not None:
            found[day] = run
        if count % SLICE == 0:
            await asyncio.sleep(0)
    return found | (await desk.ask(lambda store: _of_store(store, old)) if old else {})


def _of_book(desk: FrontDesk, day: Day) -> Run | None:
    """Return what is published of the run that stands for a day."""
    book = desk.engine.book
    run = book.latest_for(*day)
    shown = None if run is None else book.published(run.run_id)
    return None if shown is None else desk.with_reason(shown)


def _of_store(store: Reads, days: Iterable[Day]) -> dict[Day, Run]:
    found = {}
    for job, run_date in days:
        runs = store.runs(RunQuery(job=job, run_date=run_date, limit=LOOKED_AT)).items
        if runs:
            found[job, run_date] = max(runs, key=standing)
    return found
