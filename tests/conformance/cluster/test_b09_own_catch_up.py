"""B9: the start guard lets a scheduler's own catch-up through (claims.md B9). On SQLite too."""

from __future__ import annotations

from tests.conformance.cluster.kit import World, numbers, sequence


def test_missed_runs_start_one_after_the_other_in_due_order(world: World) -> None:
    """One slot, three missed: each is guarded by its own token, and none stands in another's way."""
    scheduler = world.scheduler(world.minutely())
    scheduler.tick()
    world.at(3.2)
    assert numbers(scheduler.tick(max_processes=1)) == (3, 0, 0)
    assert sequence(world.effects()) == ["1", "2", "3"]
    assert world.effects() == world.effects("end")
    assert world.states() == ["succeeded"] * 3
