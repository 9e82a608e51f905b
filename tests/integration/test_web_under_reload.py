"""Pages and answers that are being made while a reload takes their job away: they are of the moment they were asked."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import httpx
import pytest

from pyscheduler.api.app import build_app
from pyscheduler.api.threads import Threads
from pyscheduler.web import Press, pages
from tests.office import Desk

STAYS = 'jobs:\n  stays: {command: x, schedule: "0 9 * * *"}\n'
JOBS = STAYS + '  goes: {command: x, schedule: "0 10 * * *", depends_on: [stays]}\n'
OLD = "2026-01-05"


class House(Desk):
    """A desk with its pages."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, JOBS)
        app = build_app(
            self.host,
            identify=lambda _scope: self.caller,
            desk=self.desk,
            more=pages(self.desk, Press(self.desk)),
        )
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://x")


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("/jobs", 1),
        ("/jobs/goes", 1),
        ("/jobs/goes/preview", 1),
        (f"/jobs/goes/backfill?from={OLD}&to={OLD}", 1),
        (f"/graph?run_date={OLD}", 1),
        (f"/graph/drawing?run_date={OLD}", 1),
        ("/timeline", 3),
        ("/forecast", 1),
        ("/api/forecast", 1),
        ("/api/jobs/goes", 1),
    ],
)
async def test_a_job_that_goes_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, step: int
) -> None:
    """No internal error: the answer tells what was when it was asked for. `step`: at which trip to a thread it goes."""
    async with House(tmp_path) as house:
        call, steps = Threads.__call__, itertools.count(1)

        async def meanwhile(self: Threads, *given: Any, **named: Any) -> Any:
            if next(steps) == step:
                await house.night.reload(STAYS)
            return await call(self, *given, **named)

        monkeypatch.setattr(Threads, "__call__", meanwhile)
        answer = await house.ask("GET", path)
        assert (answer.status_code, "goes" in answer.text) == (200, True)


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_a_job_that_goes_while_somebody_asks_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Each question of one answer goes by the same configuration. `step`: at which of its reads it goes."""
    async with House(tmp_path) as house:
        to_thread, steps = asyncio.to_thread, itertools.count(1)

        async def meanwhile(call: Any, *given: Any, **named: Any) -> Any:
            if next(steps) == step:
                await house.night.reload(STAYS)
            return await to_thread(call, *given, **named)

        monkeypatch.setattr(asyncio, "to_thread", meanwhile)
        answer = await house.ask("GET", f"/api/why?job=goes&run_date={OLD}")
        assert (answer.status_code, "goes" in answer.text) == (200, True)


@pytest.mark.parametrize("deed", ["trigger", "pause", "resume"])
async def test_an_action_is_answered_though_its_job_goes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    """It was done, and the answer says so."""
    async with House(tmp_path) as house:
        if deed == "resume":
            await house.engine.pause("goes", actor="ann")
        proceed = house.engine.proceed

        async def meanwhile() -> None:
            monkeypatch.undo()
            await proceed()
            await house.night.reload(STAYS)

        monkeypatch.setattr(house.engine, "proceed", meanwhile)
        answer = await house.ask("POST", f"/api/jobs/goes/{deed}", {})
        assert (answer.status_code, "goes" in answer.text) == (200, True)
