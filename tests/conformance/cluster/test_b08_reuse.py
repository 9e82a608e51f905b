"""B8: a scheduler that was stopped and is used again knows what it gave back (claims.md B8). On SQLite too."""

from __future__ import annotations

from pyscheduler.cluster import Schedule, Task
from tests.conformance.cluster.kit import MIDNIGHT, Ticking, World, numbers, until


def schedule(world: World) -> Schedule:
    slow = Task("slow", "1 0 * * *", world.command(gated=True))
    return Schedule(slow, world.minutely())


def test_a_returned_run_is_due_for_the_same_object(world: World) -> None:
    """00:01 is claimed, given back by a stop, and then run by the same object; 00:02 follows."""
    scheduler = world.scheduler(schedule=schedule(world))
    scheduler.tick()
    world.at(1.1)
    first = Ticking(scheduler, max_processes=1)
    until(lambda: world.effects() == ["slow.2027-05-20.1"])
    scheduler.stop()
    world.open_gate("slow.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 1)
    assert scheduler.next_run == world.scheduler(schedule=schedule(world)).next_run == MIDNIGHT.replace(minute=1)
    world.at(1.5)
    assert numbers(scheduler.tick()) == (1, 0, 0)
    world.at(2)
    assert numbers(scheduler.tick()) == (1, 0, 0)
    assert world.effects()[1:] == ["job.2027-05-20.1", "job.2027-05-20.2"]
    assert scheduler.next_run == world.scheduler(schedule=schedule(world)).next_run == MIDNIGHT.replace(minute=3)


def test_a_returned_run_is_not_lost_when_the_next_is_due(world: World) -> None:
    """Even where the object is used again only at 00:02."""
    scheduler = world.scheduler(schedule=schedule(world))
    scheduler.tick()
    world.at(1.1)
    first = Ticking(scheduler, max_processes=1)
    until(lambda: world.effects() == ["slow.2027-05-20.1"])
    scheduler.stop()
    world.open_gate("slow.2027-05-20.1")
    first.end()
    world.at(2)
    assert numbers(scheduler.tick(max_processes=1)) == (2, 0, 0)
    assert world.effects()[1:] == ["job.2027-05-20.1", "job.2027-05-20.2"]
