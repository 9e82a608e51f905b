"""Which configuration of a shared store is in force, ready before it is needed: to lead by, and to answer by. DESIGN 6.

What must always hold: a standby answers by the configuration that is in force at that instant, or not at all; who
begins to lead puts the store's in force unless its own file was read after that one was made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from pyscheduler.api.sight import Glance
from pyscheduler.cluster.recipes import Recipes
from pyscheduler.config import Config
from pyscheduler.config.stored import has_texts_of
from pyscheduler.engine.pauses import Pauses
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import StoreError
from pyscheduler.model.config_record import ConfigVersion
from pyscheduler.store import Store

log = logging.getLogger(__name__)

READY_S: Final = 5.0
"""How long a question waits for a configuration that has just been put in force, and for one before it."""


class ConfigInForce:
    """See above. `reader` gives the store for questions, or raises StoreUnavailable. Belongs to one loop."""

    def __init__(self, recipes: Recipes, reader: Callable[[], Store], clock: Clock) -> None:
        self._recipes, self._reader, self._clock = recipes, reader, clock
        self._readying: asyncio.Task[None] | None = None
        self._unready = ""
        """Why the last try to make a configuration ready has failed."""

    def make_ready(self, version: int) -> None:
        """Have a configuration at hand some time soon; 0 is none."""
        if version and (self._readying is None or self._readying.done()):
            self._readying = asyncio.get_running_loop().create_task(self._ready(version), name="make ready")

    def close(self) -> None:
        """Make nothing ready any more."""
        if self._readying is not None:
            self._readying.cancel()

    async def glance(self) -> Glance | None:
        """Return what a standby answers by: the store, and the configuration that is in force at this instant.

        None where there is no configuration yet, or none that can be used here. Raises StoreError.
        """
        store = self._reader()
        latest, pauses = await asyncio.to_thread(_in_force, store)
        if latest is None:
            return None
        await self._be_ready(latest.version)
        config = self._recipes.at_hand(latest.version)
        if config is None or config.digest != latest.digest:
            return None
        return Glance(config, store, self._clock, pauses)

    async def config_for(self, store: Store, own: Config, read_at: datetime) -> Config:
        """Return what a new authority puts in force: the store's configuration, unless ours was read after it was made.

        Raises ConfigError where the store's cannot be used here.
        """
        record = await asyncio.to_thread(store.latest_config)
        if record is None or record.digest == own.digest:
            return own
        is_the_same = has_texts_of(record, own)
        if record.loaded_at < read_at and not is_the_same:
            return own
        config = await self._recipes.config(record)
        if not is_the_same:
            log.info("configuration %d of the store goes on; our own file differs from it", record.version)
        return config

    async def _ready(self, version: int) -> None:
        was_ready = self._recipes.at_hand(version) is not None
        try:
            await self._recipes.make_ready(version)
            if not was_ready and self._recipes.at_hand(version) is not None:
                log.info("configuration %d is ready here, whoever leads", version)
            self._unready = ""
        except (StoreError, OSError) as error:
            why = str(getattr(error, "strerror", None) or error)  # without a path, which may be another each time
            if self._unready != why:  # once a second it is tried again
                self._unready = why
                log.warning("configuration %d cannot be made ready now: %s", version, why)

    async def _be_ready(self, version: int) -> None:
        """Wait a while for a version, if it is not at hand and can be."""
        for _ in range(2):  # another version may be on its way
            if version in self._recipes:
                return
            self.make_ready(version)
            assert self._readying is not None
            await asyncio.wait((self._readying,), timeout=READY_S)


def _in_force(store: Store) -> tuple[ConfigVersion | None, Pauses]:
    """Return which configuration is in force, None where there is none yet, and what is paused."""
    latest = store.config_versions(1)
    return next(iter(latest), None), Pauses.from_text(store.engine_values().get("paused"))
