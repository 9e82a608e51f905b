"""How a board comes to its rows: what the loop knows at one moment, then one trip to a helper thread for all the rest.

On the loop only what lives there is looked up, and as little as can be: which runs there are, what runs since when,
and, for the rows that are shown and not ended, why they do not start. Ordering, filtering and asking the store happen
on the thread, in one trip: every trip waits its turn twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.durations import Durations
from pyscheduler.engine.core import Engine
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run
from pyscheduler.store.reads import Reads
from pyscheduler.web.board_rows import ROWS, Arranged, Row, Wanted, arrange, row_of, told
from pyscheduler.web.day_sheets import DaySheets, Sheet
from pyscheduler.web.ranking import Facts, Place, place_of
from pyscheduler.web.waiting_for import waiting_for
from pyscheduler.web.worst_first import Pace

AT_ONCE: Final = 10
"""Rows whose culprits are looked for in one turn of the loop."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What the loop knew. `running` holds job and start of the day's attempts that run, by run id."""

    sheet: Sheet
    runs: Collection[Run]
    version: int
    jobs: Mapping[str, Job]
    now: datetime
    running: Mapping[str, tuple[str, datetime]]


class BoardReader:
    """Reads the boards of one desk. Every method raises StoreError and Unavailable."""

    def __init__(self, desk: FrontDesk, sheets: DaySheets) -> None:
        self._desk, self._sheets, self._durations = desk, sheets, Durations()

    async def page(self, day: date, wanted: Wanted, number: int) -> tuple[Sheet, Arranged, Sequence[Row]]:
        """Return a day's sheet, one page of what is wanted of it, and that page's rows."""
        engine = self._desk.engine
        moment = await self._moment(engine, day)

        def read(store: Reads) -> tuple[Arranged, list[Row]]:
            facts = self._facts(moment)
            arranged = _arranged(moment, facts, wanted, number, ROWS)
            return arranged, self._rows(store, arranged.places, facts)

        arranged, rows = await self._desk.ask(read)
        await self._tell(engine, rows)
        return moment.sheet, arranged, rows

    async def worst(self, day: date, wanted: Wanted, count: int) -> Arranged:
        """Return the worst so many of what is wanted of a day."""
        moment = await self._moment(self._desk.engine, day)
        return await self._desk.threads(lambda: _arranged(moment, self._facts(moment), wanted, 1, count))

    async def some(self, day: date, run_ids: Sequence[str]) -> tuple[Sheet, Sequence[Row]]:
        """Return a day's sheet, and the rows of those of these runs that are on it."""
        engine = self._desk.engine
        moment = await self._moment(engine, day)
        runs = [run for run_id in run_ids if (run := moment.sheet.runs.get(run_id)) is not None]

        def read(store: Reads) -> list[Row]:
            facts = self._facts(moment)
            return self._rows(store, [place_of(run, facts) for run in runs], facts)

        rows = await self._desk.ask(read)
        await self._tell(engine, rows)
        return moment.sheet, rows

    # ----------------------------------------------------------------- on the loop

    async def _moment(self, engine: Engine, day: date) -> _Moment:
        sheet = await self._sheets.sheet(day)
        self._durations.listen_to(engine)
        running = {}
        for run_id in list(engine.admission.holders):
            run, attempt = sheet.runs.get(run_id), engine.desk.latest_attempt(run_id)
            if run is not None and attempt is not None and attempt.ended_at is None:
                running[run_id] = (run.job, attempt.started_at)
        return _Moment(sheet, sheet.listed(), sheet.version, engine.config.jobs, engine.clock.now(), running)

    async def _tell(self, engine: Engine, rows: list[Row]) -> None:
        """Add to rows that are not ended what they wait for: a chain of blame takes a moment, so ten in a turn."""
        looked_at = 0
        for index, row in enumerate(rows):
            if not row.run.is_final:
                rows[index] = told(row, self._desk.with_reason(row.run), waiting_for(engine, row.run))
                looked_at += 1
                if looked_at % AT_ONCE == 0:
                    await asyncio.sleep(0)

    # ----------------------------------------------------------------- on a helper thread

    def _facts(self, moment: _Moment) -> Facts:
        """Return what decides about the order: the jobs, the time, and how long what runs has taken. Blocks."""
        typical = self._durations.of({job for job, _ in moment.running.values()}) if moment.running else {}
        paces = {
            run_id: Pace((moment.now - began).total_seconds(), typical.get(job))
            for run_id, (job, began) in moment.running.items()
        }
        return Facts(moment.jobs, moment.now, paces)

    def _rows(self, store: Reads, places: Sequence[Place], facts: Facts) -> list[Row]:
        """Make the rows, with latest attempts and typical durations. Blocks."""
        tried = [place.run for place in places if place.run.attempt]
        latest = store.latest_attempts([run.run_id for run in tried])
        typical, jobs = self._durations.of({run.job for run in tried}), facts.jobs
        rows = []
        for place in places:
            run = place.run
            attempt, usual = latest.get(run.run_id), typical.get(run.job)
            rows.append(row_of(run, place.group, jobs.get(run.job), attempt, usual, facts.now))
        return rows


def _arranged(moment: _Moment, facts: Facts, wanted: Wanted, number: int, rows: int) -> Arranged:
    order = moment.sheet.ranking.order(moment.runs, moment.version, facts)
    return arrange(order, wanted, facts.jobs, number, rows)
