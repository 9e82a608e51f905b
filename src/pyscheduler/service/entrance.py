"""Who may come in, tied to this service: the door, the files behind it, and where its sessions are remembered.

The paths of the credential files are those of the start; what they hold is read again at every reload, whether the
configuration changed or not, and put in force with it or not at all.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from pyscheduler.api.door import Door
from pyscheduler.api.session_book import MOST
from pyscheduler.config.credentials import read_credentials
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import PyschedError
from pyscheduler.model.batch import Batch
from pyscheduler.model.job import Settings
from pyscheduler.model.person import Credentials
from pyscheduler.model.problem import Problem
from pyscheduler.service import address

log = logging.getLogger(__name__)

TIDY_S: Final = 60.0

EngineOf = Callable[[], Engine]


class Entrance:
    """What a start found out about coming in. `door` is made once there is somebody to remember sessions."""

    def __init__(self, credentials: Credentials, tcp: socket.socket | None) -> None:
        self.credentials, self.tcp = credentials, tcp
        self.address = None if tcp is None else address.shown(tcp)


class Keeper:
    """Keeps one door for the life of the service. `engine` returns the engine that runs, or raises Unavailable."""

    def __init__(self, entrance: Entrance, settings: Settings, engine: EngineOf, clock: Clock) -> None:
        self._settings, self._engine = settings, engine
        secure = settings.secure_cookies
        self.door = Door(
            entrance.credentials,
            save=self._save,
            now=clock.now,
            monotonic=clock.monotonic,
            secure_cookies=not address.is_loopback(settings.listen) if secure is None else secure,
            address=entrance.address,
        )

    async def _save(self, batch: Batch) -> None:
        await self._engine().writer.save(batch)

    async def keep(self) -> None:
        """Read the sessions back, then once a minute write down who was seen and end what is over; never returns."""
        while True:
            try:
                if not self.door.sessions.is_loaded:
                    store = self._engine().store
                    self.door.sessions.load(await asyncio.to_thread(store.sessions, MOST))
                await self.door.tidy()
            except PyschedError as error:  # the engine is down: what is unsaved is kept for the next look
                log.warning("sessions cannot be written down now: %s", error)
            except Exception:  # an engine that died of a bug hands that on
                log.exception("sessions cannot be written down now")
            await asyncio.sleep(TIDY_S if self.door.sessions.is_loaded else 1.0)

    def read_again(self) -> tuple[Credentials, tuple[Problem, ...]]:
        """Return what the files hold now, and warnings. Reads files. Raises ConfigError."""
        return read_credentials(self._settings)

    async def put_in_force(self, credentials: Credentials) -> None:
        """Let these credentials count from now on; sessions that rest on others end."""
        if self.door.swap(credentials):
            log.info("the credential files have changed: who lost something has to sign in again")
            await self.door.tidy()
