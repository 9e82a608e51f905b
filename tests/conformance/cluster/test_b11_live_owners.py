"""B11: an owner that heartbeats never loses a claim, however long its task takes (claims.md B11). On SQLite too."""

from __future__ import annotations

import time

import pytest

from tests.conformance.cluster.kit import LEASE_S, Ticking, World, numbers, until

pytestmark = pytest.mark.alone  # a heartbeat each fifth of a second wants a processor that is not taken


def test_a_task_of_many_leases_runs_once(world: World) -> None:
    """Five leases, and a reclaim window shorter than that: the second scheduler never gets it."""
    task = world.minutely(gated=True)
    a, b = world.scheduler(task), world.scheduler(task)
    a.tick()
    world.at(1)
    first = Ticking(a)
    until(world.effects)
    deadline = time.monotonic() + 5 * LEASE_S
    while time.monotonic() < deadline:
        assert numbers(b.tick()) == (0, 0, 0)
        time.sleep(0.2)
    world.open_gate("job.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 0)
    assert world.tokens() == [("job.2027-05-20.1", 1)]
    assert world.lines("lost_running") == []
