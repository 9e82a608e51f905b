"""A night on a fake clock: a real engine on a real store, with fake attempts, that a test moves through time.

    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:02Z")
        assert night.state("ice") == "succeeded"

`crash` throws the engine away as a kill −9 would (nothing more is saved or said), `reopen` starts the next one on the
same store; the fake minders live on in between.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from pyscheduler.config import Config, load_config
from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.core import Engine
from pyscheduler.model.run import LogbookLine, Run
from pyscheduler.store import LineQuery, Store
from pyscheduler.testing import FakeLauncher, FakeResult

HEAD = """
scheduler:
  state_dir: {folder}/state
  log_dir: {folder}/logs
  {settings}
"""


def instant(text: str) -> datetime:
    """Return `2026-10-19T09:00Z` as an aware instant."""
    return datetime.fromisoformat(text).astimezone(UTC)


class Night:
    """An engine, its store, its clock and its launcher."""

    def __init__(
        self, folder: Path, jobs: str, *, at: str, settings: Mapping[str, object] | None = None, tick_s: float = 60.0
    ) -> None:
        self.folder = folder
        self.tick_s = tick_s
        self.clock = FakeClock(instant(at))
        self.launcher = FakeLauncher(self.clock)
        self.settings = dict(settings or {})
        self.write(jobs)
        self.engine = self._new_engine()

    # ------------------------------------------------------------- configuration

    def write(self, jobs: str) -> None:
        """Write the configuration; the engine sees it at `reload` or `reopen`."""
        settings = "\n  ".join(f"{key}: {value}" for key, value in self.settings.items())
        text = HEAD.format(folder=self.folder, settings=settings) + textwrap.dedent(jobs)
        (self.folder / "pysched.yaml").write_text(text)

    def config(self) -> Config:
        """Load the configuration as it is on disk."""
        return load_config(self.folder / "pysched.yaml", env={}, today=self.clock.now().date())

    def plan(self, job: str, *results: FakeResult) -> None:
        """Plan how the job's attempts go."""
        self.launcher.plan(job, *results)

    # ------------------------------------------------------------- life

    def _new_engine(self) -> Engine:
        config = self.config()
        store = Store.open(config.settings.state_dir, sync=False)
        return Engine(config, store, clock=self.clock, launcher=self.launcher, environ={}, tick_s=self.tick_s)

    async def __aenter__(self) -> Self:
        await self.engine.start()
        await self.engine.settle()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.engine.stop()

    async def crash(self) -> None:
        """Throw the engine away: whatever is not on disk is lost, nothing is said to anybody."""
        engine = self.engine
        engine.fail_stop(RuntimeError("crashed by the test"))
        engine.closing = True
        await engine.attempts.let_go()
        await engine.writer.close()
        await asyncio.to_thread(engine.store.close)

    async def reopen(self) -> None:
        """Start the next engine on the same store."""
        self.engine = self._new_engine()
        await self.engine.start()
        await self.engine.settle()

    async def restart(self, *, down: timedelta = timedelta(0)) -> None:
        """Stop politely, stay down for a while, start again."""
        await self.engine.stop()
        await self.clock.advance(down)
        await self.reopen()

    async def reload(self, jobs: str) -> bool:
        """Reload a changed configuration."""
        self.write(jobs)
        changed = await self.engine.reload(self.config(), actor="ann")
        await self.engine.settle()
        return changed

    # ------------------------------------------------------------- time

    async def until(self, when: str) -> None:
        """Move on to an instant, settling at every timer on the way."""
        target = instant(when)
        while (due := self.clock.next_due()) is not None and due <= target:
            await self.clock.advance_to(max(due, self.clock.now()))
            await self.engine.settle()
        await self.clock.advance_to(target)
        await self.engine.settle()

    async def go(self, by: timedelta) -> None:
        """Move on by a duration, settling at every timer on the way."""
        await self.until((self.clock.now() + by).isoformat())

    # ------------------------------------------------------------- looking

    def runs(self, job: str, day: str | None = None) -> list[Run]:
        """Return the published runs of a job (of today without a date), oldest first."""
        when = date.fromisoformat(day) if day else self.clock.now().date()
        shown = (self.engine.book.published(run.run_id) for run in self.engine.book.runs_for(job, when))
        return [run for run in shown if run is not None]

    def latest(self, job: str, day: str | None = None) -> Run:
        """Return the run that stands for the job and date."""
        when = date.fromisoformat(day) if day else self.clock.now().date()
        run = self.engine.book.latest_for(job, when)
        assert run is not None, f"{job} has no run for {when}"
        return run

    def state(self, job: str, day: str | None = None) -> str:
        """Return the state's word of the run that stands for the job and date."""
        return self.latest(job, day).state.value

    def told(self, job: str, day: str | None = None) -> tuple[str, str]:
        """Return state and reason of the run that stands for the job and date."""
        run = self.latest(job, day)
        return run.state.value, run.reason

    def lines(self, action: str | None = None, run: Run | None = None) -> list[LogbookLine]:
        """Return logbook lines, oldest first."""
        query = LineQuery(run_id=run.run_id if run else None, action=action, limit=1000, newest_first=False)
        return list(self.engine.store.lines(query).items)

    def started(self) -> list[str]:
        """Return the run ids in the order in which attempts were launched."""
        return [spec.run_id for spec in self.launcher.launched]


def ids(runs: Iterable[Run]) -> list[str]:
    """Return the runs' ids."""
    return [run.run_id for run in runs]
