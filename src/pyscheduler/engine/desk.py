"""Where decisions meet the book: everything that follows from one event, worked off without waiting for anything.

`apply` feeds one event to the rules and puts the answer into the working book; what that changes for others is noted
and `work_off` looks at exactly those: dependants of a run that speaks differently now, waiters of a job that has
become free. Nothing here touches the disk, a process or the loop; the engine carries the tray to the store and
performs the effects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime

from pyscheduler.config import Config
from pyscheduler.engine.alarms import Alarms
from pyscheduler.engine.environment import fit_to_tell
from pyscheduler.engine.orders import Order, Orders
from pyscheduler.engine.planning import planned
from pyscheduler.engine.request import MARK
from pyscheduler.engine.surroundings import Surroundings
from pyscheduler.engine.tray import Tray
from pyscheduler.model import event as ev
from pyscheduler.model.batch import Kill, Offer
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import ACTIVE_STATES, UNDECIDED_STATES, Attempt, LogbookLine, Run, RunState, Trigger
from pyscheduler.rules.admission import Admission, ReadyQueue
from pyscheduler.rules.dependencies import reopened_by_rerun
from pyscheduler.rules.evaluate import evaluate
from pyscheduler.rules.leases import window_of
from pyscheduler.rules.lifecycle import Decision, ImpossibleTransition, decide
from pyscheduler.rules.overlap import meet_overlap_again, waits_for_overlap
from pyscheduler.rules.retry import after_attempt, ended


class Desk(Surroundings):
    """The working memory of an engine."""

    def __init__(
        self,
        config: Config,
        version: int,
        now: Callable[[], datetime],
        on_impossible: Callable[[ImpossibleTransition], None],
    ) -> None:
        super().__init__(config, version, now)
        self.on_impossible = on_impossible
        self.tray = Tray()
        self.alarms = Alarms(lambda: self.config, self.tray, now)
        self.ready = ReadyQueue()
        self.admission = Admission(config.settings.max_running, config.pools)
        self.attempts: dict[str, list[Attempt]] = {}
        self.live_keys: set[str] = set()
        """Keys of attempts whose files may still be written."""
        self._new_pids: list[Attempt] = []
        self._changed: deque[Run] = deque()
        self._reopened: deque[Run] = deque()
        self._freed: deque[str] = deque()

    # ----------------------------------------------------------------- one event

    def apply(self, run: Run, event: ev.Event) -> Run:
        """Answer one event and note whom it concerns; returns the run as it becomes."""
        try:
            decision = decide(run, event, self.now())
        except ImpossibleTransition as error:
            self.on_impossible(error)
            raise
        self._take(run, decision)
        if isinstance(event, ev.Rerun) or (run.state is RunState.SKIPPED and isinstance(event, ev.UpstreamReopened)):
            self._reopened.append(decision.run)
        return decision.run

    def see(self, run: Run, event: ev.Event) -> Run:
        """Take over what the owner of a run's row has written there: as `apply`, but nobody here writes the row."""
        try:
            decision = decide(run, event, self.now())
        except ImpossibleTransition as error:
            self.on_impossible(error)
            raise
        self._take(run, decision, self.tray.see)
        return decision.run

    def _take(self, before: Run, decision: Decision, put: Callable[[Decision], None] | None = None) -> None:
        after = decision.run
        self.book.put(after)
        (put or self.tray.add)(decision)
        self.alarms.on_change(before, after, decision.attempt)
        if decision.attempt is not None:
            self.keep_attempt(decision.attempt)
        if before.state is not after.state:
            self.rung.discard(after.run_id)
        if before.holds_slot and not after.holds_slot:
            self.admission.release(after.run_id)
        self.line_up(after)
        if _voice(before) != _voice(after):
            self._changed.append(after)
        if before.state in ACTIVE_STATES and after.state not in ACTIVE_STATES:
            self._freed.append(after.job)

    def keep_attempt(self, attempt: Attempt) -> None:
        """Remember the latest row of an open run's attempt."""
        self.live_keys.add(attempt.key)
        rows = self.attempts.setdefault(attempt.run_id, [])
        if rows and rows[-1].attempt == attempt.attempt:
            rows[-1] = attempt
        else:
            rows.append(attempt)

    def latest_attempt(self, run_id: str) -> Attempt | None:
        """Return the latest attempt's row of an open run."""
        rows = self.attempts.get(run_id)
        return rows[-1] if rows else None

    def line_up(self, run: Run) -> None:
        """Put a queued run that may start in line, take any other out of it."""
        job = self.live_job(run.job)
        is_in_line = run.state is RunState.QUEUED and run.offered_at is None
        if is_in_line and job is not None and not self.is_gated(run):
            self.ready.push(run, job)
        else:
            self.ready.remove(run.run_id)

    # ----------------------------------------------------------------- what follows

    def work_off(self, at_most: int = 200) -> bool:
        """Look at those whom the latest changes concern; True where more are left after `at_most` looks."""
        looks = 0
        while looks < at_most:
            if self._freed:
                looks += self._let_next_go(self._freed.popleft())
                continue
            concerned = self._next_concerned()
            if concerned is None:
                return False
            for run in concerned:
                self.look(run)
            looks += len(concerned) + 1
        return bool(self._changed or self._freed or self._reopened)

    def _next_concerned(self) -> list[Run] | None:
        if self._reopened:
            return self._reopen_dependants(self._reopened.popleft())
        if self._changed:
            run = self._changed.popleft()
            return self.book.waiting_on(run.job, run.run_date)
        return None

    def _let_next_go(self, job: str) -> int:
        """A run of the job is no longer active: look at those it held back until the job is busy again."""
        looks = 1
        for waiter in self.book.overlap_waiters(job):
            if self.book.is_busy(job, waiter.run_id):
                break
            self.look(waiter)
            looks += 1
        return looks

    def _reopen_dependants(self, upstream: Run) -> list[Run]:
        """Open what only this upstream's word had skipped or put in line (DESIGN 8 rows 5 and 17)."""
        opened = []
        for day in self.dependent_days(upstream):
            for run in self.book.runs_for(*day):
                if reopened_by_rerun(run):
                    patience = self.patience_of(self.config.jobs[run.job])
                    opened.append(self.apply(run, ev.UpstreamReopened(patience)))
        return opened

    def look(self, run: Run) -> Run:
        """Decide an undecided run anew from what surrounds it now."""
        current = self.book.get(run.run_id)
        job = self.config.jobs.get(run.job)
        if current is None or job is None or current.state not in UNDECIDED_STATES:
            return current or run
        event = evaluate(current, job, self.facts(current, job))
        return current if event is None else self.decided(current, event)

    def decided(self, run: Run, event: ev.Event) -> Run:
        """Apply an evaluation's answer; a new waiter may take an older one's place."""
        after = self.apply(run, event)
        if waits_for_overlap(after):
            for other in self.overlap_waiters(after):
                self.look_for_superseded(other)
        return after

    def look_for_superseded(self, waiter: Run) -> None:
        """Ask a waiter again whether it still is the newest of its date."""
        job = self.config.jobs[waiter.job]
        event = evaluate(waiter, job, self.facts(waiter, job))
        if isinstance(event, ev.Superseded):
            self.apply(waiter, event)

    # ----------------------------------------------------------------- new runs

    def create(
        self,
        job: Job,
        run_date: date,
        trigger: Trigger,
        scheduled_at: datetime,
        *,
        jitter_s: float = 0.0,
    ) -> Run:
        """Create a run, and the dependency-only runs that follow from it: all of them, or on an error none."""
        plan = planned(self, job, run_date, trigger, scheduled_at, jitter_s=jitter_s)
        for run, because in plan.runs:
            detail: dict[str, object] = {"trigger": run.trigger.value, "scheduled_at": run.scheduled_at.isoformat()}
            if because is not None:
                detail = {"trigger": run.trigger.value, "because": because}
            self.first_dates[run.job] = min(run.run_date, self.first_dates.get(run.job, run.run_date))
            self._take(run, Decision(run, lines=(self.line("created", run, detail=detail),)))
            self._changed.append(run)
        looked_at = [self.look(run) for run in plan.dependants_first]
        return looked_at[-1]

    # ----------------------------------------------------------------- the logbook

    def line(self, action: str, run: Run | None = None, *, actor: str = "scheduler", **more: object) -> LogbookLine:
        """Return a logbook line about a run, or about the scheduler as a whole."""
        detail = more.pop("detail", more)
        assert isinstance(detail, dict)
        if actor != "scheduler" and (mark := MARK.get()) is not None:
            self.tray.replies[mark.actor, mark.key] = mark.noted(run.run_id if run else None, self.now())
        return LogbookLine(
            at=self.now(),
            actor=actor,
            action=action,
            run_id=run.run_id if run else None,
            job=run.job if run else None,
            detail=detail,
        )

    # ----------------------------------------------------------------- attempts

    def grant(
        self, orders: Orders, new_key: Callable[[], str], chance: Callable[[], float], at_most: int
    ) -> list[Order]:
        """Let up to `at_most` queued runs start: their slots are taken and their attempts' rows written."""
        patience = self.config.settings.pool_patience_s
        now = self.now()
        granted = []
        for run_id in self.ready.take_startable(self.admission, now, patience, at_most):
            run = self.book.get(run_id)
            assert run is not None, f"{run_id} stands in line and is not in the book"
            job = self.config.jobs[run.job]
            order = orders.order(run, job, run.attempt + 1, new_key(), now)
            self.apply(run, ev.SlotGranted(order.attempt))
            if order.error is not None:
                self.end_attempt(run_id, order.attempt.attempt, AttemptResult(start_error=order.error), chance())
            granted.append(order)
        return granted

    def offer(self, at_most: int) -> int:
        """Let up to `at_most` queued runs be claimed by nodes: their slots are taken. Returns how many."""
        taken = self.ready.take_startable(self.admission, self.now(), self.config.settings.pool_patience_s, at_most)
        for run_id in taken:
            run = self.book.get(run_id)
            assert run is not None, f"{run_id} stands in line and is not in the book"
            job = self.config.jobs[run.job]
            self.apply(run, ev.Offered())
            window_s = window_of(job.reclaim_after_s, job.on_uncertain, self.config.settings.cluster.timing)
            self.tray.offers.append(Offer(run_id, job.node or "", job.node_tags, window_s))
        return len(taken)

    def end_attempt(self, run_id: str, number: int, result: AttemptResult, chance: float) -> Run | None:
        """Close a running attempt and decide what follows; news of any other attempt is old and changes nothing."""
        run, attempt = self.book.get(run_id), self.latest_attempt(run_id)
        if run is None or attempt is None or run.state is not RunState.RUNNING or attempt.attempt != number:
            return None
        job = self.live_job(run.job)
        result = fit_to_tell(result, self.config.variables)
        row = ended(attempt, result, self.config.jobs.get(run.job), self.now())
        return self.apply(run, after_attempt(run, row, job, self.now(), chance))

    def note_handle(self, run: Run, attempt: Attempt, pid: int | None, remark: str) -> None:
        """Note who guards a running attempt, and what an operator should know of it.

        A pid alone waits for `write_pids`: a short attempt ends before that, and its last row has the pid anyway.
        """
        row = replace(attempt, pid=pid if pid is not None else attempt.pid)
        if remark != run.reason:
            self.apply(run, ev.GuardChanged(remark, row))
        elif row != attempt:
            self.keep_attempt(row)
            self._new_pids.append(row)

    def write_pids(self) -> None:
        """Put the rows of attempts that still run under a pid noted lately on the tray."""
        noted, self._new_pids = self._new_pids, []
        for row in noted:
            if self.latest_attempt(row.run_id) is row:
                self.tray.add_attempt(row)

    def wake(self, run_id: str) -> None:
        """A run's timer has rung: its retry is due, its jitter or its patience is over."""
        run = self.book.get(run_id)
        job = self.config.jobs.get(run.job) if run else None
        if run is None or job is None:
            return
        self.rung.add(run_id)
        if run.state is RunState.RETRY_WAIT:
            busy = self.book.is_busy(run.job, run_id)
            self.apply(run, meet_overlap_again(job, busy=busy))
        elif run.state is RunState.QUEUED:
            self.line_up(run)
        else:
            self.look(run)

    def set_kill(self, run: Run, by: str, *, owned: bool = False) -> Run:
        """Write down that an operator wants the running attempt ended; `owned`: its row is a node's, which reads it."""
        attempt = self.latest_attempt(run.run_id)
        assert attempt is not None, f"{run.run_id} is running and has no attempt"
        event = ev.KillAsked(by, replace(attempt, kill_by=by))
        if not owned:
            return self.apply(run, event)
        self.tray.kills.append(Kill(run.run_id, attempt.attempt, by))
        return self.see(run, event)


def _voice(run: Run) -> tuple[object, ...]:
    """Return what a run's dependants hear of it: nothing but "not yet" until it is blocked or final."""
    if run.is_final:
        return (run.state, run.cause)
    return (run.state, run.reason) if run.state is RunState.BLOCKED else ()
