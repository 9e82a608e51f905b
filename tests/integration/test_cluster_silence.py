"""A node that falls silent, of which nothing can be proved: how long each of its attempts is left to it. DESIGN 6."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clustering import Cluster, fresh_database, is_standby
from tests.servers.kinds import Place
from tests.serving import Served
from tests.yard import alive

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
    a.kill()
    b.until(b.is_well, "b leads")
    b.until(lambda: state(b, hasty) == "failed", "its window has passed, and on_lost forbids another try")
    assert b.get(f"/api/runs/{hasty}")["attempts"][0]["outcome"] == "lost"
    assert state(b, patient) == "running"
    assert cluster.rows("SELECT count(*) FROM leases WHERE node = 'a' AND fenced_at IS NOT NULL") == [(0,)]
    assert cluster.rows(f"SELECT owner_inc IS NOT NULL FROM runs WHERE run_id = '{patient}'") == [(True,)]


# --------------------------------------------------------------------------- on_uncertain

UNCERTAIN = """
jobs:
  ends: &job
    command: 'echo $PYSCHED_RUN_ID $$$$ >> $EFFECTS; exec sleep 600'
    schedule: manual
    node: a
    on_lost: fail
    on_uncertain: stop
  goes_on: {<<: *job, on_uncertain: continue}
"""


def process_of(cluster: Cluster, served: Served, job: str) -> tuple[str, int]:
    """Start a run of a job, and return it and its process once it runs."""
    run = str(served.post(f"/api/jobs/{job}/trigger")["run"]["run_id"])
    served.until(lambda: any(line.startswith(f"{run} ") for line in cluster.done()), f"{job} runs")
    (pid,) = [int(line.split()[1]) for line in cluster.done() if line.startswith(f"{run} ")]
    return run, pid


@pytest.fixture
def doubtful(cluster: Cluster) -> Cluster:
    """Give the cluster jobs that end with their node's lease and others that do not."""
    cluster.text = cluster.text.replace(JOBS, UNCERTAIN)
    assert "on_uncertain" in cluster.text
    return cluster


def test_a_frozen_nodes_attempts_end_where_their_job_says_so(doubtful: Cluster) -> None:
    """Nobody renews its lease: their minders end those of `stop`, whose run is given up at once; the others go on."""
    a, b = doubtful.node("a").start(), doubtful.node("b").start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    (ending, pid), (going, other) = process_of(doubtful, a, "ends"), process_of(doubtful, a, "goes_on")
    assert a.process is not None
    os.kill(a.process.pid, signal.SIGSTOP)
    try:
        b.until(lambda: not alive(pid), "its minder has ended it")
        b.until(b.is_well, "b leads")
        b.until(lambda: state(b, ending) == "failed", "given up after lease and kill_grace, not after a day")
        assert alive(other)
        assert state(b, going) == "running"
    finally:
        os.kill(a.process.pid, signal.SIGCONT)
    lives = "SELECT count(*) FROM leases WHERE node = 'a' AND fenced_at IS NULL AND lease_until > db_now()"
    a.until(lambda: doubtful.rows(lives) == [(1,)], "it goes on, and was not fenced")
    assert state(b, ending) == "failed"
    assert state(b, going) == "running"
    assert alive(other)


def told(served: Served, run_id: str) -> str | None:
    """Return a run's state, None where nobody can say: an engine that was idle finds its connection dead only now."""
    answer = served.ask("GET", f"/api/runs/{run_id}")
    return answer.body["run"]["state"] if answer.status == 200 else None


def test_a_store_that_is_away_for_longer_than_the_lease_ends_them_too(doubtful: Cluster) -> None:
    """The node lives and cannot say so: it is the same doubt. What ended is told once the store is back."""
    a = doubtful.node("a").start()
    (ending, pid), (going, other) = process_of(doubtful, a, "ends"), process_of(doubtful, a, "goes_on")
    with doubtful.shut():
        a.until(lambda: not alive(pid), "its minder has ended it")
        assert alive(other)
    a.until(lambda: told(a, ending) == "failed", "its end is told: lost, and on_lost forbids another try")
    (attempt,) = a.get(f"/api/runs/{ending}")["attempts"]
    assert (attempt["outcome"], attempt["note"]) == ("lost", "its node could not renew its lease")
    assert state(a, going) == "running"


def test_who_adopts_an_attempt_vouches_for_it(tmp_path: Path, server_place: Callable[[str], Place]) -> None:
    """A scheduler that is killed and started again within the lease: the attempt hangs on the new one's word."""
    with fresh_database(server_place("postgres")) as url:
        cluster = Cluster(tmp_path, url, UNCERTAIN, cluster={"lease": "600s", "margin": "20s"})
        try:
            a = cluster.node("a").start()
            _, pid = process_of(cluster, a, "ends")
            (link,) = (a.home / "state" / "status").glob("*.lease")
            before = os.readlink(link)
            a.kill()
            a.start()
            a.until(lambda: os.readlink(link) != before, "adopted")
            assert Path(os.readlink(link)).exists()
            assert alive(pid)
        finally:
            cluster.clear()
