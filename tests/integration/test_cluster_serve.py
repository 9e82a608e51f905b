"""Two schedulers on one PostgreSQL, as processes: one leads, both run jobs, one's end is not the end. DESIGN 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clustering import A_LONG_LEASE, Cluster, fresh_database, is_standby
from tests.servers.kinds import Place
from tests.serving import Served

JOBS = """
jobs:
  tick:
    command: 'echo $PYSCHED_RUN_ID >> $EFFECTS'
    schedule: "* * * * * *"
    overlap: allow
    catch_up: all
  long:
    command: 'echo begin $PYSCHED_RUN_ID >> $EFFECTS; sleep 3; echo end $PYSCHED_RUN_ID >> $EFFECTS'
    schedule: manual
  sleeper:
    command: 'echo begin $PYSCHED_RUN_ID >> $EFFECTS; exec sleep 600'
    schedule: manual
  on_b:
    command: 'echo on $NODE >> $EFFECTS'
    env: {NODE: "${NODE}"}
    node: b
    schedule: manual
"""

SLOW_TO_LEAD = """
import asyncio
from pyscheduler.engine import core, reopen
async def slow(engine):
    await asyncio.sleep(8)
    await reopen.reopen(engine)
core.reopen = slow
"""

NewCluster = Callable[..., Cluster]


def state(served: Served, run_id: str) -> str:
    """Return a run's state as this scheduler tells it."""
    return str(served.get(f"/api/runs/{run_id}")["run"]["state"])


@pytest.fixture
def new_cluster(tmp_path: Path, server_place: Callable[[str], Place]) -> Iterator[NewCluster]:
    """Make a cluster on a database of its own."""
    with fresh_database(server_place("postgres")) as url:
        made: list[Cluster] = []

        def make(text: str = JOBS, **cluster: object) -> Cluster:
            made.append(Cluster(tmp_path, url, text, cluster=cluster))
            return made[-1]

        yield make
        for each in made:
            each.clear()


def test_the_authority_is_killed_and_the_other_goes_on(new_cluster: NewCluster) -> None:
    """Nothing is lost, nothing is done twice, and what ran on the dead one's host ends there with its true end."""
    cluster = new_cluster()
    a = cluster.node("a").start()
    b = cluster.node("b").start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    long = a.post("/api/jobs/long/trigger")["run"]["run_id"]
    a.until(lambda: any(line.startswith("begin") for line in cluster.done()), "the long job begun")
    a.kill()
    b.until(b.is_well, "b leads")
    seen = len(cluster.done())
    b.until(lambda: len(cluster.done()) > seen + 3, "b runs jobs")
    a.start(ready=False)
    b.until(lambda: state(b, long) == "succeeded", "the long job's end told")
    ticks = Counter(line for line in cluster.done() if line.startswith("tick"))
    assert set(ticks.values()) == {1}
    due = cluster.rows("SELECT count(*), max(scheduled_at) - min(scheduled_at) FROM runs WHERE job = 'tick'")
    assert due[0][0] == due[0][1] / 1_000_000 + 1  # one for each second, the seconds without a leader included
    assert [line for line in cluster.done() if line.endswith(long)] == [f"begin {long}", f"end {long}"]


def test_a_polite_stop_hands_over_at_once(new_cluster: NewCluster) -> None:
    """The authority is given back, not waited for."""
    cluster = new_cluster(authority_lease="60s", lease="60s", margin="10s")
    a, b = cluster.node("a").start(), cluster.node("b").start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    assert a.stop() == 0
    b.until(b.is_well, "b leads")
    epochs = cluster.rows("SELECT epoch FROM leases WHERE name = 'authority'")
    assert epochs[0][0] == 2


def test_a_stop_while_the_lead_is_taken_makes_no_run(new_cluster: NewCluster) -> None:
    """A recovery that takes long is given up at the signal: what is due is left to the next that leads, at once."""
    cluster = new_cluster(lease="60s", margin="10s")
    a, b = cluster.node("a").start(), cluster.node("b")
    b.driver = SLOW_TO_LEAD + b.driver
    b.start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    a.kill()
    b.until(lambda: "this scheduler leads now" in b.said(), "b takes the lead")
    made = cluster.rows("SELECT count(*) FROM runs")
    assert b.stop() == 0
    assert cluster.rows("SELECT count(*) FROM runs") == made
    assert cluster.rows("SELECT released FROM leases WHERE name = 'authority'")[0][0] in (1, True)


def test_a_job_runs_on_the_node_that_it_names(new_cluster: NewCluster) -> None:
    """And on no other: the authority's own room does not count for it."""
    cluster = new_cluster(**A_LONG_LEASE)
    a = cluster.node("a").start()
    run = a.post("/api/jobs/on_b/trigger")["run"]["run_id"]
    a.until(lambda: "waits for a node" in str(a.get(f"/api/why?run={run}")), "the reason said")
    cluster.node("b").start(ready=False)
    a.until(lambda: state(a, run) == "succeeded", "the run's end")
    assert "on b" in cluster.done()


def test_a_kill_reaches_the_node_that_runs_it(new_cluster: NewCluster) -> None:
    """At once, though who leads may not have heard of the start yet; the run ends as killed by whoever asked."""
    cluster = new_cluster(**A_LONG_LEASE)
    a = cluster.node("a").start()
    run = a.post("/api/jobs/sleeper/trigger")["run"]["run_id"]
    a.until(lambda: f"begin {run}" in cluster.done(), "it runs")
    assert a.get(f"/api/why?run={run}")["why"]["run"]["state"] == "running"
    a.post(f"/api/runs/{run}/kill")
    a.until(lambda: state(a, run) == "failed", "its end")
    assert "killed by" in a.get(f"/api/runs/{run}")["run"]["reason"]


def test_a_restart_adopts_what_its_host_still_runs(new_cluster: NewCluster) -> None:
    """kill −9 of the only scheduler: the next one on the host becomes the owner, and the job never notices (S17)."""
    cluster = new_cluster(**A_LONG_LEASE)
    a = cluster.node("a").start()
    long = a.post("/api/jobs/long/trigger")["run"]["run_id"]
    a.until(lambda: f"begin {long}" in cluster.done(), "it runs")
    a.kill()
    a.start()
    a.until(lambda: state(a, long) == "succeeded", "its end")
    assert [line for line in cluster.done() if line.endswith(long)] == [f"begin {long}", f"end {long}"]
    kinds = cluster.rows("SELECT action FROM events WHERE run_id IS NOT NULL AND action IN ('adopted', 'lost_running')")
    assert ("lost_running",) not in kinds
