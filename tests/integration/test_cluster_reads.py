"""What a standby answers by itself: the same as who leads, while that one stands still, and when it is dead."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clustering import A_LONG_LEASE, Cluster, fresh_database, is_standby
from tests.servers.kinds import Place
from tests.serving import Served

JOBS = """
jobs:
  quick: {command: 'echo done', schedule: manual, tags: [small]}
  yearly: {command: 'true', schedule: "0 0 1 1 *"}
  asleep: {command: 'true', schedule: "0 0 2 1 *"}
"""
SLOW_TO_LEAD = """
import asyncio
from pyscheduler.engine import core, reopen
async def slow(engine):
    await asyncio.sleep(8)
    await reopen.reopen(engine)
core.reopen = slow
"""
PATHS = (
    "/api/runs",
    "/api/runs?job=quick&state=succeeded",
    "/api/runs?tag=small",
    "/api/runs?format=csv",
    "/api/runs/{run}",
    "/api/runs/{run}/log",
    "/api/runs/no.2026-10-19.1",
    "/api/runs?tag=unknown",
    "/api/attempts",
    "/api/events",
    "/api/jobs",
    "/api/jobs?q=year",
    "/api/jobs/quick",
    "/api/jobs/asleep",
    "/api/jobs/nobody",
    "/api/next?job=yearly&after=2026-10-19T00:00:00Z",
    "/api/next?after=2026-10-19T00:00:00Z",
    "/api/alerts",
    "/api/alerts/dead",
    "/api/audit",
)


@pytest.fixture
def pair(tmp_path: Path, server_place: Callable[[str], Place]) -> Iterator[tuple[Served, Served, Cluster]]:
    """Make one that leads and one that stands by, with one run behind them."""
    with fresh_database(server_place("postgres")) as url:
        cluster = Cluster(tmp_path, url, JOBS, cluster=A_LONG_LEASE)
        a, b = cluster.node("a").start(), cluster.node("b").start(ready=False)
        b.until(lambda: is_standby(b), "standing by")
        b.until(lambda: is_ready_to_answer(b), "it has the configuration in force")
        yield a, b, cluster
        if a.process is not None and a.process.poll() is None:
            a.signal(signal.SIGCONT)
        cluster.clear()


def is_ready_to_answer(standby: Served) -> bool:
    """Whether it has read the first configuration, without which it passes questions on to who leads."""
    return "configuration 1 is ready here" in standby.said()


def a_run(served: Served) -> str:
    """Have a run that has succeeded, and whose log lies here."""
    run = str(served.post("/api/jobs/quick/trigger")["run"]["run_id"])
    served.until(lambda: served.get(f"/api/runs/{run}")["run"]["state"] == "succeeded", "the run's end")
    return run


def answers(served: Served, run: str) -> dict[str, tuple[int, Any]]:
    """Return what it answers to everything; where its own file lies is left out."""
    found = {path: served.ask("GET", path.format(run=run)) for path in PATHS}
    texts = {path: json.dumps(answer.body).replace(str(served.file), "the file") for path, answer in found.items()}
    return {path: (found[path].status, json.loads(text)) for path, text in texts.items()}


def test_a_standby_answers_as_the_one_that_leads(pair: tuple[Served, Served, Cluster]) -> None:
    """While that one stands still, and after it was killed; an action is refused, and who leads is named."""
    a, b, _ = pair
    run = a_run(a)
    a.post("/api/jobs/asleep/pause", reason="holidays")
    told = answers(a, run)
    assert [told[path][0] for path in PATHS].count(200) == len(PATHS) - 3
    assert told["/api/jobs/asleep"][1]["paused"]["reason"] == "holidays"
    a.signal(signal.SIGSTOP)
    assert answers(b, run) == told
    a.kill()
    assert answers(b, run) == told
    refused = b.ask("POST", "/api/jobs/quick/trigger", {})
    assert refused.status == 503
    assert "a leads" in refused.body["error"]
    passed_on = b.ask("GET", f"/api/why?run={run}")
    assert passed_on.status == 503


def test_what_was_put_in_force_is_told_at_once(pair: tuple[Served, Served, Cluster]) -> None:
    """A reload, a pause and its end are acknowledged by one and seen at the other, with no moment between."""
    a, b, cluster = pair
    assert [job["name"] for job in b.get("/api/jobs")["jobs"]] == ["asleep", "quick", "yearly"]
    for number in range(2, 5):
        a.write(cluster.text.replace("quick:", f"job{number}: {{command: 'true', schedule: manual}}\n  quick:"))
        assert a.post("/api/reload")["version"] == number
        assert [job["name"] for job in b.get("/api/jobs")["jobs"]] == ["asleep", f"job{number}", "quick", "yearly"]
    a.post("/api/scheduler/pause", reason="everything rests")
    assert {job["paused"]["reason"] for job in b.get("/api/jobs")["jobs"]} == {"everything rests"}
    a.post("/api/scheduler/resume")
    assert {job["paused"] for job in b.get("/api/jobs")["jobs"]} == {None}


def test_who_takes_the_lead_goes_on_answering(tmp_path: Path, server_place: Callable[[str], Place]) -> None:
    """Its recovery may take long: what it told as a standby it tells meanwhile, and then as who leads."""
    with fresh_database(server_place("postgres")) as url:
        cluster = Cluster(tmp_path, url, JOBS, cluster={"lease": "600s", "margin": "60s"})
        try:
            a, b = cluster.node("a").start(), cluster.node("b")
            b.driver = SLOW_TO_LEAD + b.driver
            b.start(ready=False)
            b.until(lambda: is_standby(b), "standing by")
            b.until(lambda: is_ready_to_answer(b), "it has the configuration in force")
            run = a_run(a)
            told = a.get(f"/api/runs/{run}")
            a.kill()
            b.until(lambda: "this scheduler leads now" in b.said(), "b takes the lead")
            assert b.get(f"/api/runs/{run}") == told
            b.until(b.is_well, "b leads")
            assert b.get(f"/api/runs/{run}") == told
        finally:
            cluster.clear()
