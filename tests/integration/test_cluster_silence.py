"""A node that falls silent, of which nothing can be proved: how long each of its attempts is left to it. DESIGN 6."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clustering import Cluster, fresh_database, is_standby
from tests.servers.kinds import Place
from tests.serving import Served

JOBS = """
jobs:
  hasty:
    command: 'echo begin $PYSCHED_RUN_ID >> $EFFECTS; exec sleep 600'
    schedule: manual
    node: a
    on_lost: fail
    reclaim_after: 5s
  patient:
    command: 'echo begin $PYSCHED_RUN_ID >> $EFFECTS; exec sleep 600'
    schedule: manual
    node: a
    on_lost: fail
"""


@pytest.fixture
def cluster(tmp_path: Path, server_place: Callable[[str], Place]) -> Iterator[Cluster]:
    """Make a cluster on a database of its own."""
    with fresh_database(server_place("postgres")) as url:
        made = Cluster(tmp_path, url, JOBS)
        yield made
        made.clear()


def state(served: Served, run_id: str) -> str:
    """Return a run's state as this scheduler tells it."""
    return str(served.get(f"/api/runs/{run_id}")["run"]["state"])


def begun(cluster: Cluster, served: Served, job: str) -> str:
    """Start a run of a job, and return it once it runs."""
    run = str(served.post(f"/api/jobs/{job}/trigger")["run"]["run_id"])
    served.until(lambda: f"begin {run}" in cluster.done(), f"{job} runs")
    return run


def test_a_jobs_own_window_takes_its_run_and_no_other(cluster: Cluster) -> None:
    """`reclaim_after` of a job: the silent node loses that run, keeps the rest for the day, and is not fenced."""
    a, b = cluster.node("a").start(), cluster.node("b").start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    hasty, patient = begun(cluster, a, "hasty"), begun(cluster, a, "patient")
    assert "falls silent keeps it for 5s" in a.get(f"/api/why?run={hasty}")["why"]["text"]
    a.kill()
    b.until(b.is_well, "b leads")
    b.until(lambda: state(b, hasty) == "failed", "its window has passed, and on_lost forbids another try")
    assert b.get(f"/api/runs/{hasty}")["attempts"][0]["outcome"] == "lost"
    assert state(b, patient) == "running"
    assert cluster.rows("SELECT count(*) FROM leases WHERE node = 'a' AND fenced_at IS NOT NULL") == [(0,)]
    assert cluster.rows(f"SELECT owner_inc IS NOT NULL FROM runs WHERE run_id = '{patient}'") == [(True,)]
