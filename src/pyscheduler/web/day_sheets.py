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

RUNS: Final = 50_000
SHEETS: Final = 4
KEPT_S: Final = 600.0


@dataclass(slots=True)
class Sheet:
    """One day. `counts` are of all its runs, whether or not the sheet `holds_all`; `version` grows with each change."""

    read_at: float
    runs: dict[str, Run] = field(default_factory=dict)
    counts: Counter[RunState] = field(default_factory=Counter)
    holds_all: bool = True
    version: int = 0
    reading: asyncio.Task[None] | None = None

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
            open_runs = self._open_runs(day)
            found, all_counts = await self._desk.ask(lambda store: _ended(store, day))
        except BaseException:
            if self._sheets.get(day) is sheet:
                del self._sheets[day]
            raise
        heard, sheet.runs = sheet.runs, {run.run_id: run for run in (*found, *open_runs)}
        sheet.counts = Counter(run.state for run in sheet.runs.values())
        sheet.holds_all = all_counts is None
        sheet.counts = sheet.counts if all_counts is None else Counter(all_counts)
        for run in heard.values():  # newer than what the read found
            sheet.take(run)
        sheet.reading = None

    def _open_runs(self, day: date) -> list[Run]:
        book, ending = self._desk.engine.book, f".{day.isoformat()}."
        shown = (book.published(run_id) for run_id in list(book.open_ids()) if ending in run_id)
        return [run for run in shown if run is not None]

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


def _ended(store: Reads, day: date) -> tuple[list[Run], dict[RunState, int] | None]:
    """Return a day's ended runs as far as a sheet holds them; with all counts where that is not all. Blocks."""
    found, is_all = store.ended_of_date(day, RUNS)
    return found, None if is_all else store.counts_by_state(day)
