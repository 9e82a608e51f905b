"""Days of a configuration in a blink: the real engine on a fake clock, with attempts that are no processes.

For `pysched simulate`, and for tests of one's own schedules and dependencies. What always holds: the configuration's
own state and logs are neither read nor touched. The store is a throw-away one, and nothing is pruned, since pruning
removes log files by the very paths that real runs of the same names have.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from pyscheduler.config import Config
from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.errors import EngineFailedError
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.run import Attempt, Run
from pyscheduler.store import RunQuery, Store
from pyscheduler.store.questions import MAX_LIMIT
from pyscheduler.testing.fake_launcher import FakeLauncher, FakeResult

FOR_EVER_S: Final = 10_000 * 86400.0
A_DAY_S: Final = 86400.0

Plan = Callable[[str, date, int], FakeResult]
"""How an attempt goes, by job, run date and the number of the attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What came of it: every run in order of `scheduled_at`, and the attempts of each run that had any.

    `ended_at` is where the fake clock stood at last; what had not ended by then is still open.
    """

    ended_at: datetime
    runs: tuple[Run, ...]
    attempts: Mapping[str, tuple[Attempt, ...]]


async def simulate(
    config: Config,
    since: datetime,
    until: datetime,
    plan: Plan = lambda _job, _run_date, _attempt: FakeResult(),
    *,
    progress: Callable[[datetime], None] = lambda _now: None,
) -> Simulation:
    """Run the schedule from `since` to `until`, both included, aware. A firing due at `since` counts.

    Without a plan every attempt succeeds after a minute. `progress` hears the fake time of each step. Raises
    EngineFailedError where the engine fails, which is a bug.
    """
    clock = FakeClock(since)
    with tempfile.TemporaryDirectory(prefix="pysched-simulate-") as folder:
        store = Store.open(Path(folder), sync=False)
        launcher = Planned(clock, plan)
        engine = Engine(_harmless(config, Path(folder)), store, clock=clock, launcher=launcher, tick_s=A_DAY_S)
        try:
            await engine.start()
            await engine.settle()
            await pass_time(engine, clock, until, progress)
            return await asyncio.to_thread(_read, store, clock.now())
        finally:
            await engine.stop()


def _harmless(config: Config, folder: Path) -> Config:
    """Return the configuration with all it writes in a throw-away folder, and without an end to its memory."""
    settings = replace(
        config.settings,
        state_dir=folder,
        log_dir=folder / "logs",
        retention_s=FOR_EVER_S,
        log_retention_s=None,
        store=None,
    )
    return replace(config, settings=settings)


async def pass_time(
    engine: Engine, clock: FakeClock, until: datetime, progress: Callable[[datetime], None] = lambda _now: None
) -> None:
    """Let the clock of a started engine go on to `until`, with all that falls due. Raises EngineFailedError."""
    while (due := clock.next_due()) is not None and due <= until:
        await clock.advance_to(due)
        await _settle(engine)
        progress(due)
    await clock.advance(max(timedelta(0), until - clock.now()))
    await _settle(engine)


async def _settle(engine: Engine) -> None:
    await engine.settle()
    if engine.error is not None:
        raise EngineFailedError("the simulated engine has failed", mend="this is a bug") from engine.error


def _read(store: Store, now: datetime) -> Simulation:
    runs: list[Run] = []
    cursor: str | None = None
    while True:
        page = store.runs(RunQuery(limit=MAX_LIMIT, cursor=cursor, newest_first=False))
        runs += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    attempts = store.attempts_of(run.run_id for run in runs if run.attempt)
    return Simulation(ended_at=now, runs=tuple(runs), attempts={run: tuple(rows) for run, rows in attempts.items()})


class Planned(FakeLauncher):
    """Lets each attempt go as a plan says."""

    def __init__(self, clock: FakeClock, plan: Plan) -> None:
        super().__init__(clock)
        self._plan = plan

    def next_plan(self, spec: LaunchSpec) -> FakeResult:
        """Ask the plan; nothing is remembered of an attempt but its handle."""
        job, run_date, _ = parse_run_id(spec.run_id)
        return self._plan(job, run_date, spec.attempt)
