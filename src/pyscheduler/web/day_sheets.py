"""The runs of the days that people look at, kept in memory and kept fresh: a board never reads a whole day twice.

A sheet is read from the store once, on a helper thread, and from then on hears of every published run of its day. What
is heard while the store is being read is newer than what the read finds. A sheet holds at most RUNS ended runs, failed
ones first; beyond that it says so, and only the counts are of all. At most SHEETS days are kept, those looked at last,
each for at most KEPT_S: pruned runs must not stand on a board for ever.

Lives on the loop. What `runs` returns is a list of frozen runs, which may be handed to a thread.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from pyscheduler.api.desk import FrontDesk
from pyscheduler.engine.core import Engine
from pyscheduler.model.run import Run, RunState
from pyscheduler.store.reads import Reads
from pyscheduler.web.ranking import Ranking

RUNS: Final = 50_000
SHEETS: Final = 4
KEPT_S: Final = 600.0
SLICE: Final = 1000
"""Open runs looked up in one turn of the loop: a millisecond."""


@dataclass(slots=True)
class Sheet:
    """One day. `counts` are of all its runs, whether or not the sheet `holds_all`; `version` grows with each change."""

    read_at: float
    runs: dict[str, Run] = field(default_factory=dict)
    counts: Counter[RunState] = field(default_factory=Counter)
    holds_all: bool = True
    version: int = 0
    reading: asyncio.Task[None] | None = None
    ranking: Ranking = field(default_factory=Ranking)
    _listed: tuple[int, list[Run]] | None = None

    def listed(self) -> list[Run]:
        """Return the runs as a list that nothing changes afterwards; the same one until a run changes."""
        if self._listed is None or self._listed[0] != self.version:
            self._listed = self.version, list(self.runs.values())
        return self._listed[1]

    def take(self, run: Run) -> None:
        """Take a run's newest state."""
        before = self.runs.get(run.run_id)
        self.runs[run.run_id] = run
        self.version += 1
        if before is not None:
            self.counts[before.state] -= 1
        self.counts[run.state] += 1


class DaySheets:
    """The sheets of one desk."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk = desk
        self._engine: Engine | None = None
        self._sheets: OrderedDict[date, Sheet] = OrderedDict()

    async def sheet(self, day: date) -> Sheet:
        """Return a day's sheet, read if it must be. Raises StoreError, Unavailable."""
        self._listen_to(self._desk.engine)
        now = asyncio.get_running_loop().time()
        sheet = self._sheets.get(day)
        if sheet is None or now - sheet.read_at > KEPT_S:
            sheet = self._sheets[day] = Sheet(now)
            sheet.reading = asyncio.create_task(self._read(day, sheet))
        self._sheets.move_to_end(day)
        while len(self._sheets) > SHEETS:
            self._sheets.popitem(last=False)
        if sheet.reading is not None:
            await asyncio.shield(sheet.reading)
        return sheet

    async def _read(self, day: date, sheet: Sheet) -> None:
        """Fill a sheet: all open runs of the day, and its ended ones. A sheet that cannot be read is forgotten."""
        try:
            open_runs = await self._open_runs(day)
            runs, counts, holds_all = await self._desk.ask(lambda store: _filled(store, day, open_runs))
        except BaseException:
            if self._sheets.get(day) is sheet:
                del self._sheets[day]
            raise
        heard, sheet.runs, sheet.counts, sheet.holds_all = sheet.runs, runs, counts, holds_all
        sheet.version += 1
        for run in heard.values():  # newer than what the read found
            sheet.take(run)
        sheet.reading = None

    async def _open_runs(self, day: date) -> list[Run]:
        """Return the day's open runs, looked up in slices of a turn of the loop; what changes meanwhile is heard."""
        book, ending = self._desk.engine.book, f".{day.isoformat()}."
        ids = [run_id for run_id in book.open_ids() if ending in run_id]
        found = []
        for index, run_id in enumerate(ids, 1):
            if (run := book.published(run_id)) is not None:
                found.append(run)
            if index % SLICE == 0:
                await asyncio.sleep(0)
        return found

    def _listen_to(self, engine: Engine) -> None:
        """Hear of this engine's runs from now on; another one's sheets are worth nothing."""
        if engine is not self._engine:
            self._engine = engine
            self._sheets.clear()
            engine.subscribe(self._heard)

    def _heard(self, run: Run) -> None:
        sheet = self._sheets.get(run.run_date)
        if sheet is not None:
            sheet.take(run)


def _filled(store: Reads, day: date, open_runs: list[Run]) -> tuple[dict[str, Run], Counter[RunState], bool]:
    """Return a day's runs as far as a sheet holds them, the counts of all, and whether it holds all. Blocks."""
    found, holds_all = store.ended_of_date(day, RUNS)
    runs = {run.run_id: run for run in (*found, *open_runs)}
    counts = Counter(run.state for run in runs.values()) if holds_all else Counter(store.counts_by_state(day))
    return runs, counts, holds_all
