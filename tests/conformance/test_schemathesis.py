"""The API against its own description: whatever is asked, the answer is one that the OpenAPI document promises.

As an admin, on a filled store, over real HTTP. Schemathesis draws requests for every operation from the document, valid
ones and broken ones; and each operation is asked once with what it is for, and must succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pyscheduler.api.door import LINK_PROOF
from pyscheduler.testing import FakeResult
from tests.public_house import ME, PublicHouse, public_house

JOBS = """
pools: {db: 1}
calendars:
  week: {weekdays: [mon, tue, wed, thu, fri]}
jobs:
  load: {command: x, schedule: manual, tags: [etl], overlap: allow}
  clean: {command: x, depends_on: [load], tags: [etl]}
  report: {command: x, depends_on: [clean], overlap: allow}
  pooled: {command: x, schedule: manual, pools: {db: 1}, overlap: allow}
  fails: {command: x, schedule: manual, overlap: allow}
  nightly: {command: x, schedule: {cron: "30 2 * * *", jitter: 5m}, timezone: Europe/Berlin}
  closing: {command: x, schedule: "0 6 * * *", calendar: week, run_date: previous_business_day}
"""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAMS = ("/events", "/events/log/{run_id}")
"""What does not end by itself is not asked by a tool that waits for the end."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicHouse]:
    """A house with runs in every state, logs and a logbook."""
    with public_house(tmp_path_factory.mktemp("house"), JOBS) as found:
        found.do(_fill(found))
        yield found


async def _fill(house: PublicHouse) -> None:
    office = house.office
    office.night.plan("fails", *[FakeResult(exit_code=1)] * 500)
    office.night.plan("pooled", *[FakeResult(timedelta(days=9))] * 500)
    for job in ("load", "fails", "pooled", "pooled", "nightly", "closing"):
        await office.trigger(job, reason="to fill the house")
    await office.post("/api/jobs/nightly/backfill", **{"from": "2026-09-01", "to": "2026-10-10"})
    await office.night.go(timedelta(minutes=30))
    for run in (await office.get("/api/runs?limit=1000"))["runs"]:
        for attempt in (await office.get(f"/api/runs/{run['run_id']}"))["attempts"]:
            for path in (attempt["stdout_path"], attempt["stderr_path"]):
                _write(path)


def _write(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(b"one\ntwo \xff\nthree")


@pytest.fixture(scope="module")
def described(house: PublicHouse) -> BaseSchema:
    """The document, as the house tells it."""
    return schemathesis.openapi.from_url(f"{house.url}/api/openapi.json")


# --------------------------------------------------------------------------- each succeeds once


@dataclass
class Asked:
    """What an operation is for: parameters of its path and query, and its body."""

    path: dict[str, str]
    query: dict[str, Any]
    body: dict[str, Any] | None = None


days = count(1)


def _a_run(house: PublicHouse, job: str, until: str) -> str:
    """Return a fresh run of a job in a state."""

    async def made() -> str:
        day = f"2025-{next(days) % 12 + 1:02d}-{next(days) % 28 + 1:02d}"
        run = await house.office.trigger(job, run_date=day)
        if until == "ended":
            await house.office.night.go(timedelta(minutes=10))
        if until == "held":
            await house.office.post(f"/api/runs/{run}/hold")
        return run

    return house.do(made())


def _on(job: str, until: str, **query: object) -> Callable[[PublicHouse], Asked]:
    return lambda house: Asked({"run_id": _a_run(house, job, until)}, query)


def _of(job: str, query: dict[str, Any] | None = None, **body: Any) -> Callable[[PublicHouse], Asked]:
    return lambda _house: Asked({"name": job}, query or {}, body)


def _plain(**query: object) -> Callable[[PublicHouse], Asked]:
    return lambda _house: Asked({}, query)


def _many(**body: object) -> Callable[[PublicHouse], Asked]:
    return lambda house: Asked({}, {}, {"run_ids": [_a_run(house, "report", "")], "action": "hold", **body})


def _an_alert(house: PublicHouse) -> str:
    return str(requests.get(f"{house.url}/api/alerts", timeout=30).json()["alerts"][0]["alert_id"])


def _a_session(house: PublicHouse) -> str:
    house.do(house.door.sign_in(ME, LINK_PROOF, address="", agent="another browser"))
    return str(requests.get(f"{house.url}/api/sessions", timeout=30).json()["sessions"][0]["id"])


EXAMPLES: dict[str, Callable[[PublicHouse], Asked]] = {
    "GET /api/health": _plain(),
    "GET /api/scheduler": _plain(),
    "POST /api/scheduler/pause": _of("", reason="r"),
    "POST /api/scheduler/resume": _of("", catch_up=True),
    "GET /api/catch-up": _plain(),
    "GET /api/jobs": _plain(tag="etl", q="lo", limit=5),
    "GET /api/jobs/{name}": _of("nightly"),
    "GET /api/jobs/{name}/preview": _of("nightly", {"action": "backfill", "from": "2026-08-01", "to": "2026-08-09"}),
    "POST /api/jobs/{name}/trigger": _of("load", run_date="2026-10-12", reason="r"),
    "POST /api/jobs/{name}/backfill": _of("nightly", {}, **{"from": "2026-08-01", "to": "2026-08-03"}),
    "POST /api/jobs/{name}/pause": _of("closing"),
    "POST /api/jobs/{name}/resume": _of("closing"),
    "GET /api/runs": _plain(job="nightly", state=["succeeded", "running"], since="2026-09-01T00:00:00Z", q="nightly"),
    "GET /api/attempts": _plain(job="load"),
    "GET /api/runs/{run_id}": _on("load", "ended"),
    "GET /api/runs/{run_id}/log": lambda _house: Asked({"run_id": "load.2026-10-19.1"}, {"tail": 2}),
    "GET /api/runs/{run_id}/preview": _on("load", "ended", action="rerun", downstream="true"),
    "POST /api/runs/bulk": _many(reason="r", expected=1),
    "POST /api/runs/bulk/preview": _many(),
    "GET /api/events": _plain(job="nightly", q="backfill", limit=3),
    "POST /api/runs/{run_id}/hold": _on("report", ""),
    "POST /api/runs/{run_id}/release": _on("report", "held"),
    "POST /api/runs/{run_id}/kill": _on("load", ""),
    "POST /api/runs/{run_id}/force-start": _on("report", ""),
    "POST /api/runs/{run_id}/skip": _on("report", ""),
    "POST /api/runs/{run_id}/cancel": _on("report", ""),
    "POST /api/runs/{run_id}/mark-success": _on("report", ""),
    "POST /api/runs/{run_id}/mark-failed": _on("report", ""),
    "POST /api/runs/{run_id}/rerun": _on("load", "ended"),
    "GET /api/alerts": _plain(kind="failed"),
    "GET /api/alerts/dead": _plain(limit=5),
    "POST /api/alerts/{alert_id}/replay": lambda house: Asked({"alert_id": _an_alert(house)}, {}),
    "POST /api/alerts/test/{notifier}": lambda _house: Asked({"notifier": "log"}, {}),
    "GET /api/audit": _plain(limit=5),
    "GET /api/audit/verify": _plain(),
    "POST /api/links": _of(""),
    "GET /api/sessions": _plain(),
    "POST /api/sessions/{session_id}/revoke": lambda house: Asked({"session_id": _a_session(house)}, {}),
    "GET /api/why": _plain(job="clean"),
    "GET /api/next": _plain(job="nightly", count=3),
    "GET /api/forecast": _plain(job="nightly"),
    "POST /api/reload": _of(""),
    "GET /api/config/validate": _plain(),
    "GET /api/diff": _plain(days=2),
    "GET /healthz": _plain(),
    "GET /readyz": _plain(),
    "GET /metrics": _plain(),
    "GET /events": _plain(ping=1),
    "GET /events/log/{run_id}": lambda _house: Asked({"run_id": "load.2026-10-19.1"}, {}),
}
A_CLUSTER = "this store has one scheduler: tests/integration/test_cluster_nodes.py has several"
NOT_HERE = {
    "POST /api/catch-up": "no catch-up is held here: tests/conformance/test_api_actions.py does it",
    "GET /api/nodes": A_CLUSTER,
    "POST /api/nodes/{node}/drain": A_CLUSTER,
    "POST /api/nodes/{node}/fence": A_CLUSTER,
    "POST /api/nodes/{node}/hand-over": A_CLUSTER,
}


ENDING = [operation for operation in EXAMPLES if operation.split(" ")[1] not in STREAMS]

# --------------------------------------------------------------------------- whatever is asked


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "broken"])
@pytest.mark.parametrize("operation", ENDING)
def test_every_answer_is_one_that_is_promised(
    house: PublicHouse, described: BaseSchema, operation: str, mode: GenerationMode
) -> None:
    """No 5xx, no status, type or form that the document does not name, for valid requests and broken ones."""
    method, path = operation.split(" ")
    target = described[path][method]
    if mode is GenerationMode.NEGATIVE and not (target.query or target.body):
        return  # nothing about it can be broken

    @given(case=target.as_strategy(generation_mode=mode))
    @settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def drawn(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(base_url=house.url, checks=CHECKS, timeout=30)

    drawn()
    assert house.office.engine.error is None


def test_every_operation_has_its_example(house: PublicHouse) -> None:
    """Whoever adds a route says here what a request for it looks like that succeeds."""
    paths = requests.get(f"{house.url}/api/openapi.json", timeout=30).json()["paths"]
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert described == set(EXAMPLES) | set(NOT_HERE)


@pytest.mark.parametrize("operation", EXAMPLES)
def test_every_operation_succeeds(house: PublicHouse, described: BaseSchema, operation: str) -> None:
    """Asked for what it is for, it answers 2xx in the form that it promises."""
    method, template = operation.split(" ")
    asked = EXAMPLES[operation](house)
    if template in STREAMS:
        assert _first_of_stream(house, template.format(**asked.path), asked.query) == 200
        return
    sent: dict[str, Any] = {"body": asked.body or {}, "media_type": "application/json"} if method == "POST" else {}
    case = described[template][method].Case(
        path_parameters=asked.path if "{" in template else {},
        query=asked.query,
        **sent,
    )
    response = case.call(base_url=house.url, timeout=30)
    assert 200 <= response.status_code < 300, response.text
    case.validate_response(response, checks=CHECKS)


def _first_of_stream(house: PublicHouse, path: str, query: dict[str, Any]) -> int:
    with requests.get(f"{house.url}{path}", params=query, stream=True, timeout=30) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert next(response.iter_lines()) == b"retry: 2000"
        return response.status_code


def test_the_document_is_openapi_3_1(house: PublicHouse) -> None:
    """Of the version asked for, and every operation has its own name."""
    found = requests.get(f"{house.url}/api/openapi.json", timeout=30).json()
    ids = [each["operationId"] for methods in found["paths"].values() for each in methods.values()]
    assert found["openapi"].startswith("3.1")
    assert len(ids) == len(set(ids))
