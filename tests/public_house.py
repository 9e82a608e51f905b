"""The real application behind a real HTTP server on a loopback port, in a thread of its own: for tools that speak TCP.

Who asks is whoever the test says; the engine is real, its store is filled, and only its jobs and its clock are fake.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from pyscheduler.api import build_app
from pyscheduler.api.callers import Caller
from tests.office import Desk

T = TypeVar("T")


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
        self.caller = Caller("ann")
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
            app = build_app(office.host, identify=lambda _scope: self.caller, desk=office.desk)
            config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([self._listening]))
            self._up.set()
            await self._stop.wait()
            office.desk.farewell()
            server.should_exit = True
            await serving

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
