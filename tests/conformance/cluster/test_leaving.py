"""Stopping twice: what runs is left to its minders, and its end is recorded by the next pass. DESIGN 4 and 6."""

from __future__ import annotations

from pyscheduler.cluster import Task
from tests.conformance.cluster.kit import Ticking, World, numbers, until


def test_a_second_stop_does_not_wait_for_what_runs(world: World) -> None:
    """The same object finds the end of it later, by its note."""
    scheduler = world.scheduler(world.minutely(gated=True))
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(world.effects)
    scheduler.stop()
    scheduler.stop()
    assert numbers(first.end()) == (1, 0, 0)
    assert world.states() == ["running"]
    world.open_gate("job.2027-05-20.1")
    until(lambda: world.effects("end"))
    hand = world.hand({"id": "job", "trigger": "* * * * *", "command": "true"})
    assert hand.ask("tick")["started"] == 0
    assert len(world.effects()) == 1


def test_a_callable_outlives_its_scheduler_too(world: World) -> None:
    """Whoever is killed, a callable goes on under its minder and its end is found."""
    started, go = world.folder / "started", world.folder / "go"

    def payload() -> None:
        import time

        started.touch()
        while not go.exists():
            time.sleep(0.02)

    scheduler = world.scheduler(Task("call", "* * * * *", payload))
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(started.exists)
    scheduler.stop()
    scheduler.stop()
    first.end()
    assert world.states() == ["running"]
    go.touch()
    status = world.host().state_dir / "status"
    until(lambda: any(path.suffix == ".json" for path in status.iterdir()), "its note is there")
