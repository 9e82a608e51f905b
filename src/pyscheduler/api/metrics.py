"""What monitoring asks of a scheduler: how much, how late, how full. Prometheus' text at `/metrics`.

Counters and histograms are fed as things happen, over all engines of one service; gauges are read from the engine when
somebody looks. No label is a job's name: ten thousand jobs would be ten thousand series each. Labels are words of our
own and the names of pools, which the configuration bounds.

Other rooms add theirs to `registry`. The registry is our own, so that nothing a library registers globally shows up.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter as Tally
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from pyscheduler.__about__ import __version__
from pyscheduler.model.alert import DeliveryStatus
from pyscheduler.model.run import OPEN_STATES, Attempt, Outcome, Run, RunState, Trigger

if TYPE_CHECKING:
    from pyscheduler.engine.core import Engine

BEAT_S: Final = 0.25
"""How often the loop is asked how late it is."""
SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
SHORT: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5)
_ENDED: Final = tuple(state for state in RunState if state not in OPEN_STATES)


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._leave: list[Callable[[], None]] = []
        self._engine: Engine | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._queued: dict[str, datetime] = {}
        """Since when runs stand in line that were shown there: one that starts at once never is."""
        ProcessCollector(registry=self.registry)
        self._info = self._gauge("pysched_info", "Always 1; the program's version is its label.", "version")
        self._info.labels(__version__).set(1)
        self._make_counters()
        self._make_gauges()

    def _make_counters(self) -> None:
        registry = self.registry
        self.ended = Counter(
            "pysched_runs_ended", "Runs that came to an end, by the state.", ["state"], registry=registry
        )
        self.started = Counter("pysched_attempts_started", "Attempts whose start is on disk.", registry=registry)
        self.outcomes = Counter(
            "pysched_attempts_ended", "Attempts that ended, by outcome.", ["outcome"], registry=registry
        )
        self.lateness = Histogram(
            "pysched_start_lateness_seconds",
            "From the instant a schedule named to the run's first start, dependencies and queue included.",
            buckets=SECONDS,
            registry=registry,
        )
        self.waits = Histogram(
            "pysched_queue_wait_seconds",
            "From ready to start: what slots and pools cost.",
            buckets=SECONDS,
            registry=registry,
        )
        self.commit = Histogram("pysched_commit_seconds", "One trip to the disk.", buckets=SHORT, registry=registry)
        self.lag = Histogram(
            "pysched_loop_lag_seconds",
            "How late the loop comes to a timer, four times a second.",
            buckets=SHORT,
            registry=registry,
        )
        for state in _ENDED:
            self.ended.labels(state.value)
        for outcome in Outcome:
            self.outcomes.labels(outcome.value)

    def _make_gauges(self) -> None:
        gauge = self._gauge
        self.up = gauge("pysched_engine_up", "1 while an engine runs, 0 while it has failed or is being opened.")
        self.failures = gauge("pysched_engine_failures", "How often an engine has failed since the service began.")
        self.runs = gauge("pysched_runs", "Open runs, by state.", "state")
        self.queued = gauge("pysched_queue_length", "Runs that start as soon as there is room.")
        self.slots = gauge("pysched_slots", "max_running: how many attempts may run at once.")
        self.slots_used = gauge("pysched_slots_in_use", "Attempts that run.")
        self.pools = gauge("pysched_pool_slots", "A pool's size.", "pool")
        self.pools_used = gauge("pysched_pool_slots_in_use", "What is taken of a pool.", "pool")
        self.jobs = gauge("pysched_jobs", "Jobs of the configuration in force.")
        self.paused = gauge("pysched_pauses", "Pauses in force, the scheduler's own included.")
        self.version = gauge("pysched_config_version", "The version of the configuration in force.")
        self.tick_age = gauge("pysched_last_tick_age_seconds", "How long ago firings were last looked at.")
        self.deliveries = gauge(
            "pysched_alert_deliveries", "Deliveries of alerts that wait or were given up, NaN while unknown.", "status"
        )
        self.streams = gauge("pysched_streams_open", "Open event streams.")

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, registry=self.registry)

    # ----------------------------------------------------------------- as things happen

    def follow(self, engine: Engine) -> None:
        """Count what this engine does from now on; harmless when that is so already. On the loop."""
        if engine is self._engine:
            return
        for leave in self._leave:
            leave()
        self._engine = engine
        self._queued.clear()
        self._leave = [engine.subscribe(self.on_run), engine.watch_attempts(self.on_attempt)]
        engine.writer.on_commit = self.commit.observe
        if self._beat is None:
            self._listen(asyncio.get_running_loop())

    def close(self) -> None:
        """Ask the loop nothing more."""
        if self._beat is not None:
            self._beat.cancel()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + BEAT_S

        def beat() -> None:
            self.lag.observe(max(0.0, loop.time() - due))
            self._listen(loop)

        self._beat = loop.call_at(due, beat)

    def on_run(self, run: Run) -> None:
        """Count a run that has ended; note since when one stands in line."""
        if run.state is RunState.QUEUED and run.queued_at is not None:
            self._queued[run.run_id] = run.queued_at
        else:
            self._queued.pop(run.run_id, None)
        if run.is_final:
            self.ended.labels(run.state.value).inc()

    def on_attempt(self, attempt: Attempt) -> None:
        """Count a start, with how late it was, or an end; that a pid became known is neither."""
        if attempt.outcome is not None:
            self.outcomes.labels(attempt.outcome.value).inc()
        elif attempt.pid is None:
            self.started.inc()
            run = self._engine.book.published(attempt.run_id) if self._engine is not None else None
            if run is not None:
                self._on_start(run, attempt)

    def _on_start(self, run: Run, attempt: Attempt) -> None:
        self.waits.observe(_seconds(attempt.started_at - self._queued.get(run.run_id, attempt.started_at)))
        if run.trigger is Trigger.SCHEDULE and attempt.attempt == 1:
            self.lateness.observe(_seconds(attempt.started_at - (run.not_before or run.scheduled_at)))

    # ----------------------------------------------------------------- when somebody looks

    def look(self, engine: Engine | None, *, failures: int, streams: int) -> None:
        """Read the gauges from an engine, None while none runs. On the loop."""
        self.up.set(engine is not None)
        self.failures.set(failures)
        self.streams.set(streams)
        if engine is None:
            return
        states = Tally(run.state for run in map(engine.book.get, engine.book.open_ids()) if run is not None)
        for state in sorted(OPEN_STATES):
            self.runs.labels(state.value).set(states[state])
        self.queued.set(len(engine.ready))
        self.slots.set(engine.admission.max_running)
        self.slots_used.set(engine.admission.running)
        self._look_at_pools(engine)
        self.jobs.set(len(engine.config.jobs))
        self.paused.set(len(engine.desk.pauses.items()))
        self.version.set(engine.config_version)
        self.tick_age.set(_seconds(engine.clock.now() - engine.firings.handled))

    def look_at_deliveries(self, counts: Mapping[DeliveryStatus, int] | None) -> None:
        """Show how many deliveries wait and how many are dead; None where no store can say."""
        for status in (DeliveryStatus.PENDING, DeliveryStatus.DEAD):
            self.deliveries.labels(status.value).set(math.nan if counts is None else counts[status])

    def _look_at_pools(self, engine: Engine) -> None:
        for gauge in (self.pools, self.pools_used):
            gauge.clear()
        for pool, size in engine.admission.pools.items():
            self.pools.labels(pool).set(size)
            self.pools_used.labels(pool).set(engine.admission.in_use.get(pool, 0))


def _seconds(span: timedelta) -> float:
    """Return seconds, 0 where a clock that was set back makes less of them."""
    return max(0.0, span.total_seconds())
