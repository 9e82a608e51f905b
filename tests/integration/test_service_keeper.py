"""The sessions' keeper: it is there as long as the service is."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.core import Engine
from pyscheduler.errors import Unavailable
from pyscheduler.model.job import Settings
from pyscheduler.model.person import Credentials
from pyscheduler.service.entrance import Entrance, Keeper


async def test_an_engine_that_died_of_a_bug_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    """The next engine's sessions are written down as ever."""
    asked = asyncio.Event()
    faults: list[Exception] = [Unavailable("scheduler failed"), RuntimeError("a bug")]

    def engine() -> Engine:
        if not faults:
            asked.set()
            raise Unavailable("scheduler failed")
        raise faults.pop()

    settings = Settings(state_dir=Path("/nowhere"), log_dir=Path("/nowhere"))
    clock = FakeClock(datetime(2026, 10, 19, 12, tzinfo=UTC))
    keeper = Keeper(Entrance(Credentials(), None), settings, engine, clock)
    keeping = asyncio.create_task(keeper.keep())
    async with asyncio.timeout(30):
        await asyncio.wait((keeping, asyncio.create_task(asked.wait())), return_when=asyncio.FIRST_COMPLETED)
    assert asked.is_set()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    keeper.door.close()
    assert "RuntimeError: a bug" in caplog.text
