"""A request that comes twice is done once, whenever the scheduler dies in between. FC-090."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.api import idempotency, shapes
from pyscheduler.api.callers import Caller
from pyscheduler.engine.core import Engine
from pyscheduler.errors import StoreUnavailable, Unavailable
from pyscheduler.model.batch import Batch
from pyscheduler.store import Store
from pyscheduler.testing import FakeResult
from tests.office import Desk

JOBS = """
jobs:
  load: {command: x, schedule: manual, overlap: allow}
  clean: {command: x, depends_on: [load]}
  daily: {command: x, schedule: "0 6 * * *"}
"""
TRIGGER = "/api/jobs/load/trigger"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Desk(tmp_path, JOBS) as found:
        found.night.plan("load", *[FakeResult(timedelta(hours=9))] * 20)
        yield found


def loads(office: Desk) -> int:
    """Return how many runs of `load` there are."""
    return len(office.night.runs("load"))


async def test_the_same_key_gets_the_same_answer(office: Desk) -> None:
    """Byte for byte, and nothing is done again; another key is another request."""
    first = await office.ask("POST", TRIGGER, {"reason": "late"}, Idempotency_Key="k-1")
    await office.night.go(timedelta(minutes=5))
    again = await office.ask("POST", TRIGGER, {"reason": "late"}, Idempotency_Key="k-1")
    assert (again.status_code, again.content) == (200, first.content)
    assert ("idempotent-replay" in first.headers, again.headers["idempotent-replay"]) == (False, "true")
    assert loads(office) == 1
    await office.ask("POST", TRIGGER, {"reason": "late"}, Idempotency_Key="k-2")
    assert loads(office) == 2


async def test_another_request_with_the_same_key_is_refused(office: Desk) -> None:
    """Other body, other path, other parameters: 422, and nothing is done."""
    await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")
    for path, body in ((TRIGGER, {"reason": "x"}), ("/api/jobs/clean/trigger", {}), (f"{TRIGGER}?x=1", {})):
        answer = await office.ask("POST", path, body, Idempotency_Key="k-1")
        assert (answer.status_code, answer.json()["error"]) == (422, "the key k-1 was used for another request")
    assert loads(office) == 1


async def test_keys_belong_to_their_caller(office: Desk) -> None:
    """Nobody is answered with what somebody else asked for."""
    await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")
    office.caller = Caller("bob")
    assert "idempotent-replay" not in (await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")).headers
    assert loads(office) == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "é"])
async def test_what_is_no_key(office: Desk, key: str) -> None:
    """Refused in words, nothing done."""
    answer = await office._client.request(
        "POST", TRIGGER, headers=[(b"content-type", b"application/json"), (b"idempotency-key", key.encode())]
    )
    assert (answer.status_code, "Idempotency-Key" in answer.json()["error"]) == (400, True)
    assert loads(office) == 0


async def test_a_refusal_is_not_kept(office: Desk) -> None:
    """Nothing was done, so asking again is asking for the first time."""
    run = await office.trigger("load")
    path = f"/api/runs/{run}/rerun"
    assert (await office.ask("POST", path, {}, Idempotency_Key="k-1")).status_code == 409
    await office.night.go(timedelta(hours=10))
    assert (await office.ask("POST", path, {}, Idempotency_Key="k-1")).status_code == 200


async def test_two_at_once_are_done_once(office: Desk) -> None:
    """The second waits for the first one's answer."""
    both = await asyncio.gather(*(office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1") for _ in range(5)))
    assert len({answer.content for answer in both}) == 1
    assert sorted("idempotent-replay" in answer.headers for answer in both) == [False, True, True, True, True]
    assert loads(office) == 1


async def test_a_day_later_it_is_a_new_request(office: Desk) -> None:
    """Keys are kept for 24 hours, and then leave the store."""
    await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")
    await office.night.go(timedelta(hours=23, minutes=59))
    assert "idempotent-replay" in (await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")).headers
    await office.night.go(timedelta(minutes=2))
    assert office.engine.store.reply("ann", "k-1") is not None
    await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-2")
    assert office.engine.store.reply("ann", "k-1") is None


async def test_so_many_are_kept(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond that the oldest go."""
    monkeypatch.setattr(idempotency, "MOST_KEPT", 2)
    monkeypatch.setattr(idempotency, "PRUNE_EVERY_S", 0)
    for n in range(5):
        await office.ask("POST", TRIGGER, {}, Idempotency_Key=f"k-{n}")
        await office.night.go(timedelta(seconds=1))
    kept = [office.engine.store.reply("ann", f"k-{n}") is not None for n in range(5)]
    assert kept == [False, False, True, True, True]


# --------------------------------------------------------------------------- what a crash leaves


PATHS: list[tuple[str, dict[str, Any], type[Any]]] = [
    (TRIGGER, {}, shapes.Triggered),
    ("/api/jobs/daily/backfill", {"from": "2026-10-01", "to": "2026-10-03"}, shapes.Runs),
    ("/api/jobs/daily/pause", {}, shapes.OneJob),
    ("/api/scheduler/pause", {}, shapes.Paused),
    ("/api/runs/clean.2026-10-19.1/hold", {}, shapes.OneRun),
    ("/api/runs/load.2026-10-19.1/mark-failed", {}, shapes.OneRun),
    ("/api/runs/load.2026-10-18.1/rerun", {"downstream": True}, shapes.Runs),
    ("/api/runs/bulk", {"action": "hold", "selection": {"state": ["waiting"]}, "expected": 1}, shapes.Bulk),
]


@pytest.mark.parametrize(("path", "body", "shape"), PATHS, ids=[path for path, _, _ in PATHS])
async def test_killed_after_the_deed_and_before_the_answer(
    office: Desk, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], shape: type[Any]
) -> None:
    """The key is on disk with the deed: the repetition is answered in the same form and does nothing."""
    office.night.plan("load", FakeResult(), *[FakeResult(timedelta(hours=9))] * 5)
    await office.trigger("load", run_date="2026-10-18")
    await office.night.go(timedelta(minutes=10))
    held = await office.trigger("load") if "mark-failed" not in path else ""
    if "mark-failed" in path:
        await office.post("/api/scheduler/pause")
        await office.trigger("load")
        await office.post("/api/scheduler/resume")
        await office.post("/api/runs/load.2026-10-19.1/kill")
        await office.engine.settle()
    apply = Store.apply

    def killed(store: Store, batch: Batch) -> None:
        if any(reply.status for reply in batch.replies):
            raise StoreUnavailable("killed by the test")
        apply(store, batch)

    monkeypatch.setattr(Store, "apply", killed)
    first = await office.ask("POST", path, body, Idempotency_Key="k-1")
    assert first.status_code == 200, first.text
    await office.night.crash()
    monkeypatch.setattr(Store, "apply", apply)
    await office.night.reopen()
    lines = len(office.night.lines())
    again = await office.ask("POST", path, body, Idempotency_Key="k-1")
    assert again.status_code == 200, (held, again.text)
    shape.model_validate(again.json())
    assert len(office.night.lines()) == lines
    assert _subjects(again.json()) == _subjects(first.json())
    final = await office.ask("POST", path, body, Idempotency_Key="k-1")
    assert final.content == again.content


def _subjects(body: dict[str, Any]) -> list[str]:
    """Return the runs that an answer speaks of."""
    if "results" in body:
        return [each["run_id"] for each in body["results"] if each["ok"]]
    runs = body.get("runs") or ([body["run"]] if "run" in body else [])
    return [run["run_id"] for run in runs]


async def test_what_was_done_is_answered_though_its_engine_is_gone_by_then(
    office: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is known and can be kept by nobody: it is given all the same, and asked again it is not done twice."""
    done, engine = idempotency.Idempotent._done, office.host.engine

    def gone() -> Engine:
        raise Unavailable("scheduler failed")

    async def and_then_gone(self: Any, *given: Any) -> Any:
        answer = await done(self, *given)
        monkeypatch.setattr(office.host, "engine", gone)
        return answer

    monkeypatch.setattr(idempotency.Idempotent, "_done", and_then_gone)
    answer = await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")
    assert (answer.status_code, answer.json()["run"]["job"]) == (200, "load")
    monkeypatch.setattr(office.host, "engine", engine)
    again = await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")
    assert (again.status_code, loads(office)) == (200, 1)


async def test_killed_before_the_deed(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on disk: it is done by the repetition, once."""
    apply = Store.apply

    def full(store: Store, batch: Batch) -> None:
        raise StoreUnavailable("no room")

    monkeypatch.setattr(Store, "apply", full)
    assert (await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")).status_code == 503
    monkeypatch.setattr(Store, "apply", apply)
    await office.night.crash()
    await office.night.reopen()
    assert loads(office) == 0
    for _ in range(2):
        assert (await office.ask("POST", TRIGGER, {}, Idempotency_Key="k-1")).status_code == 200
    assert loads(office) == 1


async def test_many_runs_go_on_where_they_ended(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit carries the key with the runs so far: none is acted upon twice, none is left out."""
    runs = [await office.trigger("clean", run_date=f"2026-10-{day:02d}") for day in range(1, 19)]
    runs += [await office.trigger("clean", run_date=f"2026-09-{day:02d}") for day in range(1, 25)]
    apply, held = Store.apply, 0

    def dies(store: Store, batch: Batch) -> None:
        nonlocal held
        held += sum(line.action == "hold" for line in batch.lines)
        if held > 20:
            raise StoreUnavailable("killed by the test")
        apply(store, batch)

    monkeypatch.setattr(Store, "apply", dies)
    body = {"action": "hold", "run_ids": runs}
    first = (await office.ask("POST", "/api/runs/bulk", body, Idempotency_Key="k-1")).json()
    monkeypatch.setattr(Store, "apply", apply)
    await office.night.crash()
    await office.night.reopen()
    done = len(office.night.lines("hold"))
    assert 0 < done < len(runs)
    assert "results" not in first or first["done"] == done
    again = (await office.ask("POST", "/api/runs/bulk", body, Idempotency_Key="k-1")).json()
    shapes.Bulk.model_validate(again)
    assert ([each["run_id"] for each in again["results"]], again["done"]) == (runs, len(runs))
    assert len(office.night.lines("hold")) == len(runs)


async def test_what_is_kept_is_what_was_sent(office: Desk) -> None:
    """The row holds status and body, and the request's fingerprint, not the request."""
    answer = await office.ask("POST", TRIGGER, {"reason": "secret reason"}, Idempotency_Key="k-1")
    reply = office.engine.store.reply("ann", "k-1")
    assert reply is not None
    assert (reply.status, json.loads(reply.body)) == (200, answer.json())
    assert len(reply.fingerprint) == 64
    assert "secret" not in reply.body
