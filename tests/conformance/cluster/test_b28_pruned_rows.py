"""B28: an owner's row is not forgotten before its runs are settled (claims.md B28). On SQLite too."""

from __future__ import annotations

from pyscheduler.store.claims import nodes
from tests.conformance.cluster.kit import World, numbers, task, until
from tests.conformance.cluster.rows import do, incarnations

TWO_DAYS_US = 2 * 86_400 * 1_000_000
OLDER = ", ".join(f"{name} = {name} - {TWO_DAYS_US}" for name in ("renewed_at", "lease_until", "fenced_at"))


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


def test_a_pass_forgets_the_old_rows_and_not_an_owners(world: World) -> None:
    """Every pass prunes as it comes in; rows are made two days old, for no test can wait for that."""
    hand = world.hand(task("job", world.command()), hook=str(world.folder / "hook"))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists())
    hand.kill()
    owner = world.runs()[0].owner
    with world.door() as door:
        before = incarnations(door)
        do(door, f"UPDATE leases SET {OLDER} WHERE kind = 'node'")
        assert len(before) == 2, "the first pass's, and the dead one's"
    assert numbers(world.scheduler(world.minutely()).tick()) == (1, 0, 0)
    assert world.states() == ["succeeded"]
    with world.door() as door:
        assert owner in incarnations(door)
        assert set(incarnations(door)) & before == {owner}
