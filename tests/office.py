"""An engine on a fake clock with its API in front of it, asked in the same loop: for tests that look at both sides."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from pyscheduler.api.afar import Vouching
from pyscheduler.api.app import build_app
from pyscheduler.api.callers import Caller
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.host import Phase, Reloaded, ReloadFailure, Standing
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.errors import NotFound
from pyscheduler.model.alert import Delivery
from pyscheduler.store import Store
from pyscheduler.store.claims import Claims
from tests.builders import NOON
from tests.night import Night


class FakeTeller:
    """Sends nothing; knows the alerts of the store, and one notifier, `log`."""

    def __init__(self, night: Night) -> None:
        self._night = night

    async def replay(self, alert_id: str, notifier: str | None = None) -> list[Delivery]:
        known = await asyncio.to_thread(self._night.engine.store.alert, alert_id)
        if known is None:
            raise NotFound(f"there is no alert {alert_id}")
        return list(known.deliveries)

    async def test(self, name: str, actor: str) -> str | None:
        if name != "log":
            raise NotFound(f"there is no notifier {name}")
        return None


class FakeHost:
    """A host whose engine always runs and whose files never change."""

    def __init__(self, night: Night) -> None:
        self._night = night
        self.remarks: tuple[str, ...] = ()
        self.reload_failure: ReloadFailure | None = None
        self.claims: Claims | None = None
        self.vouching: Vouching | None = None
        self.phase = Phase.RUNNING
        self.alerts = FakeTeller(night)

    @property
    def standing(self) -> Standing:
        return Standing(self.phase, NOON)

    def engine(self) -> Engine:
        return self._night.engine

    async def hand_over(self) -> None:
        raise NotFound("nobody to hand over to")

    @property
    def reader(self) -> Store:
        return self.engine().store

    async def reload(self, actor: str, reason: str = "") -> Reloaded:
        return Reloaded(changed=False, version=1, warnings=())

    async def load(self) -> Config:
        return self._night.config()


class Desk:
    """A night, and somebody who asks. Use it as an async context manager."""

    def __init__(self, folder: Path, jobs: str, *, at: str = "2026-10-19T08:00Z", **settings: object) -> None:
        self.night = Night(folder, jobs, at=at, settings=settings)
        self.host = FakeHost(self.night)
        self.desk = FrontDesk(self.host)
        self.caller = Caller("ann")
        app = build_app(self.host, identify=lambda _scope: self.caller, desk=self.desk)
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://x")

    @property
    def engine(self) -> Engine:
        return self.night.engine

    async def __aenter__(self) -> Self:
        await self.night.__aenter__()
        self.desk.welcome(self.engine)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()
        self.desk.farewell()
        self.desk.threads.close()
        if not self.engine.closing:
            await self.night.__aexit__(None, None, None)

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request."""
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if method == "POST":
            sent = {"Content-Type": "application/json"} | sent
        return await self._client.request(method, path, content=content, headers=sent)

    async def get(self, path: str) -> Any:
        """Return the body of a GET that must succeed."""
        answer = await self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, **body: object) -> Any:
        """Return the body of a POST that must succeed."""
        answer = await self.ask("POST", path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def trigger(self, job: str, **body: object) -> str:
        """Trigger a job; returns the run's id."""
        run_id: str = (await self.post(f"/api/jobs/{job}/trigger", **body))["run"]["run_id"]
        return run_id
