"""Deadlines of runs: by when a fresh one must have started, and how long an attempt may run. Alerts only: no run is
touched. Spec: jobs.md 15.1.

One timer a run, set when the run's change is on disk and called off when a later one takes its cause away; nothing is
scanned. A start's deadline is an instant of the wall clock, an attempt's a length of time on the monotonic one. What
always holds: a deadline that had passed before a run was first seen here never rings; after a restart it rings only if
it fell after the last sign of life of the scheduler before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.engine.desk import Desk
from pyscheduler.engine.ports import Cancel, Clock
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.rules import alerting

START: Final = 0
"""Where a timer's attempt number stands, for a run that has not started."""


@dataclass(slots=True)
class _Timer:
    """`attempt` is START or the number of the attempt it watches. `bell` None: it has rung, or never will."""

    attempt: int
    due: datetime
    bell: Cancel | None


class Deadlines:
    """The timers of one engine. `on_ring` is called with a run's id on the loop; it then asks `ring` what is due."""

    def __init__(self, desk: Desk, clock: Clock, on_ring: Callable[[str], None]) -> None:
        self._desk, self._clock, self._on_ring = desk, clock, on_ring
        self._timers: dict[str, _Timer] = {}
        self._stopped = False

    def stop(self) -> None:
        """Ring no more."""
        self._stopped = True
        for timer in self._timers.values():
            _call_off(timer)
        self._timers.clear()

    def follow(self, run: Run, last_sign: datetime | None = None) -> None:
        """Set, move or call off the timer of a run whose change is on disk.

        `last_sign` is given at a start only: when the scheduler was last known to be alive.
        """
        job = self._desk.config.jobs.get(run.job)
        timer = self._timers.get(run.run_id)
        if job is None or (timer is None and job.must_start_by is None and job.max_runtime_s is None):
            self._forget(run.run_id)
        elif run.state is RunState.RUNNING:
            self._follow_attempt(run, job, timer, last_sign)
        else:
            due = alerting.start_deadline(run, job)
            self._set(run.run_id, START, due, last_sign or self._clock.now(), by_wall=True)

    def _follow_attempt(self, run: Run, job: Job, timer: _Timer | None, last_sign: datetime | None) -> None:
        attempt = self._desk.latest_attempt(run.run_id)
        if attempt is None or attempt.attempt != run.attempt:
            self._forget(run.run_id)
            return
        known = timer is not None and timer.attempt == attempt.attempt
        is_new = not known and attempt.config_version != self._desk.version and last_sign is None
        due = None if is_new else alerting.end_deadline(attempt, job)  # a new max_runtime times no running attempt
        since = last_sign or attempt.started_at
        self._set(run.run_id, attempt.attempt, due, since, by_wall=False)

    def _set(self, run_id: str, attempt: int, due: datetime | None, since: datetime, *, by_wall: bool) -> None:
        timer = self._timers.get(run_id)
        if timer is not None and (timer.attempt, timer.due) == (attempt, due):
            return
        self._forget(run_id)
        if due is None or self._stopped:
            return
        bell: Cancel | None = None  # of one that never rings: kept, so that nobody arms it later
        if not alerting.may_ring(due, since):
            bell = None
        elif by_wall:
            bell = self._clock.call_at(due, lambda: self._rung(run_id))
        else:
            rest = (due - self._clock.now()).total_seconds()
            bell = self._clock.call_after(max(rest, 0.0), lambda: self._rung(run_id))
        self._timers[run_id] = _Timer(attempt, due, bell)

    def _forget(self, run_id: str) -> None:
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            _call_off(timer)

    def _rung(self, run_id: str) -> None:
        timer = self._timers.get(run_id)
        if timer is not None and not self._stopped:
            timer.bell = None
            self._on_ring(run_id)

    def ring(self, run_id: str) -> None:
        """Raise the alert of a timer that has rung, if what it watches is still so."""
        timer, run = self._timers.get(run_id), self._desk.book.get(run_id)
        job = self._desk.config.jobs.get(run.job) if run is not None else None
        if timer is None or timer.bell is not None or run is None or job is None:
            return
        now = self._clock.now()
        if timer.attempt == START:
            alert = alerting.never_started(run, job, timer.due, now)
        else:
            attempt = self._running(run, timer.attempt)
            alert = None if attempt is None else alerting.too_long(run, attempt, job, now)
        if alert is not None:
            self._desk.alarms.raise_(alert, job)

    def _running(self, run: Run, number: int) -> Attempt | None:
        attempt = self._desk.latest_attempt(run.run_id)
        return attempt if attempt is not None and attempt.attempt == number == run.attempt else None


def _call_off(timer: _Timer) -> None:
    if timer.bell is not None:
        timer.bell.cancel()
