"""The dead-man's ping: as long as somebody elsewhere hears it, the scheduler is alive and well. `heartbeat_url`.

It is sent every minute while the engine runs and its last tick is fresh, and only then: a scheduler that stands still,
has failed or lies on a full disk falls silent, and the other side raises the alarm. A ping that fails is said once, and
once more when one gets through again. The address is never shown: it is the key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from pyscheduler.alerts.notifiers.http import request
from pyscheduler.alerts.threads import in_thread
from pyscheduler.engine.core import Engine
from pyscheduler.errors import Unavailable

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0
TIMEOUT_S: Final = 10.0
LOOK_S: Final = 1.0
"""How soon it is seen that the engine has started, or is well again."""
FRESH_S: Final = 150.0
"""A tick is due every minute; two that are missing are no delay any more."""


class Heartbeat:
    """Pings for one service. `engine` returns the engine that runs, or raises Unavailable."""

    def __init__(self, engine: Callable[[], Engine], *, every_s: float = EVERY_S) -> None:
        self._engine, self._every_s = engine, every_s
        self._failures = 0

    async def run(self) -> None:
        """Ping as soon as all is well and then every minute, for ever. Cancel to stop."""
        while True:
            is_due = self._address() is not None
            if is_due:
                await self.beat()
            await asyncio.sleep(self._every_s if is_due else min(LOOK_S, self._every_s))

    async def beat(self) -> bool:
        """Ping once, if all is well; returns whether the ping was sent and taken."""
        url = self._address()
        if url is None:
            return False
        try:
            sent = in_thread(lambda: request("GET", url, None, {}, TIMEOUT_S), "heartbeat")
            await asyncio.wait_for(sent, TIMEOUT_S + 1.0)
        except Exception as error:  # noqa: BLE001 - a ping that fails, however it does, must not end the pings
            self._failed(error)
            return False
        if self._failures:
            log.info("the heartbeat gets through again after %d failures", self._failures)
        self._failures = 0
        return True

    def _address(self) -> str | None:
        """Return where to ping, None where that is not configured or would be a lie."""
        try:
            engine = self._engine()
        except Unavailable:
            return None
        age = (engine.clock.now() - engine.firings.handled).total_seconds()
        well = engine.error is None and not engine.closing and age <= FRESH_S
        return engine.config.settings.heartbeat_url if well else None

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            text = str(error) or type(error).__name__
            log.warning("the heartbeat does not get through: %s; this is said once", text)
