"""The dead-man's ping: sent while all is well, and only then. `scheduler.heartbeat_url`."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.alerts import Heartbeat
from pyscheduler.engine.core import Engine
from pyscheduler.errors import Unavailable
from tests.night import Night
from tests.receivers import hook
from tests.yard import until


def a_night(folder: Path, url: str) -> Night:
    return Night(folder, "jobs: {}\n", at="2026-10-19T09:00Z", settings={"heartbeat_url": url})


async def test_it_is_sent_while_the_engine_ticks(tmp_path: Path) -> None:
    with hook() as server:
        night = a_night(tmp_path, f"{server.url}/ping/key-1")
        async with night:
            heart = Heartbeat(lambda: night.engine)
            assert await heart.beat()
            await night.go(timedelta(hours=1))
            assert await heart.beat()
        assert [got.path for got in server.got] == ["/ping/key-1"] * 2


async def test_silence_where_anything_is_wrong(tmp_path: Path) -> None:
    """No engine, a failed one, one that has not ticked for minutes: the other side must raise the alarm."""

    def nobody() -> Engine:
        raise Unavailable("scheduler is starting")

    with hook() as server:
        night = a_night(tmp_path, server.url)
        async with night:
            assert not await Heartbeat(nobody).beat()
            heart = Heartbeat(lambda: night.engine)
            night.engine.firings._handled -= timedelta(minutes=10)
            assert not await heart.beat()
            night.engine.firings._handled += timedelta(minutes=10)
            night.engine.fail_stop(RuntimeError("x"))
            assert not await heart.beat()
        assert server.got == []


async def test_the_first_ping_does_not_wait_for_the_second_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heart begins before the engine is there; as soon as it is, the other side hears it."""
    monkeypatch.setattr("pyscheduler.alerts.heartbeat.LOOK_S", 0.01)
    engines: list[Engine] = []
    looks: list[bool] = []

    def engine() -> Engine:
        looks.append(bool(engines))
        if not engines:
            raise Unavailable("scheduler is starting")
        return engines[0]

    with hook() as server:
        night = a_night(tmp_path, f"{server.url}/ping")
        async with night:
            beating = asyncio.ensure_future(Heartbeat(engine).run())
            await until(lambda: len(looks) > 1, "it has looked in vain")
            engines.append(night.engine)
            await until(lambda: bool(server.got), "it is heard")
            beating.cancel()
        assert len(server.got) == 1


async def test_without_an_address_nothing_is_sent(tmp_path: Path) -> None:
    night = Night(tmp_path, "jobs: {}\n", at="2026-10-19T09:00Z")
    async with night:
        assert not await Heartbeat(lambda: night.engine).beat()


async def test_failures_are_said_once_without_the_address(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with hook(status=500) as server:
        night = a_night(tmp_path, f"{server.url}/s3cret")
        async with night:
            heart = Heartbeat(lambda: night.engine)
            caplog.set_level(logging.INFO, "pyscheduler.alerts")
            for _ in range(3):
                assert not await heart.beat()
            server.status = 200
            assert await heart.beat()
            said = [record.message for record in caplog.records if "heartbeat" in record.message]
            assert said == [
                "the heartbeat does not get through: 127.0.0.1 answered 500; this is said once",
                "the heartbeat gets through again after 3 failures",
            ]
