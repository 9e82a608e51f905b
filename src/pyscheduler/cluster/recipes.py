"""What a node starts a run by: the configuration version that the run was offered under, read from the store once.

What must always hold: an order is rendered with this machine's environment, folders and variables; nothing of it but
paths is written to the store. A text that cannot be read here is an error of that attempt, said in its own words.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeVar

from pyscheduler.config import Config, ConfigError
from pyscheduler.config.stored import load_stored
from pyscheduler.engine.orders import Order, Orders
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import Job
from pyscheduler.model.problem import Severity
from pyscheduler.model.run import Attempt, Run

log = logging.getLogger(__name__)

KEPT: Final = 4
"""Versions kept ready."""

Recipe = tuple[Config, Orders] | str
"""A configuration and its orders, or why it cannot be used here."""
R = TypeVar("R", bound=Recipe)


class Recipes:
    """Renders orders under stored configurations. `read` gets one from the store, and blocks; `own` is our file's."""

    def __init__(
        self,
        own: Config,
        read: Callable[[int], ConfigRecord | None],
        environ: Mapping[str, str],
        boot_id: str,
        *,
        allow_inactive: bool = False,
    ) -> None:
        self._own, self._read, self._environ, self._boot_id = own, read, environ, boot_id
        self._allow_inactive = allow_inactive
        self._kept: OrderedDict[int, Recipe] = OrderedDict()
        self._turn = asyncio.Lock()

    async def order(self, run: Run, key: str, now: datetime) -> tuple[Order, Job | None]:
        """Return the order for the run's next attempt, and its job. Raises StoreError."""
        recipe = await self._recipe(run.config_version)
        if isinstance(recipe, str):
            return self._refused(run, key, now, recipe), None
        config, orders = recipe
        job = config.jobs.get(run.job)
        if job is None:
            return self._refused(run, key, now, f"configuration {run.config_version} has no job {run.job}"), None
        return orders.order(run, job, run.attempt, key, now), job

    def job(self, version: int, name: str) -> Job | None:
        """Return a job of a version that is at hand, else None."""
        recipe = self._kept.get(version)
        return None if recipe is None or isinstance(recipe, str) else recipe[0].jobs.get(name)

    async def config(self, record: ConfigRecord) -> Config:
        """Return a stored configuration as it counts here. Raises ConfigError."""
        async with self._turn:
            kept = self._kept.get(record.version)
            if kept is None or isinstance(kept, str) or kept[0].digest != record.digest:
                kept = self._keep(record.version, await self._read_in(record))
            return kept[0]

    def __contains__(self, version: int) -> bool:
        """Whether a version was read before, usable or not."""
        return version in self._kept

    def at_hand(self, version: int) -> Config | None:
        """Return the configuration of a version that was read before and can be used here, else None."""
        kept = self._kept.get(version)
        return None if kept is None or isinstance(kept, str) else kept[0]

    async def make_ready(self, version: int) -> None:
        """Have a version at hand, timetables and all, and keep it there; nothing is held up. Raises StoreError."""
        if version in self._kept:
            self._kept.move_to_end(version)
            return
        recipe = await self._recipe(version)
        if not isinstance(recipe, str):
            await asyncio.to_thread(_work_out, recipe[0])

    def _refused(self, run: Run, key: str, now: datetime, why: str) -> Order:
        version = run.config_version
        attempt = Attempt(run_id=run.run_id, attempt=run.attempt, key=key, started_at=now, config_version=version)
        return Order(attempt, None, why)

    async def _recipe(self, version: int) -> Recipe:
        async with self._turn:
            recipe = self._kept.get(version)
            return self._keep(version, await self._load(version) if recipe is None else recipe)

    def _keep(self, version: int, recipe: R) -> R:
        self._kept[version] = recipe
        self._kept.move_to_end(version)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return recipe

    async def _load(self, version: int) -> Recipe:
        record = await asyncio.to_thread(self._read, version)
        if record is None:
            return f"configuration {version} is not in the store"
        try:
            return await self._read_in(record)
        except ConfigError as error:
            errors = [str(problem) for problem in error.problems if problem.severity is Severity.ERROR]
            log.error("configuration %d cannot be used on this node: %s", version, "; ".join(errors[:5]))  # noqa: TRY400
            return f"configuration {version} cannot be used on this node: {errors[0] if errors else error}"

    async def _read_in(self, record: ConfigRecord) -> tuple[Config, Orders]:
        config = await load_stored(record, self._own, env=self._environ, allow_inactive=self._allow_inactive)
        return config, Orders(config, record.version, self._environ, self._boot_id)


def _work_out(config: Config) -> None:
    """Compute what an engine asks a configuration for first. For a helper thread."""
    config.dependents("")
    for name in config.jobs:
        config.timetable(name)
