"""B26: a step of a wall clock costs nobody a claim (claims.md B26). On SQLite too."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from pyscheduler.engine.clock import SystemClock
from tests.conformance.cluster.kit import LEASE_S, Ticking, World, numbers, until


class Stepped(SystemClock):
    """A host whose wall clock is wrong by `off`."""

    off = timedelta()

    def now(self) -> datetime:
        return super().now() + self.off


@pytest.mark.parametrize("step", [timedelta(hours=2), timedelta(hours=-2)])
def test_a_wall_clock_that_jumps_changes_nothing(world: World, step: timedelta) -> None:
    """The owner's and the watcher's clocks jump while a run goes on for longer than a lease: it stays where it is."""
    task = world.minutely(gated=True)
    clocks = Stepped(), Stepped()
    a, b = (world.scheduler(task, clock=clock) for clock in clocks)
    a.tick()
    world.at(1)
    first = Ticking(a)
    until(world.effects)
    clocks[0].off, clocks[1].off = step, -step
    deadline = time.monotonic() + 1.5 * LEASE_S
    while time.monotonic() < deadline:
        assert numbers(b.tick()) == (0, 0, 0)
        time.sleep(0.1)
    world.open_gate("job.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 0)
    assert world.tokens() == [("job.2027-05-20.1", 1)]
    assert world.states() == ["succeeded"]
