"""PostgreSQL crashes and is started again twenty times under load: nothing is missed, nothing is doubled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.cluster.checker import broken
from tests.faults.cluster.crews import PATIENT, steady
from tests.faults.cluster.fleet import Fleet, Ground, fleet
from tests.faults.cluster.history import Promises
from tests.faults.cluster.ready import ground_of
from tests.faults.cluster.tale import count, has_passed, wanted
from tests.servers.fixtures import GetServer

RESTARTS = 20
BETWEEN_S = 1.0
LATE_S = 5.0
SECOND_US = 1_000_000


@pytest.fixture
def ground(own_server: GetServer) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield stack.enter_context(ground_of(own_server("postgres")))


def crash(made: Fleet) -> float:
    """Crash the server and start it again; returns how long it was away, in seconds."""
    began = time.monotonic()
    made.server.crash()
    made.server.start()
    return time.monotonic() - began


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_twenty_restarts_of_the_server_cost_nothing_but_time(tmp_path: Path, ground: Ground) -> None:
    """Every due time has one run, each run one execution a try, and none starts later than the outage and 5 s."""
    with fleet(tmp_path, steady(PATIENT), ground) as made:
        made.start_all()
        made.until(lambda: count(made, "SELECT count(*) FROM attempts"), "the first job has started")
        away_s = 0.0
        for _ in range(RESTARTS):
            until = time.monotonic() + BETWEEN_S
            made.until(lambda until=until: time.monotonic() > until, "a while of load")  # type: ignore[misc]
            away_s = max(away_s, crash(made))
            seen = count(made, "SELECT count(*) FROM attempts")
            made.until(lambda seen=seen: count(made, "SELECT count(*) FROM attempts") > seen, "work goes on")  # type: ignore[misc]
        cutoff = count(made, "SELECT db_now()")
        made.until(lambda: has_passed(made, cutoff), "everything due has ended")
        made.stop_all()
        history = made.history(Promises(quiet=True, wanted=wanted(made, cutoff)))
    assert broken(history) == []
    runs = history.final("runs", "run_id")
    first = [row for row in history.final("attempts", "run_id", "attempt").values() if row["attempt"] == 1]
    late_s = max(row["started_at"] - runs[row["run_id"],]["scheduled_at"] for row in first) / SECOND_US
    print(f"{len(runs)} runs, worst start {late_s:.1f} s late, longest outage {away_s:.1f} s")
    assert late_s <= away_s + LATE_S
