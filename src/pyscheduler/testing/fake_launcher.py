"""Attempts without processes: each ends when the fake clock says so, as planned.

The launcher stands for minders too: it outlives engines, enforces timeout and grace, and answers `find` from what it
knows, so that a test can throw an engine away at any step and open the next one on the same store.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pyscheduler.engine.ports import (
    AttemptHandle,
    AttemptRef,
    AttemptResult,
    Cancel,
    Clock,
    Finished,
    Found,
    LaunchSpec,
    Lost,
    Running,
)


@dataclass(frozen=True, slots=True)
class FakeResult:
    """How one planned attempt goes: it ends `duration` after its start, unless it is stopped before.

    `start_error` ends it at once. A TERM ends it with signal 15 unless `ignores_term`, then KILL after the grace.
    """

    duration: timedelta = timedelta(minutes=1)
    exit_code: int | None = 0
    signal: int | None = None
    start_error: str | None = None
    ignores_term: bool = False


class _FakeAttempt:
    """One fake attempt, handle and guardian in one."""

    def __init__(self, spec: LaunchSpec, plan: FakeResult, pid: int, clock: Clock, ended: Callable[[], None]) -> None:
        self.spec, self.pid, self.remark = spec, pid, ""
        self.result: AttemptResult | None = None
        self._plan, self._clock, self._ended = plan, clock, ended
        self._started_at = clock.now()
        self._stopped_by: str | None = None
        self._over = asyncio.Event()
        self._timers: list[Cancel] = [clock.call_after(plan.duration.total_seconds(), self._finish)]
        if spec.timeout_s is not None:
            self._timers.append(clock.call_after(spec.timeout_s, lambda: self.terminate("timeout")))

    def watch(self, listener: Callable[[], None]) -> None:
        """Nothing ever changes about a fake guardian."""

    async def wait(self) -> AttemptResult:
        await self._over.wait()
        assert self.result is not None
        return self.result

    def terminate(self, by: str, reason: str = "") -> None:
        if self.result is not None or self._stopped_by is not None:
            return
        self._stopped_by = by
        if self._plan.ignores_term:
            self._timers.append(self._clock.call_after(self.spec.kill_grace_s, lambda: self._finish(signal=9)))
        else:
            self._finish(signal=15)

    def kill(self) -> None:
        self._stopped_by = self._stopped_by or "kill"
        self._finish(signal=9)

    def _finish(self, signal: int | None = None) -> None:
        if self.result is not None:
            return
        died_of = signal if signal is not None else self._plan.signal
        self.end(
            AttemptResult(
                exit_code=None if died_of is not None else self._plan.exit_code,
                signal=died_of,
                started_at=self._started_at,
                ended_at=self._clock.now(),
                stopped_by=self._stopped_by,
            )
        )

    def end(self, result: AttemptResult) -> None:
        for timer in self._timers:
            timer.cancel()
        self.result = result
        self._ended()
        self._over.set()


class FakeLauncher:
    """A Launcher without processes; see the module. `launched` and `running` are for assertions."""

    def __init__(self, clock: Clock) -> None:
        self.launched: list[LaunchSpec] = []
        self.running: dict[str, AttemptHandle] = {}
        self.max_concurrent = 0
        self._clock = clock
        self._plans: dict[str, tuple[FakeResult, ...]] = {}
        self._counts: Counter[str] = Counter()
        self._pids = itertools.count(10001)
        self._attempts: dict[str, _FakeAttempt] = {}

    def plan(self, job: str, *results: FakeResult) -> None:
        """The n-th launch of the job goes as the n-th result says, the last one repeats. Without a plan: a minute."""
        self._plans[job] = results

    def next_plan(self, spec: LaunchSpec) -> FakeResult:
        """Return how the attempt about to start goes; a subclass may decide by run date or attempt."""
        job = spec.run_id.split(".", 1)[0]
        plans = self._plans.get(job) or (FakeResult(),)
        plan = plans[min(self._counts[job], len(plans) - 1)]
        self._counts[job] += 1
        return plan

    async def launch(self, spec: LaunchSpec) -> AttemptHandle:
        """Start a fake attempt. Raises OSError for a planned start error."""
        if spec.key in self._attempts:
            raise AssertionError(f"attempt {spec.attempt} of {spec.run_id} was started twice")
        plan = self.next_plan(spec)
        self.launched.append(spec)
        if plan.start_error is not None:
            raise OSError(plan.start_error)

        def ended() -> None:
            self.running.pop(spec.run_id, None)

        attempt = _FakeAttempt(spec, plan, next(self._pids), self._clock, ended)
        self._attempts[spec.key] = attempt
        self.running[spec.run_id] = attempt
        self.max_concurrent = max(self.max_concurrent, len(self.running))
        return attempt

    async def find(self, ref: AttemptRef) -> Found:
        """Answer from what this launcher knows of the key."""
        attempt = self._attempts.get(ref.key)
        if attempt is None:
            return Lost("never started")
        return Running(attempt) if attempt.result is None else Finished(attempt.result)

    def lose(self, run_id: str) -> None:
        """Let a running attempt be lost: nobody will ever know how it ended."""
        attempt = self.running[run_id]
        assert isinstance(attempt, _FakeAttempt)
        attempt.end(AttemptResult(started_at=attempt._started_at, lost="minder and nursery gone"))  # noqa: SLF001

    async def discard(self, refs: Iterable[AttemptRef]) -> None:
        """Forget attempts whose outcome is remembered."""
        for ref in refs:
            self._attempts.pop(ref.key, None)

    async def sweep(self, folder: Path, known: Callable[[str], bool | None]) -> tuple[Path, ...]:
        """A fake attempt leaves no files."""
        return ()

    async def close(self) -> None:
        """Take no more orders."""
