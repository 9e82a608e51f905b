"""What any scheduler of a shared store answers: who is there, for the one that leads, for one that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clustering import A_LONG_LEASE, Cluster, fresh_database, is_standby
from tests.servers.kinds import Place
from tests.serving import Served, on_tmpfs

JOBS = """
jobs:
  quick: {command: 'echo done by $PYSCHED_RUN_ID', schedule: manual}
  on_b: {command: 'echo written on b', schedule: manual, node: b}
  sleeper:
    command: 'echo begin $PYSCHED_RUN_ID >> $EFFECTS; exec sleep 600'
    schedule: manual
    node: a
    on_lost: fail
"""


GIVES_WAY = """
from pyscheduler.service import house, membership
house.HAND_OVER_S = membership.FREE_S = 600.0
"""
"""Before a driver: who was asked to hand over leads again after another has, and not for want of one that is quick."""


@pytest.fixture
def url(server_place: Callable[[str], Place]) -> Iterator[str]:
    with fresh_database(server_place("postgres")) as found:
        yield found


@pytest.fixture
def cluster(tmp_path: Path, url: str) -> Iterator[Cluster]:
    """Make a cluster whose leader may be killed."""
    made = Cluster(tmp_path, url, JOBS)
    yield made
    made.clear()


@pytest.fixture
def calm(tmp_path: Path, url: str) -> Iterator[Cluster]:
    """Make a cluster in which the lead is only ever given away."""
    made = Cluster(tmp_path, url, JOBS, cluster=A_LONG_LEASE)
    yield made
    made.clear()


def two(cluster: Cluster) -> tuple[Served, Served]:
    """Start one that leads and one that stands by."""
    a, b = cluster.node("a"), cluster.node("b")
    for each in (a, b):
        each.driver = GIVES_WAY + each.driver
    a.start()
    b.start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    return a, b


def state(served: Served, run_id: str) -> str:
    """Return a run's state as this scheduler tells it."""
    return str(served.get(f"/api/runs/{run_id}")["run"]["state"])


def test_a_standby_answers_for_the_one_that_leads(calm: Cluster) -> None:
    """Reads and actions alike, in the name of whoever asked; and the lead can be handed to it."""
    a, b = two(calm)
    seen = b.get("/api/nodes")
    assert (seen["authority"]["node"], seen["authority"]["epoch"]) == ("a", 1)
    assert {(each["node"], each["state"], each["is_authority"]) for each in seen["nodes"]} == {
        ("a", "alive", True),
        ("b", "alive", False),
    }
    run = b.post("/api/jobs/quick/trigger")["run"]["run_id"]
    b.until(lambda: state(b, run) == "succeeded", "the run's end, told by the standby")
    assert b.ask("POST", "/api/jobs/nobody/trigger", {}).status == 404
    assert "quick" in a.ask("GET", "/api/audit").body["audit"][-1]["subject"] or a.get("/api/audit")["audit"]

    drained = a.post("/api/nodes/b/drain")
    assert drained["draining"] is True
    b.until(lambda: [n["state"] for n in b.get("/api/nodes")["nodes"] if n["node"] == "b"] == ["draining"], "drained")
    waiting = a.post("/api/jobs/on_b/trigger")["run"]["run_id"]
    a.post("/api/nodes/b/drain", undo=True)
    a.until(lambda: state(a, waiting) == "succeeded", "it claims again")

    b.post("/api/nodes/a/hand-over")
    b.until(b.is_well, "b leads")
    assert a.process is not None
    assert a.process.poll() is None
    assert b.get("/api/nodes")["authority"]["epoch"] == 2


def test_the_lead_is_handed_over_and_back_at_once(calm: Cluster) -> None:
    """Who has just given it away takes it again: nobody waits until that is long ago without a scheduler."""
    a, b = two(calm)
    a.post("/api/nodes/a/hand-over")
    b.until(b.is_well, "b leads")
    b.post("/api/nodes/b/hand-over")
    a.until(a.is_well, "a leads")
    assert a.get("/api/nodes")["authority"]["epoch"] == 3


def test_a_node_that_is_gone_is_fenced_by_hand(cluster: Cluster) -> None:
    """Nobody can prove its death from afar, so its attempt stays `running` until somebody says so, by name."""
    a, b = cluster.node("a").start(), cluster.node("b").start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    run = a.post("/api/jobs/sleeper/trigger")["run"]["run_id"]
    a.until(lambda: f"begin {run}" in cluster.done(), "it runs")
    a.kill()
    b.until(b.is_well, "b leads")
    assert state(b, run) == "running"
    assert b.ask("POST", "/api/nodes/a/fence", {"reason": "burnt"}).status == 400
    assert b.ask("POST", "/api/nodes/a/fence", {"confirm": "a"}).status == 400
    assert b.ask("POST", "/api/nodes/b/fence", {"confirm": "b", "reason": "no"}).status == 409
    fenced = b.post("/api/nodes/a/fence", confirm="a", reason="its power supply burnt")["fenced"]
    assert [(each["done"], each["revoked"]) for each in fenced] == [(True, [run])]
    b.until(lambda: state(b, run) == "failed", "its run has failed: on_lost forbids another try")
    assert b.get(f"/api/runs/{run}")["attempts"][0]["outcome"] == "lost"


def test_a_log_is_read_from_the_node_that_has_it(calm: Cluster) -> None:
    """The one that leads cannot see the file, and asks the node for it."""
    b = calm.node("b")
    a = calm.node("a", wrapper=on_tmpfs(calm.home / "b", "size=1m")).start()
    b.start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    run = a.post("/api/jobs/on_b/trigger")["run"]["run_id"]
    a.until(lambda: state(a, run) == "succeeded", "it has run on b")
    assert a.get(f"/api/runs/{run}/log")["lines"] == ["written on b"]
    assert a.ask("GET", f"/api/runs/{run}/log?raw=1", raw=True).body == b"written on b\n"
