"""Alerts over the API, on a real engine and store. Spec: jobs.md 13.4, 13.5."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from pyscheduler.api import shapes
from pyscheduler.api.app import build_app
from pyscheduler.api.callers import Caller, Role
from pyscheduler.testing import FakeResult
from tests.night import Night
from tests.office import FakeHost

JOBS = """
notifiers:
  ops: {type: log, path: a.log}
routes:
  - {match: "alert.#", notify: [ops]}
jobs:
  bad: {command: x, schedule: "0 9 * * *", retries: {count: 2, delay: 1m}, alerts: {on: [retrying], notify: [ops]}}
  next: {command: x, depends_on: [bad], must_start_by: "09:02"}
"""
FAILS = FakeResult(exit_code=1)


@asynccontextmanager
async def asked(folder: Path, role: Role = Role.OPERATOR) -> AsyncIterator[tuple[Night, httpx.AsyncClient]]:
    """Give a night in which a job has failed thrice, and somebody who asks about it."""
    night = Night(folder, JOBS, at="2026-10-19T08:59Z")
    night.plan("bad", FAILS, FAILS, FAILS)
    async with night:
        await night.until("2026-10-19T09:30Z")
        host = FakeHost(night)
        app = build_app(host, identify=lambda _scope: Caller("ann", role))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            yield night, client


def kinds(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [alert["kind"] for alert in answer.json()["alerts"]]


async def test_the_list_has_filters_and_pages(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, client):
        answer = await client.get("/api/alerts")
        found = shapes.Alerts.model_validate_json(answer.text)
        assert kinds(answer) == ["blocked", "failed", "retrying", "never_started", "retrying"]
        assert found.alerts[1].scheduler == "pysched"
        assert [each.notifier for each in found.alerts[1].deliveries] == ["ops"]
        assert kinds(await client.get("/api/alerts?kind=retrying")) == ["retrying", "retrying"]
        assert kinds(await client.get("/api/alerts?job=next")) == ["blocked", "never_started"]
        assert kinds(await client.get("/api/alerts?since=2026-10-20")) == []
        assert len(kinds(await client.get("/api/alerts?since=2026-10-19"))) == 5
        late = await client.get("/api/alerts", params={"since": "2026-10-19T11:04:00+02:00"})
        assert kinds(late) == ["blocked", "failed"]
        first = await client.get("/api/alerts?limit=3")
        rest = await client.get("/api/alerts", params={"cursor": first.json()["next_cursor"]})
        assert kinds(first) + kinds(rest) == kinds(answer)
        csv = await client.get("/api/alerts?format=csv")
        assert csv.text.splitlines()[0].startswith("alert_id,kind,criticality,job,run_id")
        assert len(csv.text.splitlines()) == 6


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, client):
        for query in ("kind=smelly", "since=yesterday", "limit=0", "cursor=x", "job=a b", "nothing=1"):
            assert (await client.get(f"/api/alerts?{query}")).status_code == 400, query
        assert (await client.get("/api/alerts/dead?limit=9999")).status_code == 400


async def test_a_run_shows_its_own_alerts_oldest_first(tmp_path: Path) -> None:
    async with asked(tmp_path, Role.VIEWER) as (_, client):
        answer = await client.get("/api/runs/bad.2026-10-19.1")
        detail = shapes.RunDetail.model_validate_json(answer.text)
        assert [alert.kind.value for alert in detail.alerts] == ["retrying", "retrying", "failed"]


async def test_who_only_looks_does_not_see_whom_a_job_tells(tmp_path: Path) -> None:
    """Spec 13.5: a job's `alerts` are `***` for viewers; its alerts themselves are shown to all."""

    async def alerts_key(role: Role) -> Any:
        async with asked(tmp_path / role, role) as (_, client):
            return (await client.get("/api/jobs/bad")).json()["definition"]["alerts"]

    for role in Role:
        (tmp_path / role).mkdir()
    assert await alerts_key(Role.VIEWER) == "***"
    wanted = {"on": ["retrying"], "off": [], "notify": ["ops"], "repeat_after_seconds": None}
    assert await alerts_key(Role.OPERATOR) == wanted


async def test_without_dead_deliveries_there_is_nothing_to_replay(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, client):
        assert (await client.get("/api/alerts/dead")).json() == {"deliveries": []}
        assert (await client.post("/api/alerts/nothing/replay", json={})).status_code == 404
        assert (await client.post("/api/alerts/nothing/replay", json={"notifierr": "x"})).status_code == 400
