"""The stages on which the Launcher suite is played: real processes, with and without locks and pidfds, and the fake.

A stage's jobs end when they are told to (`end`), so that no test has to guess how long anything takes.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.ports import Launcher, LaunchSpec
from pyscheduler.minder import kernel
from pyscheduler.testing import FakeLauncher, FakeResult
from tests.yard import Yard, minders, until

LONG = timedelta(hours=1)


class Stage(Protocol):
    """A launcher, the jobs it can be given, and a way to let time pass."""

    launcher: Launcher
    yard: Yard

    def spec(
        self,
        *,
        exit_code: int = 0,
        signal: int | None = None,
        missing: bool = False,
        stubborn: bool = False,
        **more: Any,
    ) -> LaunchSpec:
        """Return a job that runs until `end`, then ends so. `missing` cannot be started, `stubborn` ignores TERM."""
        ...

    async def up(self, spec: LaunchSpec) -> None:
        """Wait until the job itself has begun."""
        ...

    async def end(self, spec: LaunchSpec) -> None:
        """Let a job end by itself."""
        ...

    async def pass_time(self, seconds: float) -> None:
        """Let so much time pass, where it does not pass by itself."""
        ...


class RealStage:
    """Shell scripts under real minders."""

    def __init__(self, launcher: Launcher, yard: Yard) -> None:
        self.launcher, self.yard = launcher, yard

    def spec(
        self,
        *,
        exit_code: int = 0,
        signal: int | None = None,
        missing: bool = False,
        stubborn: bool = False,
        **more: Any,
    ) -> LaunchSpec:
        if missing:
            return self.yard.spec("no-such-program", "x", **more)
        trap = "trap '' TERM; " if stubborn else ""
        last = f"kill -{signal} $$" if signal else f"exit {exit_code}"
        spec = self.yard.spec("true", **more)
        go = shlex.quote(str(self.yard.file(f"go-{spec.key}")))
        up = shlex.quote(str(self.yard.file(f"up-{spec.key}")))
        script = f"{trap}touch {up}; while [ ! -e {go} ]; do sleep 0.02; done; {last}"
        return self.yard.spec(script, key=spec.key, **more)

    async def up(self, spec: LaunchSpec) -> None:
        await until(self.yard.file(f"up-{spec.key}").exists)

    async def end(self, spec: LaunchSpec) -> None:
        self.yard.file(f"go-{spec.key}").touch()

    async def pass_time(self, seconds: float) -> None:
        """Real time passes by itself."""


class FakeStage:
    """Planned results on a fake clock."""

    def __init__(self, home: Path) -> None:
        self.clock = FakeClock(datetime(2027, 5, 20, tzinfo=UTC))
        self.launcher: Launcher = FakeLauncher(self.clock)
        self.yard = Yard(home)
        self._plans: list[FakeResult] = []

    def spec(
        self,
        *,
        exit_code: int = 0,
        signal: int | None = None,
        missing: bool = False,
        stubborn: bool = False,
        **more: Any,
    ) -> LaunchSpec:
        error = "[Errno 2] No such file or directory: 'no-such-program'" if missing else None
        self._plans.append(FakeResult(LONG, None if signal else exit_code, signal, error, ignores_term=stubborn))
        spec = self.yard.spec("true", **more)
        assert isinstance(self.launcher, FakeLauncher)
        self.launcher.plan(spec.run_id.split(".")[0], *self._plans)
        return spec

    async def up(self, spec: LaunchSpec) -> None:
        """A fake job has begun when it is launched."""

    async def end(self, spec: LaunchSpec) -> None:
        await self.clock.advance(LONG)

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(timedelta(seconds=seconds))


@asynccontextmanager
async def real(home: Path, **options: Any) -> AsyncIterator[Stage]:
    async with minders(home, **options) as (launcher, yard):
        yield RealStage(launcher, yard)


@asynccontextmanager
async def real_without_locks(home: Path) -> AsyncIterator[Stage]:
    """The file system's locks decide nothing: the seed's two questions do."""
    async with real(home, locks=False) as stage:
        yield stage


@asynccontextmanager
async def real_without_pidfd(home: Path) -> AsyncIterator[Stage]:
    """An old kernel: start ticks, then the signal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "NO_PIDFD", True)
        async with real(home, env={"PYSCHED_NO_PIDFD": "1"}) as stage:
            yield stage


@asynccontextmanager
async def fake(home: Path) -> AsyncIterator[Stage]:
    yield FakeStage(home)


STAGES: dict[str, Callable[[Path], AbstractAsyncContextManager[Stage]]] = {
    "real": real,
    "real without locks": real_without_locks,
    "real without pidfd": real_without_pidfd,
    "fake": fake,
}
