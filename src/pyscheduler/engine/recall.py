"""Bringing old days back into memory before anything is decided about them.

Days before the memory window are only in the store. Whoever is about to decide about one asks for it first; so no
rule ever sees "no run yet" where there is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from pyscheduler.engine.book import Day
from pyscheduler.engine.surroundings import Surroundings
from pyscheduler.store import Store


class Recall:
    """Reads of one store into one engine's memory, on helper threads."""

    def __init__(self, desk: Surroundings, store: Store) -> None:
        self._desk, self._store = desk, store

    async def load_days(self, days: Iterable[Day]) -> None:
        """Bring the runs of these days, and of all days they are decided by or decide, into memory."""
        old = [day for day in days if self._desk.may_lack(day)]
        await self.load_exactly(self._desk.surroundings(old))

    async def load_exactly(self, days: Iterable[Day]) -> None:
        """Bring the runs of just these days into memory, those that are not in it yet."""
        book = self._desk.book
        missing = list({day: None for day in days if not book.is_complete(*day)})
        if not missing:
            return
        runs, seqs = await asyncio.to_thread(self._store.runs_of_days, missing)
        book.load(runs)
        for (job, run_date), seq in seqs.items():
            book.raise_seq(job, run_date, seq)
        for day in missing:
            book.mark_complete(*day)

    async def instants_with_runs(self, job: str, since: datetime, until: datetime) -> set[datetime]:
        """Return the instants in (since, until] that have a run of the job's schedule."""
        return await asyncio.to_thread(self._store.firings_with_runs, job, since, until)
