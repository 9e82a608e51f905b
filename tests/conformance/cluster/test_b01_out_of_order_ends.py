"""B1: an end that comes out of order moves nothing back (seed 002, claims.md B1). On SQLite too."""

from __future__ import annotations

from tests.conformance.cluster.kit import Ticking, World, numbers, sequence, until


def until_ended(world: World, count: int, number: int) -> None:
    until(lambda: len(world.effects("end")) == count)
    until(lambda: world.runs()[number - 1].state == "succeeded")


def test_ends_in_any_order_close_their_own_runs(world: World) -> None:
    """Three missed runs of one task end in the order 3, 1, 2: all are done, and nothing is left to do."""
    world.scheduler(world.minutely(gated=True)).tick()
    world.at(3.2)
    first = Ticking(world.scheduler(world.minutely(gated=True)), max_processes=3)
    until(lambda: len(world.effects()) == 3, "all three run at once")
    for count, number in enumerate((3, 1, 2), start=1):
        world.open_gate(f"job.2027-05-20.{number}")
        until_ended(world, count, number)
    assert numbers(first.end()) == (3, 0, 0)
    assert numbers(world.scheduler(world.minutely(gated=True)).tick()) == (0, 0, 0)
    assert sequence(world.effects("end")) == ["3", "1", "2"]
    assert world.states() == ["succeeded"] * 3
