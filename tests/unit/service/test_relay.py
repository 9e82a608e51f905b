"""What a standby answers where it cannot pass a request on, and how long it waits for who leads."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.api.afar import Vouching
from pyscheduler.api.callers import Caller, Role, Via
from pyscheduler.api.host import Phase
from pyscheduler.api.sight import GLANCE
from pyscheduler.cli.faults import BETWEEN, UNHEARD
from pyscheduler.errors import StoreError, StoreUnavailable
from pyscheduler.service import relay
from pyscheduler.service.relay import CHANGING_HANDS, STANDS_BY, Relay
from pyscheduler.store.claims import AuthorityRow

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
ROW = AuthorityRow(
    epoch=1,
    holder="other",
    hb_seq=1,
    lease_until=NOON + timedelta(seconds=9),
    released=False,
    address="127.0.0.1:1",
    node="a",
    renewed_at=NOON,
    now=NOON,
)


@dataclass
class Member:
    """What a test knows of who leads."""

    leader: AuthorityRow | None = None
    cut_off: StoreError | None = None
    seen: Any = None

    def other_that_leads(self, row: AuthorityRow | None) -> str:
        return "" if row is None or row.is_over else row.node

    async def glance(self) -> Any:
        return self.seen


async def answer(member: Member, method: str = "GET") -> tuple[int, dict[str, Any]]:
    """Return status and body of what a standby answers."""

    async def door(_scope: object) -> None:
        return None

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    host = SimpleNamespace(standing=SimpleNamespace(phase=Phase.STANDBY))
    app = Relay(
        cast("Any", None),
        cast("Any", host),
        cast("Any", door),
        member,
        Vouching("a secret of this length", lambda: NOON),
    )
    path = "/api/runs"
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    await app({**scope, "headers": []}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_a_store_out_of_reach_is_told_as_that() -> None:
    """With the server's name, whoever led when it was last looked at."""
    gone = StoreUnavailable("the server cannot be reached (refused)", where="db.example:5432/night")
    for member in (Member(None, gone), Member(ROW, gone)):
        status, body = await answer(member)
        assert (status, body["where"]) == (503, "db.example:5432/night")
        assert "cannot be reached" in body["error"]
        assert "leads" not in body["error"]


@pytest.mark.parametrize("row", [None, replace(ROW, released=True), replace(ROW, lease_until=NOON - timedelta(1))])
async def test_nobody_leads(row: AuthorityRow | None) -> None:
    """In words that `pysched` knows and waits for."""
    status, body = await answer(Member(row), "POST")
    assert status == 503
    assert body["error"].startswith(CHANGING_HANDS)
    assert (CHANGING_HANDS, STANDS_BY) == BETWEEN


async def test_who_leads_and_does_not_answer_is_named_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that stands still keeps its connections: a question to it is not waited for as long as an action."""
    monkeypatch.setattr(relay, "READ_S", 0.2)
    held = list[Any]()
    async with await asyncio.start_server(lambda *both: held.append(both), "127.0.0.1", 0) as frozen:
        port = frozen.sockets[0].getsockname()[1]
        async with asyncio.timeout(60):
            status, body = await answer(Member(replace(ROW, address=f"127.0.0.1:{port}")))
        for _, writer in held:
            writer.close()
    assert status == 503
    assert body["error"].startswith("a leads, and ")
    assert "does not answer" in body["error"]


async def test_who_leads_and_takes_no_connection_was_perhaps_killed() -> None:
    """Nothing was asked of it: an action of `pysched` waits for the next one."""
    status, body = await answer(Member(ROW), "POST")
    assert status == 503
    assert body["error"].startswith("a leads, and ")
    assert body["error"].endswith(UNHEARD)


@pytest.mark.parametrize(
    ("method", "path", "via", "is_told_here"),
    [
        ("GET", "/api/runs", Via.SOCKET, True),
        ("HEAD", "/api/runs/night.2026-10-19.1", Via.TOKEN, True),
        ("GET", "/api/runs/night.2026-10-19.1/log", Via.LOOPBACK, True),
        ("GET", "/api/jobs/night", Via.SOCKET, True),
        ("GET", "/api/alerts/dead", Via.SOCKET, True),
        ("GET", "/api/audit", Via.SOCKET, True),
        ("POST", "/api/jobs", Via.SOCKET, False),
        ("GET", "/api/runs", Via.SESSION, False),
        ("GET", "/api/runs", Via.LINK, False),
        ("GET", "/api/runs", None, False),
        ("GET", "/api/runs/night.2026-10-19.1/preview", Via.SOCKET, False),
        ("GET", "/api/audit/verify", Via.SOCKET, False),
        ("GET", "/api/why", Via.SOCKET, False),
        ("GET", "/api/runs\n", Via.SOCKET, False),
        ("GET", "/runs", Via.SOCKET, False),
    ],
)
async def test_what_is_answered_by_the_store(method: str, path: str, via: Via | None, is_told_here: bool) -> None:
    """Questions that it can answer, of whoever this door knows; by the glance that was taken for this very request."""
    glance = object()
    told = await answered_here(Member(seen=glance), method, path, via)
    assert told == ([glance] if is_told_here else [])
    assert GLANCE.get() is None


async def test_nothing_is_told_by_a_store_that_cannot_be_seen() -> None:
    """Where there is no glance to be had, and where the last look failed, the request is passed on, or refused."""
    assert await answered_here(Member(), "GET", "/api/runs", Via.SOCKET) == []
    gone = StoreUnavailable("the server cannot be reached", where="db.example")
    assert await answered_here(Member(None, gone, object()), "GET", "/api/runs", Via.SOCKET) == []


async def test_who_takes_the_lead_tells_what_a_standby_told() -> None:
    """All else meets the gates of a service that starts, and so does everything before the first look at the others."""
    glance = object()
    rising = Member(ROW, seen=glance)
    assert await answered_here(rising, "GET", "/api/runs", Via.SOCKET, Phase.STARTING) == [glance]
    assert await answered_here(rising, "POST", "/api/runs", Via.SOCKET, Phase.STARTING) == [None]
    assert await answered_here(rising, "GET", "/api/why", Via.SOCKET, Phase.STARTING) == [None]
    assert await answered_here(Member(None, seen=glance), "GET", "/api/runs", Via.SOCKET, Phase.STARTING) == [None]
    assert await answered_here(rising, "GET", "/api/runs", Via.SOCKET, Phase.RUNNING) == [None]


async def answered_here(
    member: Member, method: str, path: str, via: Via | None, phase: Phase = Phase.STANDBY
) -> list[object]:
    """Return the glances by which the standby's own application was asked, None for those it was asked without."""
    asked = list[object]()

    async def app(_scope: object, _receive: object, _send: object) -> None:
        asked.append(GLANCE.get())

    async def door(_scope: object) -> Caller | None:
        return None if via is None else Caller("ann", Role.ADMIN, via)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: object) -> None:
        """Whatever is passed on is refused: nobody leads."""

    host = SimpleNamespace(standing=SimpleNamespace(phase=phase))
    front = Relay(cast("Any", app), cast("Any", host), cast("Any", door), member, None)
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    await front({**scope, "headers": []}, receive, send)
    return asked
