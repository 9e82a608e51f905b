"""Why a job is not running, and when it will: gathers the facts that `rules/why.py` judges by. Promise P7.

A question is about a run, or about a job's run date, past, present or to come. The facts are those the engine decides
by (upstreams, overlap, slots and pools, pauses); for dates without a run the logbook and the recorded configurations
are asked too. Where another run is to blame the answer carries `because`, the answer for that one, at most LINKS deep
and never the same run twice. Nothing is changed, and the store is read on helper threads only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from pyscheduler.config import Config
from pyscheduler.engine.absent import no_such_job
from pyscheduler.engine.book import Day, RunBook
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.hindsight import dropped_line, first_known
from pyscheduler.engine.ports import Clock
from pyscheduler.engine.waiting import paused, standing
from pyscheduler.errors import BadRequest, NotFound
from pyscheduler.model.firing import Firing
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.job import Job, RunDateRule
from pyscheduler.model.run import Attempt, LogbookLine, Run, RunState
from pyscheduler.rules.admission import order_of
from pyscheduler.rules.dependencies import Upstream, latest_of
from pyscheduler.rules.why import Answer, Culprit, DateFacts, RunFacts, blamed, why_no_run, why_paused, why_run
from pyscheduler.store.reads import Reads
from pyscheduler.timetable.firings import default_run_date
from pyscheduler.timetable.zone import zone

LINKS: Final = 20
"""How many runs deep a chain of blame is followed."""
LOOKED_AT: Final = 2000
"""Runs in line that are looked at to say how many stand before one."""
NEAR: Final = timedelta(days=400)
"""How far the firing before a date is looked for."""


class Explained(Protocol):
    """What a question is asked of: an engine, or one who looks at its store while none is running."""

    @property
    def config(self) -> Config: ...
    @property
    def desk(self) -> Desk: ...
    @property
    def book(self) -> RunBook: ...
    @property
    def store(self) -> Reads: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def catch_up_held(self) -> tuple[datetime, datetime] | None:
        """The span whose catch-up waits for an operator."""
        ...

    def check_usable(self) -> None:
        """Raise Unavailable where nothing can be told."""
        ...


async def explain(
    engine: Explained, job: str | None = None, run_date: date | None = None, run_id: str | None = None
) -> Answer:
    """Return why a run, or a job on a run date, stands where it stands.

    Without a date the job's oldest open run is meant; where none is open, its default run date (spec 11.1). Raises
    NotFound, BadRequest, Unavailable, StoreError.
    """
    engine.check_usable()
    explainer = _Explainer(engine)
    if run_id is not None:
        return await explainer.of_run(await explainer.find(run_id))
    if job is None:
        raise BadRequest("name a job or a run", mend="ask with job= and perhaps run_date=, or with run=")
    run = None if run_date is not None else _oldest_open(engine, job)
    if run is not None:
        return explainer.with_pause(await explainer.of_run(run))
    today = _default_date(engine, job)
    answer = await explainer.of_date(job, run_date or today)
    return explainer.with_pause(answer) if run_date in (None, today) else answer


def say_in(timezone: str) -> Callable[[datetime], str]:
    """Return how instants are said to people: in this zone, with the offset, to the second."""
    place = ZoneInfo(timezone)

    def say(instant: datetime) -> str:
        return instant.astimezone(place).isoformat(" ", "seconds")

    return say


def _oldest_open(engine: Explained, job: str) -> Run | None:
    shown = (engine.book.published(run.run_id) for run in engine.book.open_for(job))
    return next((run for run in shown if run is not None and not run.is_final), None)


def _default_date(engine: Explained, name: str) -> date:
    job = _job(engine.config, name)
    return default_run_date(job, engine.config.calendar_for(job), engine.clock.now())


def _job(config: Config, name: str) -> Job:
    job = config.jobs.get(name)
    if job is None:
        raise no_such_job(name, config.jobs)
    return job


class _Explainer:
    """One question, and the chain it leads to; by the configuration of when it was asked, whatever is reloaded then."""

    def __init__(self, engine: Explained) -> None:
        self._engine, self._desk, self._config = engine, engine.desk, engine.config
        self._say = say_in(self._config.settings.timezone)
        self._seen: set[tuple[str, date]] = set()

    async def find(self, run_id: str) -> Run:
        """Return a run as it is on disk. Raises NotFound."""
        try:
            parse_run_id(run_id)
        except ValueError as error:
            raise NotFound(str(error)) from None
        run = self._engine.book.published(run_id) or await asyncio.to_thread(self._engine.store.get_run, run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id}", mend="`pysched runs` lists them")
        return run

    async def _standing(self, days: list[Day]) -> dict[Day, Run | None]:
        """Return the run that stands for each day as it is on disk; old days are read, and not kept in memory."""
        book = self._engine.book
        old = [day for day in days if not book.is_complete(*day)]
        found: dict[Day, Run | None] = dict.fromkeys(old)
        if old:
            runs, _ = await asyncio.to_thread(self._engine.store.runs_of_days, old)
            found |= {day: latest_of(run for run in runs if (run.job, run.run_date) == day) for day in old}
        for day in days:
            if day not in found:
                run = book.latest_for(*day)
                found[day] = run and book.published(run.run_id)
        return found

    async def _upstreams(self, job: Job | None, run_date: date) -> list[Upstream]:
        """Return what is known about each dependency of a job for a run date."""
        if job is None or not job.depends_on:
            return []
        named = [self._desk.upstream(job, run_date, index) for index in range(len(job.depends_on))]
        days = [(up.dependency.job, up.run_date) for up in named if up.run_date is not None]
        standing = await self._standing(days)
        return [
            up if up.run_date is None else replace(up, run=standing[up.dependency.job, up.run_date]) for up in named
        ]

    def with_pause(self, answer: Answer) -> Answer:
        """Return the answer about a job as it is now with the pause that keeps more of it from coming."""
        job = self._config.jobs.get(answer.job)
        pause = paused(self._desk, answer.job, self._say)
        if pause is None or job is None or not job.enabled or not job.schedules or answer.culprit is Culprit.PAUSED:
            return answer
        return why_paused(answer, pause)

    async def of_date(self, name: str, run_date: date) -> Answer:
        """Answer for the run that stands for a job's run date, or for there being none."""
        run = (await self._standing([(name, run_date)]))[name, run_date]
        if run is not None:
            return await self.of_run(run)
        job = _job(self._config, name)
        self._seen.add((name, run_date))
        facts = await self._about_date(job, run_date)
        answer = why_no_run(job, run_date, facts, self._engine.clock.now(), self._say)
        missing = [up for up in facts.upstreams if up.run_date is not None]
        return await self._traced(answer, missing[0] if job.dependency_only and missing else None)

    async def of_run(self, run: Run) -> Answer:
        """Answer for a run."""
        self._seen.add((run.job, run.run_date))
        job = self._config.jobs.get(run.job)
        facts = await self._about_run(run, job)
        answer = why_run(run, job, facts, self._say)
        if answer.culprit is Culprit.OVERLAP and facts.active and len(self._seen) < LINKS:
            other = self._engine.book.published(facts.active[0].run_id)
            return answer if other is None else replace(answer, because=await self._beside(other))
        return await self._traced(answer, blamed(facts.upstreams))

    async def _beside(self, run: Run) -> Answer:
        """Answer for another run of the same job, which may be for the same date."""
        job = self._config.jobs.get(run.job)
        return why_run(run, job, await self._about_run(run, job), self._say)

    async def _traced(self, answer: Answer, upstream: Upstream | None) -> Answer:
        """Return the answer with the one for the upstream it blames."""
        if answer.culprit is not Culprit.DEPENDENCY or upstream is None or upstream.run_date is None:
            return answer
        day = (upstream.dependency.job, upstream.run_date)
        if day in self._seen or len(self._seen) >= LINKS:
            return answer
        if upstream.run is None and day[0] not in self._config.jobs:
            return answer
        return replace(answer, because=await self.of_date(*day))

    # ----------------------------------------------------------------- facts about a run

    async def _about_run(self, run: Run, job: Job | None) -> RunFacts:
        upstreams, ended = await self._upstreams(job, run.run_date), await self._ended_attempt(run)
        facts = standing(self._desk, run, job, self._say)
        return replace(
            facts,
            upstreams=upstreams,
            active=[other for other in self._desk.book.active_for(run.job) if other.run_id != run.run_id],
            attempt=ended or facts.attempt,
            ahead=self._ahead(run, job) if job is not None and run.state is RunState.QUEUED else 0,
        )

    async def _ended_attempt(self, run: Run) -> Attempt | None:
        """Return the latest attempt of an ended run: its row is in the store only."""
        if not run.is_final or not run.attempt:
            return None
        return (await asyncio.to_thread(self._engine.store.latest_attempts, [run.run_id])).get(run.run_id)

    def _ahead(self, run: Run, job: Job) -> int:
        """Count the runs before it in line that have waited so long that pools it needs are kept free for them."""
        desk, pools = self._desk, set(job.pools)
        if not pools:
            return 0
        patience = timedelta(seconds=desk.config.settings.pool_patience_s)
        count = 0
        for looked_at, other_id in enumerate(desk.ready):
            other = desk.book.get(other_id)
            if looked_at >= LOOKED_AT:
                break
            if other is None or other_id == run.run_id or not pools.intersection(desk.config.jobs[other.job].pools):
                continue
            before = order_of(other, desk.config.jobs[other.job]) < order_of(run, job)
            count += before and desk.now() - (other.queued_at or other.created_at) > patience
        return count

    # ----------------------------------------------------------------- facts about a date without a run

    async def _about_date(self, job: Job, run_date: date) -> DateFacts:
        engine, now = self._engine, self._engine.clock.now()
        upstreams = await self._upstreams(job, run_date)
        pause = paused(self._desk, job.name, self._say)
        if not job.schedules:
            return DateFacts(paused=pause, upstreams=upstreams)
        timetable = self._config.timetable(job.name)
        firings = timetable.on(run_date)
        past = [firing for firing in firings if firing.scheduled_at <= now]
        dropped, known_since = None, None
        if past:
            due = past[-1].scheduled_at
            dropped, known_since = await asyncio.to_thread(self._remembered, engine.store, job, due, run_date)
            unknown = dropped is None and (known_since is None or known_since > due)
            coming = firings[len(past) :]
            firings = coming if unknown and coming else (past[-1], *coming)
        held = engine.catch_up_held
        return DateFacts(
            firings=firings,
            off=None if firings else self._off(job, run_date),
            **({} if firings else self._around(job, run_date)),
            paused=pause,
            dropped=dropped,
            first_known=known_since,
            catch_up_held=bool(past) and held is not None and held[0] < past[-1].scheduled_at <= held[1],
            upstreams=upstreams,
        )

    def _off(self, job: Job, run_date: date) -> str | None:
        """Say why a day that the bare schedule names has no firing."""
        calendar = self._config.calendar_for(job)
        landing: date | None = run_date
        if job.run_date is RunDateRule.PREVIOUS_BUSINESS_DAY:
            if not calendar.is_business_day(run_date):
                return f"{run_date} is no working day of calendar {job.calendar}"
            landing = calendar.next(run_date)
        return None if landing is None else self._config.timetable(job.name).skipped_by(landing)

    def _midnight(self, job: Job, run_date: date) -> datetime:
        return zone(job.timezone).resolve(datetime.combine(run_date, time.min)).instant

    def _around(self, job: Job, run_date: date) -> dict[str, Firing | None]:
        """Return the firings around a run date without any: neighbours by run date, whenever they fire."""
        timetable, midnight = self._config.timetable(job.name), self._midnight(job, run_date)
        previous = timetable.missed(midnight - NEAR, midnight, 1).last
        firing = timetable.next(midnight)
        while firing is not None and firing.run_date <= run_date:  # it fires on a later day than it is for
            previous, firing = firing, timetable.next(firing.scheduled_at)
        return {"previous": previous, "following": firing}

    def _remembered(self, store: Reads, job: Job, due: datetime, run_date: date) -> tuple[str | None, datetime | None]:
        """Return what the logbook says of a past firing without a run, and since when the job is known."""
        dropped = dropped_line(store, job.name, due)
        if dropped is not None:
            return self._say_dropped(dropped, due), None
        settings = self._config.settings
        horizon = self._engine.clock.now() - timedelta(seconds=settings.retention_s)
        if run_date < zone(settings.timezone).today(horizon):
            return None, None
        return None, first_known(store, job.name, due)

    def _say_dropped(self, line: LogbookLine, due: datetime) -> str:
        text = f"it was due at {self._say(due)} and got no run"
        why = f" ({line.detail['why']})" if line.detail.get("why") else ""
        count = line.detail.get("count")
        if not isinstance(count, int) or count < 2:
            return text + why
        first, last = (self._say(datetime.fromisoformat(str(line.detail[end]))) for end in ("first", "last"))
        return f"{text}: {count} firings from {first} to {last} were dropped{why}"
