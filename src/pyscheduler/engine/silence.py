"""Jobs that have gone quiet: everything looks green, and nothing has succeeded for too long. Field case FC-072.

A job with `max_silence` has one timer that counts from its last success, on the monotonic clock; before the first
success from when the key was first seen here. When it rings one `stale` alert is raised, and none again before the job
has succeeded in between: the alert's id holds the instant it counts from. That instant is an engine value, written
with the success itself, so a restart neither forgets nor repeats. While a job is paused its silence is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.engine.desk import Desk
from pyscheduler.engine.ports import Cancel, Clock
from pyscheduler.model.alert import AlertKind
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.rules import alerting
from pyscheduler.rules.alerting import QUIET_KEY

LEAST_WAIT_S: Final = 1.0


class Silence:
    """The timers of one engine's jobs. `on_ring` is called with a job's name on the loop; it then asks `ring`."""

    def __init__(self, desk: Desk, clock: Clock, on_ring: Callable[[str], None]) -> None:
        self._desk, self._clock, self._on_ring = desk, clock, on_ring
        self._since: dict[str, datetime] = {}
        self._bells: dict[str, Cancel] = {}
        self._stopped = False

    def remember(self, values: Mapping[str, str]) -> None:
        """Take over since when each job is quiet, from the engine values."""
        for key, text in values.items():
            if key.startswith(QUIET_KEY):
                self._since[key.removeprefix(QUIET_KEY)] = datetime.fromisoformat(text)

    def settle(self) -> None:
        """Watch the jobs of the configuration in force; the tray takes what is new. At a start and at a reload."""
        watched = {name: job for name, job in self._desk.config.jobs.items() if job.max_silence_s and job.enabled}
        for name in [name for name in self._since if name not in watched]:
            self._call_off(name)
            del self._since[name]
            self._desk.tray.engine[QUIET_KEY + name] = None
        for name, job in watched.items():
            if name not in self._since:
                self._since[name] = self._clock.now()
                self._desk.tray.engine[QUIET_KEY + name] = self._since[name].isoformat()
            self._arm(job)

    def follow(self, run: Run) -> None:
        """Count anew from a success that is on disk."""
        if run.state is not RunState.SUCCEEDED or run.job not in self._since:
            return
        job = self._desk.config.jobs.get(run.job)
        if job is not None:
            self._since[run.job] = run.updated_at
            self._arm(job)

    def ring(self, name: str) -> None:
        """Raise the alert of a job whose silence is over the limit; of a paused one look again later."""
        job, since = self._desk.config.jobs.get(name), self._since.get(name)
        if job is None or since is None or job.max_silence_s is None:
            return
        if self._desk.pauses.covers(name) is not None:
            self._wait(job, job.max_silence_s)
        elif alerting.wants(job, AlertKind.STALE):
            self._desk.alarms.raise_(alerting.stale(job, since, self._clock.now()), job)

    def stop(self) -> None:
        """Ring no more."""
        self._stopped = True
        for name in list(self._bells):
            self._call_off(name)

    def _arm(self, job: Job) -> None:
        assert job.max_silence_s is not None
        due = self._since[job.name] + timedelta(seconds=job.max_silence_s)
        self._wait(job, max((due - self._clock.now()).total_seconds(), LEAST_WAIT_S))

    def _wait(self, job: Job, seconds: float) -> None:
        self._call_off(job.name)
        if not self._stopped:
            self._bells[job.name] = self._clock.call_after(seconds, lambda: self._rung(job.name))

    def _rung(self, name: str) -> None:
        self._bells.pop(name, None)
        if not self._stopped:
            self._on_ring(name)

    def _call_off(self, name: str) -> None:
        bell = self._bells.pop(name, None)
        if bell is not None:
            bell.cancel()
