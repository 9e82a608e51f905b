"""B25: one run's failure never keeps another from starting (claims.md B25). On SQLite too."""

from __future__ import annotations

import pytest

from pyscheduler.cluster import Task, TaskFailed
from tests.conformance.cluster.kit import World


def test_a_sequential_tick_goes_on_after_a_failure(world: World) -> None:
    """The first of three fails; the others start in the same tick, and the failure is raised when all is over."""
    scheduler = world.scheduler(*(Task(name, "* * * * *", world.command(then)) for name, then in PAYLOADS))
    scheduler.tick()
    world.at(1)
    with pytest.raises(TaskFailed, match=r"task a failed: exit 1") as failed:
        scheduler.tick(concurrent=False)
    assert sorted(world.effects()) == ["a.2027-05-20.1", "b.2027-05-20.1", "c.2027-05-20.1"]
    assert (failed.value.ticked.done, failed.value.ticked.failed) == (2, 1)


PAYLOADS = (("a", "false"), ("b", "true"), ("c", "true"))
