"""B4: a claim counts from its own grant, not from the beginning of the tick (claims.md B4). On SQLite too."""

from __future__ import annotations

import time

import pytest

from pyscheduler.cluster import Schedule, Task
from tests.conformance.cluster.kit import LEASE_S, Ticking, World, numbers, until

MANY = 8

pytestmark = pytest.mark.alone  # a heartbeat each fifth of a second wants a processor that is not taken


def test_a_slow_drain_gives_nothing_away(world: World) -> None:
    """Getting through the claims takes longer than a lease; a second scheduler gets none of them."""
    pause_s = 1.5 * LEASE_S / MANY
    tasks = [Task(f"job-{number}", "* * * * *", world.command()) for number in range(MANY)]
    slowly = Schedule(*tasks, before=lambda _context: time.sleep(pause_s))
    a, b = world.scheduler(schedule=slowly), world.scheduler(*tasks)
    a.tick()
    world.at(1)
    first = Ticking(a, concurrent=False)
    until(world.effects, "the first has begun")
    while len(world.effects("end")) < MANY:
        assert numbers(b.tick()) == (0, 0, 0)
        time.sleep(0.1)
    assert numbers(first.end()) == (MANY, 0, 0)
    assert {token for _, token in world.tokens()} == {1}
    assert world.lines("lost_claimed") == []
