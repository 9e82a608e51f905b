"""B13: what cannot be recorded is not run (claims.md B13). On SQLite too.

The fault is the database's own: a trigger refuses the write, as a full disk would. Nothing of the scheduler is
replaced.
"""

from __future__ import annotations

import pytest

from pyscheduler.errors import StoreError
from tests.conformance.cluster.breaks import broken
from tests.conformance.cluster.kit import World, until


@pytest.mark.parametrize("step", ["claim", "start"])
def test_a_write_that_fails_starts_nothing(world: World, step: str) -> None:
    """The error surfaces, nothing has run, the run stays due; afterwards it runs once."""
    task = world.minutely()
    scheduler = world.scheduler(task)
    scheduler.tick()
    world.at(1)
    with world.door() as door, broken(door, step), pytest.raises(StoreError):
        scheduler.tick()
    assert world.effects() == []
    assert world.states() == ["queued"]
    until(lambda: scheduler.tick().started == 1, "it is run as soon as it can be recorded")
    assert scheduler.tick().started == 0
    assert len(world.effects("end")) == 1
    assert world.states() == ["succeeded"]
