"""B21: a scheduler's death is not the death of what it started (claims.md B21). On SQLite too."""

from __future__ import annotations

from pyscheduler.cluster import Ticked
from tests.conformance.cluster.kit import World, numbers, task, until


def started(world: World, command: str) -> None:
    """Let a scheduler of this host start 00:01 and be killed."""
    hand = world.hand(task("job", command))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(world.effects, "it runs")
    hand.kill()


def test_a_child_that_survives_is_not_run_beside(world: World) -> None:
    """A peer sees the dead owner and leaves the run alone; when the child has ended its true end is recorded."""
    started(world, world.command("exit 3", gated=True))
    b = world.scheduler(world.minutely())
    assert numbers(b.tick()) == (0, 0, 0)
    assert world.states() == ["running"]
    world.open_gate("job.2027-05-20.1")
    until(lambda: world.effects("end"))
    hand = world.hand(task("job", world.command()))
    until(lambda: hand.ask("tick") and world.states() == ["failed"], "the end is found by its note")
    assert [row.reason for row in world.runs()] == ["exit 3"]
    assert len(world.effects()) == 1
    assert world.lines("lost_running") == []


def test_an_end_that_nobody_saw_is_recorded_from_its_note(world: World) -> None:
    """The child ends while no scheduler is there at all."""
    started(world, world.command(gated=True))
    world.open_gate("job.2027-05-20.1")
    until(lambda: world.effects("end"))
    found: list[Ticked] = []
    task_ = world.minutely()

    def look() -> int:
        found.append(world.scheduler(task_).tick())
        return found[-1].adopted

    until(look)
    assert (found[-1].started, found[-1].done) == (0, 1)
    assert world.states() == ["succeeded"]


def test_a_worker_adopts_what_still_runs(world: World) -> None:
    """It becomes the owner under the same token, and records the end the moment it comes."""
    started(world, world.command(gated=True))
    worker = world.hand(task("job", world.command()))
    worker.do("work", sleep=0.1)
    until(lambda: world.lines("adopted") == ["job.2027-05-20.1"])
    world.open_gate("job.2027-05-20.1")
    until(lambda: world.states() == ["succeeded"])
    worker.do("stop")
    answer = worker.answer()
    assert (answer["started"], answer["adopted"], answer["done"]) == (0, 1, 1)
    assert world.tokens() == [("job.2027-05-20.1", 1)]


def test_nothing_of_it_is_left_in_the_folder(world: World) -> None:
    """Its notes go once its end is told, whoever told it; those of what still runs stay."""
    started(world, world.command(gated=True))
    status = world.host().state_dir / "status"
    b = world.scheduler(world.minutely(gated=True))
    b.tick()
    assert any(status.iterdir())
    world.open_gate("job.2027-05-20.1")
    until(lambda: world.effects("end"))
    until(lambda: b.tick().started == 0 and world.states() == ["succeeded"], "its end is found by its note")
    b.tick()
    assert list(status.iterdir()) == []
