"""What an operator may do to jobs and to the scheduler as a whole: pause, resume, reload, settle a held catch-up.

A pause drops firings and starts nothing; when it ends one logbook line a job says how many firings it dropped, or the
job's `catch_up` rule is applied to them. A reload is all or nothing: definitions, limits and the heap of firings
change between two turns of the loop; open runs take their new definition over in the turns after. Spec: jobs.md 11.2,
DESIGN 5.
"""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.config import Config
from pyscheduler.engine.absent import no_such_job
from pyscheduler.engine.actions import Actions
from pyscheduler.engine.deadlines import Deadlines
from pyscheduler.engine.firings import SLICE, Entry, Firings
from pyscheduler.engine.listeners import Listeners
from pyscheduler.engine.orders import Orders
from pyscheduler.engine.pauses import EVERYTHING, Pause
from pyscheduler.engine.silence import Silence
from pyscheduler.errors import Conflict
from pyscheduler.model import event as ev
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import Job
from pyscheduler.model.run import UNDECIDED_STATES, Run, RunState
from pyscheduler.rules.alerting import reload_failed
from pyscheduler.rules.recovery import CaughtUp
from pyscheduler.store.generation import OLDER

RUNS_A_TURN: Final = 50


@dataclass(frozen=True, slots=True)
class HeldCatchUp:
    """What accepting a held catch-up would run, and what it would drop, by job."""

    since: datetime
    until: datetime
    jobs: Mapping[str, CaughtUp]


class Controls(Actions):
    """Pauses, reloads, held catch-up."""

    firings: Firings
    listeners: Listeners
    orders: Orders
    deadlines: Deadlines
    silence: Silence
    environ: Mapping[str, str]
    boot_id: str
    catch_up_held: tuple[datetime, datetime] | None
    called_off: tuple[str, ...] = ()
    """The ids of the runs that the latest reload called off."""

    # ----------------------------------------------------------------- pause and resume

    async def pause(self, job: str | None = None, *, actor: str, reason: str = "") -> None:
        """Pause a job, or everything: its firings are dropped and its queued runs do not start; what runs goes on."""
        self.check_usable()
        what = self._target(job)
        if (pause := self.desk.pauses.get(what)) is not None:
            raise Conflict(f"{_name(what)} is already paused, by {pause.by} since {pause.since:%Y-%m-%d %H:%M}Z")
        self.desk.pauses.add(what, Pause(actor, self.clock.now(), reason))
        self._remember_pauses()
        await self._paused("pause", what, actor, {"reason": reason} if reason else {})

    async def resume(self, job: str | None = None, *, actor: str, catch_up: bool = False, reason: str = "") -> None:
        """End a pause and start from now; with `catch_up` each job's rule is applied to the firings it missed.

        A scheduler that is killed before all of them are made up for finds itself paused still, so nothing is lost.
        """
        self.check_usable()
        what = self._target(job)
        if self.desk.pauses.get(what) is None:
            raise Conflict(f"{_name(what)} is not paused", mend="`pysched status` shows what is")
        pause, until = self.desk.pauses.end(what), self.clock.now()
        if not catch_up:
            self._remember_pauses()
        await self._paused("resume", what, actor, {"catch_up": catch_up} | ({"reason": reason} if reason else {}))
        try:
            for definition in self._jobs_of(what):
                if self.desk.pauses.covers(definition.name) is None:
                    await self._make_good(definition, pause.since, until, catch_up=catch_up, actor=actor)
        except Exception:
            self._remember_pauses()  # who lives on has ended it
            raise
        self._remember_pauses()
        await self.proceed()

    async def _make_good(self, job: Job, since: datetime, until: datetime, *, catch_up: bool, actor: str) -> None:
        """Run late, or tell as dropped, what a job has missed in (since, until]."""
        if catch_up:
            await self.firings.catch_up(job, since, until)
            return
        missed = self.desk.config.timetable(job.name).missed(since, until, 1)
        dropped = CaughtUp((), missed.count, missed.first, missed.last)
        self.firings.tell_dropped(job, dropped, "paused", actor)

    async def _paused(self, action: str, what: str, actor: str, detail: dict[str, object]) -> None:
        """Write a pause or its end down and move the queued runs it concerns."""
        line = self.desk.line(action, actor=actor, detail={"what": _name(what), **detail})
        self.desk.tray.lines.append(line)
        for run in self.desk.book.open_runs():  # before anything is waited for: a slot that becomes free is given away
            if run.state is RunState.QUEUED and what in (EVERYTHING, run.job):
                self.desk.line_up(run)
        if action == "pause":
            await self.take_back([run.run_id for run in self.desk.book.open_runs() if _is_offered(run, what)])
        await self.proceed()

    def _remember_pauses(self) -> None:
        self.desk.tray.engine["paused"] = self.desk.pauses.to_text()

    def _target(self, job: str | None) -> str:
        if job is not None and job not in self.desk.config.jobs:
            raise no_such_job(job, self.desk.config.jobs)
        return EVERYTHING if job is None else job

    def _jobs_of(self, what: str) -> Iterator[Job]:
        """Yield the jobs that fire, each as it is defined when its turn comes: a reload may come in between."""
        for name in list(self.desk.config.jobs) if what == EVERYTHING else [what]:
            job = self.desk.live_job(name)
            if job is not None and job.schedules:
                yield job

    # ----------------------------------------------------------------- reload

    async def reload(self, config: Config, *, actor: str, reason: str = "") -> bool:
        """Put a new, already checked configuration in force; False where it is the one in force, and nothing happens.

        Firings between the old and the new configuration are not caught up: `last_tick` moves to now.
        """
        self.check_usable()
        if config.digest == self.desk.config.digest:
            return False
        before = self.desk.version
        old_jobs = self.desk.config.jobs
        entries = await self._entries(config)
        edges = [self.desk.days_deciding(run.job, run.run_date, config) for run in self.desk.book.open_runs()]
        await self.load_exactly(day for days in edges for day in days)
        async with self.firings.turn:
            now = await self._ring_what_is_due()
            self.check_usable()
            self._swap(config, entries, now)
        cancelled = await self._redefine(old_jobs)
        self.called_off = tuple(cancelled)
        detail = {"before": before, "after": self.desk.version, "digest": config.digest, "cancelled": cancelled}
        if reason:
            detail["reason"] = reason
        self.desk.tray.lines.append(self.desk.line("reload", actor=actor, detail=detail))
        await self.proceed()
        for run in self.desk.book.open_runs():
            self.deadlines.follow(run)
        self.listeners.reloads.tell(self.desk.version)
        return True

    async def reload_failed(self, problems: Sequence[str], *, actor: str) -> None:
        """Alert people that what stands on disk could not be put in force."""
        self.check_usable()
        self.desk.alarms.raise_(reload_failed(problems, actor, self.clock.now()))
        await self.proceed()

    async def _entries(self, config: Config) -> list[Entry]:
        """Compute the new heap of firings, a slice a turn, while the old one still rings."""
        now = self.clock.now()
        entries = []
        for count, job in enumerate(config.jobs.values()):
            if job.enabled and job.schedules and (firing := config.timetable(job.name).next(now)) is not None:
                entries.append((firing.scheduled_at, job.name, firing))
            if count % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        return entries

    async def _ring_what_is_due(self) -> datetime:
        """Ring under the old configuration until nothing is due; returns an instant at which nothing was."""
        while True:
            now = self.clock.now()
            if not await self.firings.ring(now):
                return now

    def _swap(self, config: Config, entries: list[Entry], now: datetime) -> None:
        desk = self.desk
        desk.config, desk.version = config, desk.version + 1
        self.orders = Orders(config, desk.version, self.environ, self.boot_id, desk.book.numbering)
        desk.admission.set_limits(config.settings.max_running, config.pools)
        desk.book.reindex_waits()
        desk.window_start(now)
        heapq.heapify(entries)
        self.firings.replace(entries, now)
        desk.tray.configs.append(
            ConfigRecord(version=desk.version, loaded_at=now, digest=config.digest, sources=config.sources)
        )
        desk.tray.engine["known_jobs"] = json.dumps(sorted(config.jobs))
        for run_id in [run_id for run_id in desk.ready if self._has_no_job(run_id)]:
            desk.ready.remove(run_id)  # `_redefine` comes to it some turns later, and it must not start until then
        self.silence.settle()

    def _has_no_job(self, run_id: str) -> bool:
        run = self.desk.book.get(run_id)
        return run is None or self.desk.live_job(run.job) is None

    async def _redefine(self, old_jobs: Mapping[str, Job]) -> list[str]:
        """Let every open run take its new definition over; returns the ids of those that were called off.

        What a node has claimed is as good as started: it keeps the definition it was offered under.
        """
        cancelled = []
        await self.take_back()
        for count, run_id in enumerate(list(self.desk.book.open_ids())):
            run = self.desk.book.get(run_id)
            if run is not None and not run.is_final and self._redefine_run(run, old_jobs):
                cancelled.append(run_id)
            if count % RUNS_A_TURN == RUNS_A_TURN - 1:
                await asyncio.sleep(0)
        return cancelled

    def _redefine_run(self, run: Run, old_jobs: Mapping[str, Job]) -> bool:
        """Move one open run to the configuration in force; True where it was called off."""
        desk = self.desk
        job = desk.config.jobs.get(run.job)
        if run.holds_slot:
            return False
        if job is None or not job.enabled:
            desk.apply(run, ev.JobWithdrawn("removed by reload" if job is None else "disabled"))
            return True
        if run.state is RunState.QUEUED and run.forced:
            desk.apply(run, ev.KeptInLine(desk.version))
            return False
        if run.state in UNDECIDED_STATES or job != old_jobs.get(run.job):
            desk.look(desk.apply(run, ev.Redefined(desk.version, desk.patience_from(run, job))))
        return False

    # ----------------------------------------------------------------- held catch-up

    async def preview_catch_up(self) -> HeldCatchUp:
        """Return what accepting the held catch-up would do. Raises Conflict where none is held."""
        since, until = self._held()
        jobs = {}
        for job in self._jobs_of(EVERYTHING):
            found = await self.firings.missed(job, since, until)
            if found.run or found.dropped:
                jobs[job.name] = found
        return HeldCatchUp(since, until, jobs)

    async def settle_catch_up(self, *, accept: bool, actor: str, reason: str = "") -> None:
        """Run what a restored store missed (`accept`), or drop it with one line a job."""
        self.check_usable()
        since, until = self._held()
        detail = {"accept": accept} | ({"reason": reason} if reason else {})
        self.desk.tray.lines.append(self.desk.line("catch_up", actor=actor, detail=detail))
        self.catch_up_held = None
        try:
            for job in self._jobs_of(EVERYTHING):
                await self._make_good(job, since, until, catch_up=accept, actor=actor)
        except Exception:
            self.catch_up_held = since, until
            raise
        self.desk.tray.engine |= {"catch_up_held": None, OLDER: None}  # last: who is killed before it is asked again
        await self.proceed()

    def _held(self) -> tuple[datetime, datetime]:
        if self.catch_up_held is None:
            raise Conflict("no catch-up is held", mend="it is only held after an older store was restored")
        return self.catch_up_held


def _is_offered(run: Run, what: str) -> bool:
    return run.offered_at is not None and what in (EVERYTHING, run.job)


def _name(what: str) -> str:
    return "the scheduler" if what == EVERYTHING else f"job {what}"
