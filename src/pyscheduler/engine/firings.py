"""The firing task: sleep until the next bell, create its runs, go back to sleep.

A heap holds every scheduled job's next firing. All runs due at one wake-up are created before one commit, together
with `last_tick`, the instant up to which every firing has been handled; it moves in no other way. A firing more than
`LATE_S` late is a jump of the clock (a suspend, a stopped process): the job's `catch_up` rule chooses, as after
downtime. A wall clock found behind the last handled instant rebuilds the heap from now; runs are unique by due
instant, so nothing repeats. Spec: jobs.md 2.5, DESIGN 3 and 5.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.engine.book import Day
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.ports import Cancel, Clock
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Job
from pyscheduler.model.run import LogbookLine, Trigger
from pyscheduler.rules.recovery import KEEP, CaughtUp, catch_up

log = logging.getLogger(__name__)

LATE_S: Final = 120.0
SLICE: Final = 25
"""How many firings are handled before the loop gets a turn."""
JUST_BEFORE: Final = timedelta(microseconds=1)

Entry = tuple[datetime, str, Firing]


class Firings:
    """The heap of next firings and the task that rings it."""

    def __init__(
        self,
        desk: Desk,
        clock: Clock,
        *,
        load_days: Callable[[Iterable[Day]], Awaitable[None]],
        instants_with_runs: Callable[[str, datetime, datetime], Awaitable[set[datetime]]],
        proceed: Callable[[], Awaitable[None]],
        tick_s: float,
    ) -> None:
        self._desk, self._clock = desk, clock
        self._load_days, self._instants_with_runs, self._proceed = load_days, instants_with_runs, proceed
        self._tick_s = tick_s
        self._heap: list[Entry] = []
        self._handled = clock.now()
        self.ringing = False
        """Whether the task is at work, rather than asleep until the next bell."""
        self._stirred = asyncio.Event()
        self.turn = asyncio.Lock()
        """Held by whoever rings, rebuilds or replaces the heap, for as long as that takes."""
        self._step: Cancel | None = None

    # ----------------------------------------------------------------- the heap

    async def entries(self, since: datetime) -> list[Entry]:
        """Return every scheduled job's first firing after `since`, a slice a turn."""
        entries: list[Entry] = []
        async for job in self._scheduled_jobs():
            entry = self._entry(job, since)
            if entry is not None:
                entries.append(entry)
        return entries

    async def _scheduled_jobs(self) -> AsyncIterator[Job]:
        for count, job in enumerate(list(self._desk.config.jobs.values())):
            if job.enabled and job.schedules:
                yield job
            if count % SLICE == SLICE - 1:
                await asyncio.sleep(0)

    def _entry(self, job: Job, since: datetime) -> Entry | None:
        firing = self._desk.config.timetable(job.name).next(since)
        return None if firing is None else (firing.scheduled_at, job.name, firing)

    async def rebuild(self, since: datetime) -> None:
        """Fill the heap anew with the first firings after `since`, all before it count as handled."""
        entries = await self.entries(since)
        heapq.heapify(entries)
        self._heap, self._handled = entries, since
        self._stirred.set()

    def replace(self, entries: list[Entry], now: datetime) -> None:
        """Take a new configuration's heap; entries that came due while it was made are made anew from now.

        The caller holds `turn` and has rung everything due by `now` under the old configuration.
        """
        jobs = self._desk.config.jobs
        late = [name for instant, name, _ in entries if instant <= now]
        fresh = [entry for name in late if (entry := self._entry(jobs[name], now)) is not None]
        heap = [entry for entry in entries if entry[0] > now] + fresh
        heapq.heapify(heap)
        self._heap = heap
        self.tick(now)
        self._stirred.set()

    def next_instant(self) -> datetime | None:
        """Return when the next firing is due, None if there is none."""
        return self._heap[0][0] if self._heap else None

    def upcoming(self) -> dict[str, datetime]:
        """Return when each job that is enabled and has a schedule fires next.

        Without paused jobs: their firings are dropped, so there is none to look forward to.
        """
        covers = self._desk.pauses.covers
        return {name: instant for instant, name, _ in self._heap if covers(name) is None}

    def next_run(self) -> datetime | None:
        """Return when the next firing is due that will get a run, None if there is none."""
        if not self._desk.pauses.items():
            return self.next_instant()
        return min(self.upcoming().values(), default=None)

    @property
    def handled(self) -> datetime:
        """The instant up to which every firing has been handled."""
        return self._handled

    # ----------------------------------------------------------------- the task

    async def run(self) -> None:
        """Ring every firing when it is due, for ever. Cancel to stop."""
        self._step = self._clock.on_step(lambda _seconds: self._stirred.set())
        last_save = self._clock.monotonic()
        try:
            while True:
                self.ringing = False
                await self._sleep(max(0.0, last_save + self._tick_s - self._clock.monotonic()))
                self.ringing = True
                now = self._clock.now()
                if now < self._handled:
                    async with self.turn:
                        await self.rebuild(now - JUST_BEFORE)
                    self.tick(now)
                async with self.turn:
                    rang = await self.ring(now)
                if rang or self._clock.monotonic() - last_save >= self._tick_s:
                    self.tick(now)
                    last_save = self._clock.monotonic()
                    await self._proceed()
        finally:
            self._step.cancel()

    def tick(self, now: datetime) -> None:
        """Write down that every firing up to `now` has been handled; the caller has handled them."""
        self._handled = now
        self._desk.tray.engine["last_tick"] = now.isoformat()

    @property
    def stirred(self) -> bool:
        """Whether the task has been woken and has not looked yet."""
        return self._stirred.is_set()

    async def _sleep(self, at_most_s: float) -> None:
        """Return at the next firing, at a step of the clock, when the heap is rebuilt, or after `at_most_s`."""
        self._stirred.clear()
        first = self.next_instant()
        bell = self._clock.call_at(first, self._stirred.set) if first is not None else None
        tick = self._clock.call_after(at_most_s, self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            tick.cancel()
            if bell is not None:
                bell.cancel()

    async def ring(self, now: datetime) -> int:
        """Handle every firing due by `now`, returns how many. The caller holds `turn`.

        All of them: a job that was due several times while nobody looked rings for each before `now` is called handled.
        """
        rang = 0
        while self._heap and self._heap[0][0] <= now:
            rang += await self._ring_first_ones(now)
        return rang

    async def _ring_first_ones(self, now: datetime) -> int:
        """Handle the first due firing of each job; what was not got to, on an error, is due still."""
        heap, due = self._heap, deque[Entry]()
        while heap and heap[0][0] <= now:
            due.append(heapq.heappop(heap))
        count = len(due)
        try:
            await self._load_days((name, firing.run_date) for _, name, firing in due)
            while due:
                _, name, firing = due[0]
                entry = await self._fire(name, firing, now)
                due.popleft()
                if entry is not None:
                    heapq.heappush(heap, entry)
                if len(due) % SLICE == SLICE - 1:
                    await asyncio.sleep(0)
        finally:
            for entry in due:
                heapq.heappush(heap, entry)
        return count

    async def _fire(self, name: str, firing: Firing, now: datetime) -> Entry | None:
        """Create what a due firing asks for; returns the job's next one."""
        job = self._desk.live_job(name)
        if job is None or not job.schedules:
            return None
        if (now - firing.scheduled_at).total_seconds() > LATE_S:
            await self.catch_up(job, firing.scheduled_at - JUST_BEFORE, now)
            return self._entry(job, now)
        self._create(job, firing, Trigger.SCHEDULE)
        return self._entry(job, firing.scheduled_at)

    def _create(self, job: Job, firing: Firing, trigger: Trigger) -> None:
        """Create the firing's run, unless its job is paused or it has one already."""
        desk = self._desk
        if desk.pauses.covers(job.name) or desk.book.by_scheduled(job.name, firing.run_date, firing.scheduled_at):
            return
        desk.create(job, firing.run_date, trigger, firing.scheduled_at, jitter_s=firing.jitter_s)

    # ----------------------------------------------------------------- missed firings

    async def missed(self, job: Job, since: datetime, until: datetime) -> CaughtUp:
        """Return what the job's rule makes of its firings in (since, until]."""
        missed = self._desk.config.timetable(job.name).missed(since, until, KEEP[job.catch_up] + 1)
        if not missed.count:
            return CaughtUp((), 0)
        existing = await self._instants_with_runs(job.name, since, until)
        return catch_up(missed, job.catch_up, existing)

    async def catch_up(self, job: Job, since: datetime, until: datetime) -> CaughtUp:
        """Create the late runs of one job, oldest first, and write one line about those it gets none for."""
        if self._desk.pauses.covers(job.name):
            return CaughtUp((), 0)
        found = await self.missed(job, since, until)
        await self._load_days((job.name, firing.run_date) for firing in found.run)
        current = self._desk.live_job(job.name)
        if current is None:  # a reload has come meanwhile
            return CaughtUp((), 0)
        for firing in found.run:
            self._create(current, firing, Trigger.CATCH_UP)
        self.tell_dropped(job, found, f"catch_up: {job.catch_up}")
        return found

    def tell_dropped(self, job: Job, found: CaughtUp, why: str, actor: str = "scheduler") -> None:
        """Write the one logbook line about firings that get no run (DESIGN 5)."""
        if not found.dropped:
            return
        line = self._desk.line(
            "firings_dropped",
            actor=actor,
            count=found.dropped,
            first=found.first.scheduled_at.isoformat() if found.first else None,
            last=found.last.scheduled_at.isoformat() if found.last else None,
            why=why,
        )
        self._desk.tray.lines.append(_about(line, job.name))
        log.warning(
            "%s: %d of its firings got no run (%s): from %s to %s", job.name, found.dropped, why, *_ends(line.detail)
        )


def _ends(detail: Mapping[str, object]) -> tuple[object, object]:
    return detail["first"], detail["last"]


def _about(line: LogbookLine, job: str) -> LogbookLine:
    return replace(line, job=job)
