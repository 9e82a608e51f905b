"""What an operator may do. Every refusal is an ActionError; every deed is one logbook line: who, before, after, why.

An action checks, decides and is on disk before it returns; what follows from it (dependants, freed slots) travels on
the same trip. Old runs are read back from the store first. Spec: jobs.md part 11.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Final

from pyscheduler.engine.absent import no_such_job
from pyscheduler.engine.attempts import Attempts
from pyscheduler.engine.book import Day
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import BadRequest, Conflict, NotFound
from pyscheduler.model import event as ev
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.job import Job
from pyscheduler.model.run import FINAL_STATES, Run, RunState, Trigger
from pyscheduler.rules.evaluate import evaluate
from pyscheduler.rules.instead import instead
from pyscheduler.timetable.calendars import remark_on_date
from pyscheduler.timetable.firings import default_run_date
from pyscheduler.timetable.zone import zone

BACKFILL_DAYS: Final = 366
HOLDABLE: Final = frozenset(
    {RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED, RunState.QUEUED, RunState.RETRY_WAIT}
)


class Actions(ABC):
    """The actions of an engine; all take `actor`, the operator's name, and an optional `reason`."""

    desk: Desk
    clock: Clock
    attempts: Attempts
    being_pruned: set[str]

    @property
    @abstractmethod
    def rows_are_owned(self) -> bool:
        """Whether the row of a running run belongs to the node that runs it."""

    @abstractmethod
    def check_usable(self) -> None:
        """Raise Unavailable where no action is taken."""

    @abstractmethod
    async def proceed(self) -> None:
        """Bring what was decided to the disk and what follows about."""

    @abstractmethod
    async def shown(self, run: Run) -> Run:
        """Return a run that was saved, as it is now."""

    @abstractmethod
    async def look_at_offered(self) -> None:
        """Take over what nodes have made of the runs that are offered to them."""

    @abstractmethod
    async def take_back(self, run_ids: Collection[str] | None = None) -> set[str]:
        """End what is offered to nodes and not claimed, None for all of it; returns what stands in line again."""

    @abstractmethod
    async def load_days(self, days: Iterable[Day]) -> None:
        """Bring the runs of these days, and of all days they are decided by or decide, into memory."""

    @abstractmethod
    async def load_exactly(self, days: Iterable[Day]) -> None:
        """Bring the runs of just these days into memory."""

    # ----------------------------------------------------------------- new runs

    async def trigger(self, job: str, *, actor: str, run_date: date | None = None, reason: str = "") -> Run:
        """Create a manual run, due now, for any date; without one for the job's default run date (spec 11.1)."""
        self.check_usable()
        definition = self._enabled(job)
        now = self.clock.now()
        calendar = self.desk.config.calendar_for(definition)
        day = run_date or default_run_date(definition, calendar, now)
        await self.load_days([(job, day)])
        self.check_usable()
        definition = self._enabled(job)  # as it is by now: a reload may have come meanwhile
        at = self._place_in_logbook()
        run = self.desk.create(definition, day, Trigger.MANUAL, now)
        remarks = {"remark": remark} if (remark := self.remark_on(definition, day)) else {}
        return await self._done("trigger", run, None, actor, reason, at, remarks)

    def remark_on(self, job: Job, day: date) -> str:
        """Return what is odd about a run date that a job is triggered for, empty where nothing is."""
        calendar = self.desk.config.calendar_for(job)
        return remark_on_date(day, zone(job.timezone).today(self.clock.now()), calendar)

    async def backfill(self, job: str, *, start: date, end: date, actor: str, reason: str = "") -> list[Run]:
        """Create one run for each working day of the range that has none at all, due at its first firing.

        Dates that never fire are passed over, and so is a firing still to come: that one comes by itself (DESIGN 8
        row 17). At most 366 days.
        """
        self.check_usable()
        definition = self._enabled(job)
        if start > end:
            raise BadRequest(f"the range ends on {end}, before it starts on {start}", mend="swap the two dates")
        days = [start + timedelta(days=n) for n in range((end - start).days + 1)]
        if len(days) > BACKFILL_DAYS:
            raise BadRequest(f"the range spans {len(days)} days and a backfill takes {BACKFILL_DAYS}", mend="split it")
        calendar = self.desk.config.calendar_for(definition)
        days = [day for day in days if calendar.is_business_day(day)]
        await self.load_days((job, day) for day in days)
        self.check_usable()
        definition = self._enabled(job)  # as it is by now: a reload may have come meanwhile
        made = [run for day in days if (run := self._backfill_day(definition, day, actor, reason)) is not None]
        await self.proceed()
        return [await self.shown(run) for run in made]

    def _backfill_day(self, job: Job, day: date, actor: str, reason: str) -> Run | None:
        if self.desk.book.latest_for(job.name, day) is not None:
            return None
        instant = self._first_instant(job, day)
        if instant is None or (job.schedules and instant > self.clock.now()):
            return None
        at = self._place_in_logbook()
        run = self.desk.create(job, day, Trigger.BACKFILL, instant)
        self._tell("backfill", run, None, actor, reason, at)
        return run

    def _first_instant(self, job: Job, day: date) -> datetime | None:
        """Return the first firing that belongs to a run date; local midnight for a job without schedules."""
        if not job.schedules:
            return zone(job.timezone).resolve(datetime.combine(day, datetime.min.time())).instant
        first = self.desk.config.timetable(job.name).first_on(day)
        return None if first is None else first.scheduled_at

    # ----------------------------------------------------------------- one run

    async def hold(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Keep an open run that is not running from going on."""
        return await self._on_run("hold", run_id, ev.Held(actor, reason), actor, reason, HOLDABLE)

    async def release(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Let a held run go. One held in line or between two tries has waited enough: only overlap is asked."""
        run = await self._run(run_id)
        self._must_be(run, frozenset({RunState.HELD}), "release")
        job = self._enabled(run.job)
        waived = run.held_from in (RunState.QUEUED, RunState.RETRY_WAIT)
        at = self._place_in_logbook()
        after = self.desk.apply(run, ev.Released(actor, self.desk.patience_of(job), reason))
        event = evaluate(after, job, self.desk.facts(after, job, waived=waived))
        if event is not None:
            self.desk.decided(after, event)
        return await self._done("release", after, run, actor, reason, at)

    async def force_start(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Put a run at the head of the line, past dependencies, overlap, holds and pauses; pools and the cap stay."""
        run = await self._run(run_id)
        self._enabled(run.job)
        allowed = HOLDABLE | {RunState.HELD}
        return await self._on_run("force_start", run_id, ev.ForceStarted(actor, reason), actor, reason, allowed)

    async def kill(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """End a running attempt; the run fails, `killed by ACTOR`, and is not tried again."""
        run = await self._run(run_id)
        self._must_be(run, frozenset({RunState.RUNNING}), "kill")
        attempt = self.desk.latest_attempt(run_id)
        if attempt is not None and attempt.kill_by is not None:
            raise Conflict(f"{run_id} is already being killed", mend=f"`pysched why {run.job}` says what it waits for")
        at = self._place_in_logbook()
        after = self.desk.set_kill(run, actor, owned=self.rows_are_owned)
        return await self._done("kill", after, run, actor, reason, at)

    async def skip(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Skip an open run that is not running: its dependants take it as a success."""
        return await self._on_run(
            "skip", run_id, ev.SkippedByHand(actor, reason), actor, reason, HOLDABLE | {RunState.HELD}
        )

    async def cancel(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Call an open run off that is not running: its dependants are blocked by it."""
        allowed = HOLDABLE | {RunState.HELD}
        return await self._on_run("cancel", run_id, ev.CancelledByHand(actor, reason), actor, reason, allowed)

    async def mark_success(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Declare a run that is not running succeeded, ended or not."""
        allowed = frozenset(RunState) - {RunState.RUNNING}
        return await self._on_run("mark_success", run_id, ev.MarkedSuccess(actor, reason), actor, reason, allowed)

    async def mark_failed(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """Declare a run that is not running failed, ended or not."""
        allowed = frozenset(RunState) - {RunState.RUNNING}
        return await self._on_run("mark_failed", run_id, ev.MarkedFailed(actor, reason), actor, reason, allowed)

    async def rerun(self, run_id: str, *, actor: str, downstream: bool = False, reason: str = "") -> list[Run]:
        """Reopen an ended run with a fresh retry budget; `downstream` reopens the ended runs that depend on it too.

        Of each dependant the latest run of the matching date is taken, only if it has ended, transitively. Returns
        the reopened runs, the asked-for one first.
        """
        run = await self._run(run_id)
        await self.load_days([(run.job, run.run_date)])
        run = await self._run(run_id)
        self._must_be(run, FINAL_STATES, "rerun")
        self._enabled(run.job)
        chosen = [run, *(self._downstream(run) if downstream else ())]
        reopened = [(old, self._place_in_logbook(), self._reopen(old, actor, reason)) for old in chosen]
        looked_at = [(old, at, self.desk.look(after)) for old, at, after in reopened]
        for old, at, after in reversed(looked_at):  # from the last place to the first: none moves another
            self._tell("rerun", after, old, actor, reason, at)
        await self.proceed()
        return [await self.shown(after) for _, _, after in reopened]

    def _reopen(self, run: Run, actor: str, reason: str) -> Run:
        job = self.desk.config.jobs[run.job]
        return self.desk.apply(run, ev.Rerun(actor, self.desk.patience_of(job), reason))

    def _downstream(self, run: Run) -> list[Run]:
        """Return the ended runs that depend on a run, transitively, nearest first."""
        found: dict[str, Run] = {}
        to_see = [run]
        while to_see:
            upstream = to_see.pop(0)
            for name, day in self.desk.days_depending_on(upstream.job, upstream.run_date):
                latest = self.desk.book.latest_for(name, day)
                if latest is None or not latest.is_final or self.desk.live_job(name) is None:
                    continue
                if latest.run_id not in found and latest.run_id != run.run_id:
                    found[latest.run_id] = latest
                    to_see.append(latest)
        return list(found.values())

    # ----------------------------------------------------------------- shared steps

    async def _on_run(
        self, action: str, run_id: str, event: ev.Event, actor: str, reason: str, allowed: frozenset[RunState]
    ) -> Run:
        run = await self._run(run_id)
        self._must_be(run, allowed, action)
        if run.offered_at is not None:
            run = await self._taken_back(run)
            self._must_be(run, allowed, action)
        at = self._place_in_logbook()
        after = self.desk.apply(run, event)
        return await self._done(action, after, run, actor, reason, at)

    async def _run(self, run_id: str) -> Run:
        """Return a run's working copy, read back from the store if it is old. Raises NotFound, Unavailable."""
        self.check_usable()
        run = self.desk.book.get(run_id)
        if run is None:
            try:
                job, day, _ = parse_run_id(run_id)
            except ValueError as error:
                raise NotFound(str(error)) from None
            await self.load_days([(job, day)])
            self.check_usable()
            run = self.desk.book.get(run_id)
        if run is not None and run.offered_at is not None:  # a node may have begun it: what is shown knows, we do not
            await self.look_at_offered()
            run = self.desk.book.get(run_id)
        if run is None or run_id in self.being_pruned:
            raise NotFound(f"there is no run {run_id}", mend="`pysched runs` lists them")
        return run

    async def _taken_back(self, run: Run) -> Run:
        """Return an offered run once no node can start it any more. Raises Conflict where one has claimed it."""
        if run.run_id not in await self.take_back([run.run_id]):
            mend = "ask again in a moment: it can be killed once it runs"
            raise Conflict(f"{run.run_id} is just being started by a node", mend=mend)
        return await self._run(run.run_id)

    def _enabled(self, name: str) -> Job:
        job = self.desk.config.jobs.get(name)
        if job is None:
            raise no_such_job(name, self.desk.config.jobs)
        if not job.enabled:
            raise Conflict(f"job {name} is disabled", where=str(job.source), mend="set `enabled: true` and reload")
        return job

    def _must_be(self, run: Run, allowed: frozenset[RunState], action: str) -> None:
        if run.state not in allowed:
            deed = action.replace("_", "-")
            raise Conflict(f"{run.run_id} is {run.state}, so {deed} does not apply", mend=instead(run, deed))

    async def _done(
        self,
        action: str,
        run: Run,
        before: Run | None,
        actor: str,
        reason: str,
        at: int,
        more: Mapping[str, object] | None = None,
    ) -> Run:
        """Write the logbook line, bring it all to the disk with what follows; returns the run as shown."""
        self._tell(action, run, before, actor, reason, at, more)
        await self.proceed()
        return await self.shown(run)

    def _place_in_logbook(self) -> int:
        """Return where a deed's line belongs: before those of all that comes of it. No await until it is written."""
        return len(self.desk.tray.lines)

    def _tell(
        self,
        action: str,
        run: Run,
        before: Run | None,
        actor: str,
        reason: str,
        at: int,
        more: Mapping[str, object] | None = None,
    ) -> None:
        current = self.desk.book.get(run.run_id) or run
        detail: dict[str, object] = {
            "before": before.state.value if before else None,
            "after": current.state.value,
            **(more or {}),
        }
        if reason:
            detail["reason"] = reason
        self.desk.tray.lines.insert(at, self.desk.line(action, run, actor=actor, detail=detail))
