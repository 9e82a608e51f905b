"""B14: the task's failure is what is told, even where storing it fails too (claims.md B14). On SQLite too.

The fault is the database's own: a trigger refuses the write, as a full disk would. Nothing of the scheduler is
replaced.
"""

from __future__ import annotations

import pytest

from pyscheduler.cluster import TaskFailed
from pyscheduler.errors import StoreError
from tests.conformance.cluster.breaks import broken
from tests.conformance.cluster.kit import World, numbers


def test_the_tasks_failure_is_primary_and_the_outcome_is_kept(world: World) -> None:
    """The error is the task's with the store's behind it; the next pass stores the outcome, and runs nothing again."""
    scheduler = world.scheduler(world.minutely(then="exit 3"), outcome_bound_s=0.5)
    scheduler.tick()
    world.at(1)
    with world.door() as door, broken(door, "outcome"):
        with pytest.raises(TaskFailed, match=r"task job failed: exit 3") as failed:
            scheduler.tick()
        assert isinstance(failed.value.__context__, StoreError)
        assert world.states() == ["running"]
    assert numbers(scheduler.tick()) == (0, 0, 0)
    assert [(row.state, row.reason) for row in world.runs()] == [("failed", "exit 3")]
    assert len(world.effects()) == 1


def test_a_success_that_cannot_be_stored_is_told_as_that(world: World) -> None:
    """Nobody is told of a success that the store does not know."""
    scheduler = world.scheduler(world.minutely(), outcome_bound_s=0.5)
    scheduler.tick()
    world.at(1)
    with world.door() as door, broken(door, "outcome"):
        with pytest.raises(TaskFailed, match="could not be stored") as failed:
            scheduler.tick()
        assert isinstance(failed.value.__context__, StoreError)
    assert numbers(scheduler.tick()) == (0, 0, 0)
    assert world.states() == ["succeeded"]
