"""B28: an owner's row is not forgotten before its runs are settled (claims.md B28). On SQLite too."""

from __future__ import annotations

from pyscheduler.store.claims import nodes
from tests.conformance.cluster.kit import World, numbers, task, until


def test_rows_that_own_something_are_not_pruned(world: World) -> None:
    """A dead scheduler's row is kept through pruning, its run is recovered, and only then may the row go."""
    hand = world.hand(task("job", world.command()), hook=str(world.folder / "hook"))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists())
    hand.kill()
    owner = world.runs()[0].owner
    with world.door() as door:
        gone = door.write(lambda on: nodes.forget(on, 0.0))
        assert owner not in gone
    assert world.runs()[0].owner == owner
    assert numbers(world.scheduler(world.minutely()).tick()) == (1, 0, 0)
    assert world.states() == ["succeeded"]
