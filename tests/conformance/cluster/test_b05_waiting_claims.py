"""B5: a claim that waits for a slot is safe as long as its scheduler lives (claims.md B5). On SQLite too."""

from __future__ import annotations

import time

import pytest

from pyscheduler.cluster import Task
from tests.conformance.cluster.kit import LEASE_S, Ticking, World, numbers, until

pytestmark = pytest.mark.alone  # a heartbeat each fifth of a second wants a processor that is not taken


def test_a_wait_of_three_leases_loses_nothing(world: World) -> None:
    """One slot, two due: while the first takes three leases, B ticks and gets nothing."""
    tasks = (
        Task("first", "* * * * *", world.command(gated=True)),
        Task("second", "* * * * *", world.command()),
    )
    a, b = world.scheduler(*tasks), world.scheduler(*tasks)
    a.tick()
    world.at(1)
    first = Ticking(a, max_processes=1)
    until(world.effects)
    deadline = time.monotonic() + 3 * LEASE_S
    while time.monotonic() < deadline:
        assert numbers(b.tick()) == (0, 0, 0)
        time.sleep(0.1)
    world.open_gate("first.2027-05-20.1")
    assert numbers(first.end()) == (2, 0, 0)
    assert world.tokens() == [("first.2027-05-20.1", 1), ("second.2027-05-20.1", 1)]
    assert world.lines("lost_claimed") == world.lines("lost_running") == []
