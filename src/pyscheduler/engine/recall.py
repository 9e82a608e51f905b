"""Bringing old days back into memory before anything is decided about them.

Days before the memory window are only in the store. Whoever is about to decide about one asks for it first; so no
rule ever sees "no run yet" where there is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime

from pyscheduler.engine.book import Day
from pyscheduler.engine.surroundings import Surroundings
from pyscheduler.store import Store


class Recall:
    """Reads of one store into one engine's memory, on helper threads."""

    def __init__(self, desk: Surroundings, store: Store) -> None:
        self._desk, self._store = desk, store

    async def load_days(self, days: Iterable[Day]) -> None:
        """Bring the runs of these days, of what they are decided by and of what depends on them, into memory.

        All of them are there when this returns; they may be forgotten again as soon as the loop turns.
        """
        await self.load_exactly(await self._around([day for day in days if self._desk.may_lack(day)]))

    async def load_exactly(self, days: Iterable[Day]) -> None:
        """Bring the runs of just these days into memory, those that are not in it yet."""
        wanted, book = dict.fromkeys(days), self._desk.book
        while missing := [day for day in wanted if not book.is_complete(*day)]:
            runs, seqs = await asyncio.to_thread(self._store.runs_of_days, missing)
            book.load(runs)
            for (job, run_date), seq in seqs.items():
                book.raise_seq(job, run_date, seq)
            for day in missing:
                book.mark_complete(*day)

    async def _around(self, days: Iterable[Day]) -> list[Day]:
        """Return these days, what they are decided by, and what depends on them.

        Dependants are followed as long as they have runs, or a new run of the day would bring some about: a job that
        waits for its own yesterday is not followed through years in which nothing of it ever ran.
        """
        level: dict[Day, int | None] = dict.fromkeys(days, 0)
        seen: dict[Day, int | None] = dict(level)
        while level:
            have_runs = await self._with_runs(day for day, steps in level.items() if steps is None)
            following = [
                found
                for day, steps in level.items()
                if steps is not None or day in have_runs
                for found in self._dependants(day, steps)
            ]
            level = {}
            for day, steps in following:
                if day not in seen or (seen[day] is None and steps is not None):
                    level[day] = seen[day] = steps
        return [*seen, *(upstream for day in seen for upstream in self._desk.days_deciding(*day))]

    def _dependants(self, day: Day, steps: int | None) -> Iterator[tuple[Day, int | None]]:
        """Yield the days that depend on one, each with its steps.

        `steps` counts how many days lie between the first and one whose run a run of the first would bring about, as a
        dependency-only job's is (spec 4.5); None where it would not: then all there is are runs that are there.
        """
        jobs = self._desk.config.jobs
        for other in self._desk.days_depending_on(*day):
            comes_about = jobs[other[0]].dependency_only and other[0] != day[0]
            yield other, steps + 1 if steps is not None and comes_about and steps < len(jobs) else None

    async def _with_runs(self, days: Iterable[Day]) -> set[Day]:
        """Return those of these days that have any runs."""
        book, found, unknown = self._desk.book, set(), []
        for day in days:
            if not book.is_complete(*day):
                unknown.append(day)
            elif book.latest_for(*day) is not None:
                found.add(day)
        if unknown:
            _, seqs = await asyncio.to_thread(self._store.runs_of_days, unknown)
            found |= seqs.keys()
        return found

    async def instants_with_runs(self, job: str, since: datetime, until: datetime) -> set[datetime]:
        """Return the instants in (since, until] that have a run of the job's schedule."""
        return await asyncio.to_thread(self._store.firings_with_runs, job, since, until)
