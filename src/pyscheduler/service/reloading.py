"""Reloading: the files are read in a helper process, and put in force all at once or not at all. Spec: jobs.md 11.2.

Reloads that are asked for while one is being read share the one that begins next: it reads what was on disk after all
of them had asked. So a hundred in a second cost two or three readings, and nobody is answered from an older text than
the one they saw. A faulty text changes nothing; `failure` keeps what is wrong with it until a reload succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyscheduler import collector
from pyscheduler.api.host import Reloaded, ReloadFailure
from pyscheduler.config import Config, ConfigError, load_in_process
from pyscheduler.engine.core import Engine
from pyscheduler.errors import PyschedError
from pyscheduler.model.job import Settings
from pyscheduler.model.person import Credentials
from pyscheduler.model.problem import Problem, Severity
from pyscheduler.service.entrance import Keeper
from pyscheduler.service.notify import Notifier
from pyscheduler.timetable.zone import zone

log = logging.getLogger(__name__)

AT_START_ONLY: Final = (
    "state_dir",
    "store",
    "listen",
    "api_tokens_file",
    "users_file",
    "secure_cookies",
)
"""Settings that a running service does not take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the configuration is read: the main file, where `${NAME}` comes from, what is let pass."""

    path: Path
    env: Mapping[str, str]
    allow_inactive: bool


class Reloader:
    """Reads the files again for one service. `engine` returns the engine that runs, or raises Unavailable."""

    def __init__(
        self,
        reading: Reading,
        started_with: Settings,
        engine: Callable[[], Engine],
        notifier: Notifier,
        keeper: Keeper,
    ) -> None:
        self._reading, self._started_with, self._keeper = reading, started_with, keeper
        self._engine, self._notifier = engine, notifier
        self._turn, self._one_reading = asyncio.Lock(), asyncio.Lock()
        self._next: asyncio.Task[Reloaded] | None = None
        self._background: set[asyncio.Task[Reloaded]] = set()
        self.failure: ReloadFailure | None = None

    async def load(self) -> Config:
        """Return what stands on disk, checked as a reload would: credential files too. Raises as `reload` does."""
        return (await self._read_all())[0]

    async def _read_config(self) -> Config:
        """Return the configuration; one reading at a time. Raises ConfigError, Unavailable."""
        async with self._one_reading:
            engine, reading = self._engine(), self._reading
            today = zone(engine.config.settings.timezone).today(engine.clock.now())
            with collector.at_rest_then_set_apart():
                return await load_in_process(
                    reading.path, env=reading.env, today=today, allow_inactive=reading.allow_inactive
                )

    async def reload(self, actor: str, reason: str = "") -> Reloaded:
        """Put what stands on disk in force. Raises ConfigError, and then nothing has changed; Unavailable."""
        if self._next is None:
            self._next = asyncio.create_task(self._run(actor, reason), name="reload")
        return await asyncio.shield(self._next)

    def on_signal(self, reload: Callable[[], Coroutine[Any, Any, Reloaded]]) -> None:
        """Reload because of SIGHUP, in the background; what goes wrong is in the log."""
        task = asyncio.create_task(reload(), name="reload by signal")
        self._background.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Reloaded]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, ConfigError):
            log.warning("no reload: %s", error)

    async def _run(self, actor: str, reason: str) -> Reloaded:
        async with self._turn:
            self._next = None  # whoever asks from here on may have seen a newer text than is read now
            engine = self._engine()
            self._notifier.reloading(engine.clock.monotonic())
            try:
                return await self._put_in_force(actor, reason)
            except ConfigError as error:
                self._keep_failure(error, actor)
                await self._alert(engine, error, actor)
                raise
            finally:
                self._notifier.ready(f"{len(engine.config.jobs)} jobs, configuration {engine.config_version}")

    async def _put_in_force(self, actor: str, reason: str) -> Reloaded:
        config, (credentials, odd) = await self._read_all()
        engine = self._engine()
        warnings = (*config.warnings, *odd, *restart_warnings(self._started_with, config))
        changed = await engine.reload(config, actor=actor, reason=reason)
        await self._keeper.put_in_force(credentials)
        self.failure = None
        if changed:
            log.info("reloaded by %s: %d jobs, configuration %d", actor, len(config.jobs), engine.config_version)
        for problem in warnings if changed else ():
            log.warning("%s", problem)
        return Reloaded(changed, engine.config_version, warnings, engine.called_off if changed else ())

    async def _alert(self, engine: Engine, error: ConfigError, actor: str) -> None:
        """Tell people; that the store cannot take it down is the engine's trouble, and no news about the text."""
        errors = [str(problem) for problem in error.problems if problem.severity is Severity.ERROR]
        try:
            await engine.reload_failed(errors, actor=actor)
        except PyschedError as trouble:
            log.warning("no alert about the refused reload: %s", trouble)

    async def _read_all(self) -> tuple[Config, tuple[Credentials, tuple[Problem, ...]]]:
        """Read the configuration and the credential files. Raises ConfigError with all that is wrong with either."""
        problems: list[Problem] = []
        try:
            people = await asyncio.to_thread(self._keeper.read_again)
        except ConfigError as error:
            problems += error.problems
        try:
            config = await self._read_config()
        except ConfigError as error:
            raise ConfigError([*error.problems, *problems]) from None
        if problems:
            raise ConfigError(problems)
        return config, people

    def _keep_failure(self, error: ConfigError, actor: str) -> None:
        self.failure = ReloadFailure(self._engine().clock.now(), actor, error.problems)
        for problem in error.problems:
            log.log(logging.ERROR if problem.severity is Severity.ERROR else logging.WARNING, "%s", problem)
        log.error("reload by %s refused: the configuration before it stays in force", actor)


def restart_warnings(started_with: Settings, config: Config) -> tuple[Problem, ...]:
    """Return a warning for each changed setting that is read at start only."""
    changed = [name for name in AT_START_ONLY if getattr(started_with, name) != getattr(config.settings, name)]
    mend = "restart the scheduler to use it; running jobs are not touched by that"
    return tuple(
        Problem(
            str(config.path), 0, 0, f"scheduler.{name} has changed and needs a restart", mend, None, Severity.WARNING
        )
        for name in changed
    )
