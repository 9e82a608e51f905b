"""B7: a late outcome changes its own run alone (claims.md B7). On SQLite too."""

from __future__ import annotations

from tests.conformance.cluster.kit import Ticking, World, numbers, until


def test_the_end_of_an_older_run_leaves_the_newer_one_alone(world: World) -> None:
    """A runs 00:01; B runs and completes 00:02; A's ends after that. A third scheduler has nothing to do."""
    task = world.minutely(gated=True, overlap="allow")
    a, b, c = (world.scheduler(task) for _ in range(3))
    a.tick()
    world.at(1)
    first = Ticking(a)
    until(lambda: world.effects() == ["job.2027-05-20.1"])
    world.at(2)
    world.open_gate("job.2027-05-20.2")
    assert numbers(b.tick()) == (1, 0, 0)
    newer = world.runs()[1]
    assert newer.state == "succeeded"
    world.open_gate("job.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 0)
    assert numbers(c.tick()) == (0, 0, 0)
    assert world.runs()[1] == newer
    assert world.states() == ["succeeded", "succeeded"]
    assert world.effects() == ["job.2027-05-20.1", "job.2027-05-20.2"]
