"""What a standby has ready before it leads: the configuration in force, and a nursery."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clustering import Cluster, fresh_database, is_standby
from tests.faults.cluster.stable import minders
from tests.servers.kinds import Place
from tests.serving import Served

JOBS = """
jobs:
  quick: {command: 'echo $PYSCHED_RUN_ID >> $EFFECTS', schedule: manual, node: b}
"""
TELLS_OF_READING = """
from pyscheduler.cluster import recipes
load_stored = recipes.load_stored
async def told(record, own, **more):
    print(f"READS CONFIGURATION {record.version}", flush=True)
    return await load_stored(record, own, **more)
recipes.load_stored = told
"""


@pytest.fixture
def cluster(tmp_path: Path, server_place: Callable[[str], Place]) -> Iterator[Cluster]:
    with fresh_database(server_place("postgres")) as url:
        made = Cluster(tmp_path, url, JOBS)
        yield made
        made.clear()


def nurseries(served: Served) -> list[int]:
    """Return the nurseries that a scheduler itself has started."""
    return [pid for pid in minders(served.pid) if parent(pid) == served.pid]


def parent(pid: int) -> int:
    """Return who has started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_takeover_reads_no_configuration_and_starts_no_second_nursery(cluster: Cluster) -> None:
    """Both were ready before the leader's end: what it put in force after the standby's start, too."""
    a = cluster.node("a").start()
    b = cluster.node("b")
    b.driver = TELLS_OF_READING + b.driver
    b.start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    a.write(cluster.text.replace("quick:", "other: {command: 'true', schedule: manual}\n  quick:"))
    assert a.post("/api/reload")["version"] == 2
    b.until(lambda: "configuration 2 is ready" in b.said(), "the new configuration ready")
    [nursery] = nurseries(b)
    a.kill()
    b.until(b.is_well, "b leads")
    run = b.post("/api/jobs/quick/trigger")["run"]["run_id"]
    b.until(lambda: run in cluster.done(), "a run begun by b")
    assert b.said().count("READS CONFIGURATION 2\n") == 1
    assert "configuration 2 of the store goes on" in b.said()
    assert nurseries(b) == [nursery]
    os.kill(nursery, 0)
