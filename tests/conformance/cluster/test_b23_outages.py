"""B23: after an outage nobody robs anybody (claims.md B23).

Not on SQLite: a file on the scheduler's own disk is not out for one scheduler and there for another.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pyscheduler.cluster.identity import HOST_VARIABLE
from tests.conformance.cluster.kit import LEASE_S, World, task, until
from tests.servers.fixtures import GetServer

pytestmark = pytest.mark.alone  # a heartbeat each fifth of a second wants a processor that is not taken


def test_an_outage_of_three_leases_revokes_nothing(
    tmp_path: Path, own_server: GetServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts, each with a run under way; the server is gone for three leases; both go on, each run once."""
    monkeypatch.setenv(HOST_VARIABLE, "here")
    server = own_server("postgres")
    world = World(tmp_path, server.place.uri)
    world.at(0)
    try:
        tasks = [task("job", world.command(gated=True), overlap="allow")]
        workers = [world.hand(*tasks, host=host, reclaim_after=LEASE_S) for host in ("here", "there")]
        workers[0].ask("tick")
        world.at(1)
        workers[0].do("work", sleep=0.1)
        until(lambda: len(world.effects()) == 1)
        world.at(2)
        workers[1].do("work", sleep=0.1, max_processes=1)
        until(lambda: len(world.effects()) == 2)
        server.kill()
        time.sleep(3 * LEASE_S)
        server.start()
        for number in (1, 2):
            world.open_gate(f"job.2027-05-20.{number}")
        until(lambda: world.states() == ["succeeded", "succeeded"], "both ends are stored")
        for worker in workers:
            worker.do("stop")
            worker.answer()
        assert world.lines("lost_claimed") == world.lines("lost_running") == []
        assert len(world.effects()) == 2
    finally:
        world.close()
