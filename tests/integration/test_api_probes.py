"""Metrics and probes: numbers that are true, and words for why work should go elsewhere."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pyscheduler.api.host import Phase
from pyscheduler.errors import StoreUnavailable
from pyscheduler.model.alert import Alert, AlertKind, Delivery, DeliveryStatus, Raised
from pyscheduler.model.batch import Batch
from pyscheduler.store import Store
from pyscheduler.testing import FakeResult
from tests.builders import NOON
from tests.office import Desk

JOBS = """
pools: {db: 2, "a-b_c": 5}
jobs:
  late: {command: x, schedule: "30 8 * * *", pools: {db: 1}}
  hand: {command: x, schedule: manual, pools: {db: 2}, overlap: allow}
"""


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Desk(tmp_path, JOBS) as found:
        yield found


async def numbers(office: Desk) -> dict[str, float]:
    """Return every sample by its name and labels."""
    answer = await office.ask("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = (each for family in text_string_to_metric_families(answer.text) for each in family.samples)
    return {" ".join([each.name, *map(str, each.labels.values())]): each.value for each in samples}


async def test_the_numbers_are_what_happened(office: Desk) -> None:
    """Runs by state, starts with their lateness, ends by outcome, slots, pools, queue, commits."""
    office.night.plan("hand", FakeResult(timedelta(hours=1)), FakeResult(exit_code=1))
    for _ in range(2):
        await office.trigger("hand")
    await office.night.until("2026-10-19T08:31Z")
    found = await numbers(office)
    assert (found["pysched_runs running"], found["pysched_runs queued"]) == (1, 2)
    assert (found["pysched_slots_in_use"], found["pysched_slots"]) == (1, 32)
    assert (found["pysched_pool_slots_in_use db"], found["pysched_pool_slots db"]) == (2, 2)
    assert found["pysched_pool_slots a-b_c"] == 5
    assert found["pysched_queue_length"] == 2
    assert found["pysched_attempts_started_total"] == 1
    assert found["pysched_commit_seconds_count"] > 0
    await office.night.until("2026-10-19T11:00Z")
    found = await numbers(office)
    assert found["pysched_runs_ended_total succeeded"] == 2
    assert found["pysched_runs_ended_total failed"] == 1
    assert found["pysched_attempts_ended_total failed"] == 1
    assert (found["pysched_start_lateness_seconds_count"], found["pysched_queue_wait_seconds_count"]) == (1, 3)
    assert 30 * 60 <= found["pysched_start_lateness_seconds_sum"] <= 32 * 60
    assert (found["pysched_engine_up"], found["pysched_jobs"], found["pysched_runs running"]) == (1, 2, 0)
    assert found["pysched_last_tick_age_seconds"] <= 60
    assert not [name for name in found if "late " in name or "hand" in name]


async def test_deliveries_that_wait_and_those_given_up_are_counted(
    office: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the store; where that does not say, the number is none, and all others are there."""
    alert = Alert(alert_id="x:failed:1", kind=AlertKind.FAILED, criticality="low", raised_at=NOON, message="x")
    dead = Delivery(alert_id="x:failed:1", notifier="b", status=DeliveryStatus.DEAD, updated_at=NOON)
    await office.engine.writer.save(Batch(alerts=(Raised(alert, ("a", "b", "c")),), deliveries=(dead,)))
    found = await numbers(office)
    assert (found["pysched_alert_deliveries pending"], found["pysched_alert_deliveries dead"]) == (2, 1)

    def broken(store: Store) -> None:
        raise StoreUnavailable("out of reach")

    monkeypatch.setattr(Store, "delivery_counts", broken)
    found = await numbers(office)
    assert math.isnan(found["pysched_alert_deliveries dead"])
    assert found["pysched_engine_up"] == 1


async def test_another_engine_goes_on_counting(office: Desk) -> None:
    """Counters are of the service's life, and no run is counted twice."""
    await office.trigger("hand")
    await office.night.until("2026-10-19T08:10Z")
    await office.night.crash()
    await office.night.reopen()
    office.desk.welcome(office.engine)
    office.desk.welcome(office.engine)
    await office.trigger("hand")
    await office.night.until("2026-10-19T08:20Z")
    assert (await numbers(office))["pysched_runs_ended_total succeeded"] == 2


async def test_the_loops_lag_is_seen(office: Desk) -> None:
    """A beat four times a second says how late the loop comes to it."""
    async with asyncio.timeout(60):
        while not (await numbers(office))["pysched_loop_lag_seconds_count"]:
            await asyncio.sleep(0.05)


async def test_ready_and_why_not(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alive is one thing, ready another."""
    assert (await office.get("/healthz"), await office.get("/readyz")) == ({"status": "alive"}, {"status": "ready"})
    office.host.phase = Phase.STARTING
    assert (await office.ask("GET", "/healthz")).status_code == 200
    assert (await office.ask("GET", "/readyz")).status_code == 503
    office.host.phase = Phase.STOPPING
    answer = await office.ask("GET", "/readyz")
    assert (answer.status_code, answer.json()["error"]) == (503, "the scheduler is stopping")
    office.host.phase = Phase.RUNNING
    await office.night.clock.advance(timedelta(0))
    monkeypatch.setattr(office.engine.writer, "waited_s", lambda: 11.0)
    assert (await office.ask("GET", "/readyz")).json()["error"] == "the store has not answered for 11 s"
    monkeypatch.undo()

    def full(store: Store, batch: Batch) -> None:
        raise StoreUnavailable("no room")

    monkeypatch.setattr(Store, "apply", full)
    await office.ask("POST", "/api/jobs/hand/trigger", {})
    answer = await office.ask("GET", "/readyz")
    assert (answer.status_code, answer.json()["error"]) == (503, "the engine has failed and is being opened again")
    monkeypatch.undo()


async def test_the_docs_page_needs_nobody_elses_help(office: Desk) -> None:
    """Every operation, no script, no style in the page, nothing from elsewhere."""
    answer = await office.ask("GET", "/api/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    seen: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append((tag, dict(attrs)))

    Reader().feed(answer.text)
    assert not [tag for tag, attributes in seen if tag in ("script", "style") or "style" in attributes]
    links = [attributes.get("href") or attributes.get("src") for _, attributes in seen]
    assert {link for link in links if link} == {"/api/docs.css", "/api/openapi.json"}
    paths = (await office.get("/api/openapi.json"))["paths"]
    assert sum(tag == "details" for tag, _ in seen) == sum(map(len, paths.values())) > 35
    assert (await office.ask("GET", "/api/docs.css")).headers["content-type"].startswith("text/css")


async def test_the_logbook_can_be_searched(office: Desk) -> None:
    """By text in who, what, which run and what was said."""
    await office.trigger("hand", reason="Late FILE from the bank")
    for text, count in (("late file", 1), ("BANK", 1), ("hand.2026", 3), ("nothing like it", 0), ("ann", 1)):
        lines = (await office.get(f"/api/events?q={text}"))["events"]
        assert len(lines) == count, (text, lines)
