"""Whatever is asked, the answer is one of ours: never a 500, never a hang, and the engine lives. jobs.md 13.3.

Requests are drawn from values at the edges (ends of the calendar, bytes that are no text, numbers too large) for every
route that the description names, against a real engine on a fake clock.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyscheduler.api.app import build_app
from pyscheduler.api.callers import Caller
from pyscheduler.api.desk import FrontDesk
from tests.night import Night
from tests.office import FakeHost

JOBS = """
calendars:
  week: {weekdays: [mon, tue, wed, thu, fri]}
jobs:
  hand: {command: x, schedule: manual, tags: [t]}
  daily: {command: x, schedule: {cron: "30 2 * * *", jitter: 5m}, timezone: Europe/Berlin}
  closing: {command: x, schedule: "0 6 * * *", calendar: week, run_date: previous_business_day}
  follows: {command: x, depends_on: [hand, {job: follows, run_date: -1}]}
"""
DATES = (
    "0001-01-01",
    "0001-01-02",
    "1969-12-31",
    "2026-10-19",
    "2027-03-28",
    "9999-12-30",
    "9999-12-31",
    "2027-02-30",
    "x",
)
INSTANTS = tuple(
    f"{day}T{time}" for day in DATES for time in ("00:00:00Z", "23:59:59.999999Z", "02:30:00+14:00", "12:00")
)
NAMES = ("hand", "daily", "closing", "follows", "nobody", "..", "a/b", "é", "x" * 65, "")
RUNS = (
    "hand.2026-10-19.1",
    "hand.2026-10-19.01",
    "daily.9999-12-31.1",
    "hand",
    "hand.0001-01-01.1",
    "%00",
    "é.2026-10-19.1",
)
TEXTS = (
    "",
    "t",
    "hand.2026",
    "\x00",
    "\ud800",
    "%",
    "🐙" * 20,
    "0~x",
    "1~1",
    "-9223372036854775809~a",
    "99999999999999999999~1",
)
NUMBERS = ("0", "1", "-1", "5", "1000", "1001", "1e3", "99999999999999999999", "\u0663")
WORDS = (
    "json",
    "csv",
    "newest",
    "oldest",
    "stdout",
    "stderr",
    "succeeded",
    "queued",
    "manual",
    "schedule",
    "true",
    "1",
)


class Office:
    """An engine and its API on a loop of their own."""

    def __init__(self, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self._night = Night(folder, JOBS, at="2026-10-19T08:00Z")
        self._runner.run(self._night.__aenter__())
        self._desk = FrontDesk(FakeHost(self._night))
        app = build_app(self._desk.host, identify=lambda _scope: Caller("ann"), desk=self._desk)
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://x")
        self.routes = self._described()

    def _described(self) -> list[tuple[str, str, list[str]]]:
        found = self.ask("GET", "/api/openapi.json", {}, None).json()["paths"]
        return [
            (method.upper(), path, [each["name"] for each in route.get("parameters", []) if each["in"] == "query"])
            for path, methods in found.items()
            for method, route in methods.items()
            if "text/event-stream" not in route["responses"]["200"]["content"]  # does not end by itself
        ]

    def ask(self, method: str, path: str, params: dict[str, Any], body: Any) -> httpx.Response:
        """Send one request, within a bound."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = self._client.request(method, path, params=params, content=content, headers=headers)
        return self._runner.run(asyncio.wait_for(request, 30))

    def is_well(self) -> bool:
        """Whether the engine has taken no harm."""
        return self._night.engine.error is None

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._desk.threads.close()
        self._runner.run(self._night.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    found = Office(tmp_path_factory.mktemp("office"))
    yield found
    found.close()


def values(name: str) -> st.SearchStrategy[str]:
    """Return what may be given for a parameter or field: mostly of its kind, sometimes of any."""
    of_kind: tuple[str, ...] = WORDS
    if name == "run_date":
        of_kind = DATES
    elif name in ("since", "until", "after"):
        of_kind = INSTANTS
    elif name in ("from", "to"):
        of_kind = INSTANTS + DATES
    elif name in ("job", "name"):
        of_kind = NAMES
    elif name in ("run", "run_id"):
        of_kind = RUNS
    elif name in ("limit", "count", "offset", "tail", "attempt", "days", "raw"):
        of_kind = NUMBERS
    elif name in ("cursor", "q", "tag", "actor", "action", "reason"):
        of_kind = TEXTS + NAMES
    return st.one_of(
        st.sampled_from(of_kind), st.sampled_from(of_kind), st.sampled_from(TEXTS + DATES + NAMES + NUMBERS)
    )


BODIES = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "run_date": values("run_date"),
            "from": st.sampled_from(DATES),
            "to": st.sampled_from(DATES),
            "reason": values("reason"),
            "downstream": st.sampled_from([True, False, 1, "yes"]),
            "catch_up": st.sampled_from([True, False, None]),
            "decision": st.sampled_from(["accept", "skip", "maybe"]),
        },
    ),
    st.sampled_from(
        [b"", b"{", b"[]", b"null", b"\xff", b'{"reason": "\\ud800"}', b"[" * 2000, b'{"a":1,"a":2}', b"NaN"]
    ),
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_every_request_has_an_answer(office: Office, data: st.DataObject) -> None:
    """The status is one the manual names, the body is JSON, CSV or bytes, and a refusal says why."""
    method, path, names = data.draw(st.sampled_from(office.routes))
    for part in ("name", "run_id"):
        path = path.replace(f"{{{part}}}", quote(data.draw(values(part)).encode("utf-8", "ignore"), safe="") or "-")
    params = data.draw(st.fixed_dictionaries({}, optional={name: values(name) for name in [*names, "nonsense"]}))
    clean = {name: value.encode("utf-8", "ignore").decode() for name, value in params.items()}
    answer = office.ask(method, path, clean, data.draw(BODIES) if method == "POST" else None)
    assert answer.status_code in (200, 400, 404, 409), answer.text
    if answer.status_code != 200:
        assert answer.json()["error"]
    assert office.is_well()


FIRST, LAST = "0001-01-01", "9999-12-31"


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("forecast", {"from": f"{LAST}T00:00:00Z"}, 400),
        ("forecast", {"from": f"{FIRST}T00:00:00Z"}, 200),
        ("forecast", {"from": "9999-12-30T00:00:00Z", "to": f"{LAST}T23:59:59Z"}, 200),
        ("next", {"job": "daily", "after": f"{LAST}T00:00:00Z"}, 200),
        ("next", {"job": "daily", "after": f"{FIRST}T00:00:00Z"}, 200),
        ("why", {"job": "closing", "run_date": LAST}, 200),
        ("why", {"job": "closing", "run_date": FIRST}, 200),
        ("why", {"job": "follows", "run_date": FIRST}, 200),
        ("events", {"since": f"{FIRST}T00:00:00Z", "until": f"{LAST}T23:59:59.999999Z"}, 200),
        ("runs", {"since": f"{FIRST}T00:00:00Z", "until": f"{LAST}T23:59:59.999999Z"}, 200),
        ("runs", {"cursor": "9" * 30 + "~x"}, 400),
        ("events", {"cursor": "1~" + "9" * 30}, 400),
    ],
)
def test_the_ends_of_the_calendar(office: Office, path: str, params: dict[str, str], status: int) -> None:
    """Years 1 and 9999 are answered, or refused in words."""
    answer = office.ask("GET", f"/api/{path}", params, None)
    assert (answer.status_code, office.is_well()) == (status, True), answer.text


@pytest.mark.parametrize("job", ["hand", "daily", "closing", "follows"])
@pytest.mark.parametrize("day", [FIRST, LAST])
def test_runs_at_the_ends_of_the_calendar(office: Office, job: str, day: str) -> None:
    """Any date may be triggered and backfilled (spec 11); the engine takes no harm."""
    assert office.ask("POST", f"/api/jobs/{job}/trigger", {}, {"run_date": day}).status_code == 200
    assert office.ask("POST", f"/api/jobs/{job}/backfill", {}, {"from": day, "to": day}).status_code == 200
    assert office.is_well()
