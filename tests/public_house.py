"""The real application behind a real HTTP server on a loopback port, in a thread of its own: for tools that speak TCP.

Who asks is our own user, as at the Unix socket: an admin. Engine, store and door are real, jobs and clock are fake.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.types import Receive, Scope, Send

from pyscheduler.api.app import build_app
from pyscheduler.api.callers import Peer, user_name
from pyscheduler.api.door import LINK_PROOF, Door
from pyscheduler.model.person import Credentials
from tests.office import Desk

T = TypeVar("T")
ME = user_name(os.geteuid())


class PublicHouse:
    """A desk whose application is served. `url` is where."""

    def __init__(self, folder: Path, jobs: str, **settings: Any) -> None:
        self._folder, self._jobs, self._settings = folder, jobs, settings
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._live, name="public house")
        self.error: BaseException | None = None

    def _live(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._serve())
            except BaseException as error:
                self.error = error
            finally:
                self._up.set()

    async def _serve(self) -> None:
        async with Desk(self._folder, self._jobs, **self._settings) as office:
            self.office = office
            door = self.door = self._door(office)
            app = build_app(office.host, desk=office.desk, door=door)
            await door.sign_in(ME, LINK_PROOF, address="", agent="a browser")

            async def from_here(scope: Scope, receive: Receive, send: Send) -> None:
                scope["state"] = {"peer": Peer(os.getpid(), os.geteuid(), os.getegid())}
                await app(scope, receive, send)

            config = uvicorn.Config(from_here, lifespan="off", log_config=None, ws="none")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([self._listening]))
            self._up.set()
            await self._stop.wait()
            office.desk.farewell()
            server.should_exit = True
            await serving
            door.close()

    @staticmethod
    def _door(office: Desk) -> Door:
        """Return the real door, which takes whoever comes for the user at the Unix socket."""
        clock = office.night.clock
        door = Door(
            Credentials(),
            save=lambda batch: office.engine.writer.save(batch),
            now=clock.now,
            monotonic=clock.monotonic,
            address="127.0.0.1:8470",
            revocations=office.desk.revocations,
        )
        door.sessions.load(())
        return door

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the house's loop and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def open(self) -> None:
        """Begin."""
        self._thread.start()
        assert self._up.wait(60)
        assert self.error is None, self.error

    def close(self) -> None:
        """End."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        self._listening.close()


@contextmanager
def public_house(folder: Path, jobs: str, **settings: Any) -> Iterator[PublicHouse]:
    """Give a house that is open, and close it again."""
    house = PublicHouse(folder, jobs, **settings)
    house.open()
    try:
        yield house
    finally:
        house.close()
