"""Two hosts, one of them cut off while it runs a job: the job ends, the host reports, and nobody starts it twice.

The hosts are network namespaces where those are permitted; else the wires between are proxies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.cluster import spaces
from tests.faults.cluster.checker import broken
from tests.faults.cluster.crews import PATIENT, work
from tests.faults.cluster.fleet import LOG, STORE, Fleet, Ground, fleet
from tests.faults.cluster.history import Promises
from tests.faults.cluster.ready import ground_of
from tests.servers.kinds import discard

CUT_S = 30.0
JOBS = f"""
scheduler: {{state_dir: "@STATE@", log_dir: "@STATE@/logs", store: "${{{STORE}}}", max_running: 2}}
defaults: {{catch_up: all, overlap: allow}}
jobs:
  long: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 6 0", schedule: "*/10 * * * * *"}}
"""
RUNNING = """
SELECT a.run_id, a.token, h.app FROM attempts a
JOIN faults.history h ON h.tab = 'leases' AND h.old IS NULL AND h.new->>'name' = a.inc_id
WHERE a.ended_at IS NULL
"""


@pytest.fixture
def ground() -> Iterator[Ground]:
    with ExitStack() as stack:
        server = spaces.fresh_open_postgres()
        stack.callback(discard, server)
        yield stack.enter_context(ground_of(server))


def running(made: Fleet) -> tuple[str, int, int] | None:
    """Return a run that is being executed, its token, and the number of its host."""
    with made.connect() as on:
        row: tuple[Any, ...] | None = on.execute(RUNNING).fetchone()
    return None if row is None else (row[0], row[1], int(row[2][1]))


@pytest.mark.timeout(300)
def test_a_host_that_is_cut_off_ends_what_it_runs_and_nobody_starts_it_twice(tmp_path: Path, ground: Ground) -> None:
    """Thirty seconds, many leases long; the other host goes on with what is due, and leaves that run alone."""
    crew = work(PATIENT | {"reclaim_after": 3600.0}, config=JOBS, hosts=2, processes=1)
    with ExitStack() as stack:
        apart = () if spaces.missing() else stack.enter_context(spaces.spaces(2))
        made = stack.enter_context(fleet(tmp_path, crew, ground, apart))
        made.start_all()
        run_id, token, host = made.until(lambda: running(made), "a job runs")
        made.hosts[host].cut()
        healed_at = time.monotonic() + CUT_S
        made.until(lambda: time.monotonic() > healed_at, "the cut is over", CUT_S + 10)
        during = made.history(Promises())
        assert during.final("runs", "run_id")[run_id,]["state"] == "running"
        others = [row for row in during.final("runs", "run_id").values() if row["state"] == "succeeded"]
        assert others, f"the other host did nothing meanwhile\n{made.tell()}"
        made.hosts[host].heal()
        made.until(lambda: state_of(made, run_id) == "succeeded", "the host that was cut off has reported")
        made.stop_all()
        history = made.history(Promises())
    assert broken(history) == []
    assert [effect.what for effect in history.effects if effect.run_id == run_id] == ["begin", "end"]
    [attempt] = [row for row in history.final("attempts", "run_id", "attempt").values() if row["run_id"] == run_id]
    assert (attempt["token"], attempt["outcome"]) == (token, "succeeded")
    assert not [event for event in history.events("superseded", "lost_running") if event["run_id"] == run_id]


def state_of(made: Fleet, run_id: str) -> str:
    with made.connect() as on:
        [row] = on.execute("SELECT state FROM runs WHERE run_id = %s", (run_id,)).fetchall()
        return str(row[0])
