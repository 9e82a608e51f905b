"""Schedulers of different jobs on one store: each takes, adopts and ends runs of its own jobs only."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from pyscheduler.cluster import Schedule, Scheduler, Task, TaskFailed
from pyscheduler.errors import Conflict
from pyscheduler.model.lease import OnLost
from pyscheduler.store import schema
from pyscheduler.store.claims.words import db_now
from pyscheduler.store.statements import compiled
from tests.conformance.cluster.kit import World, numbers, task, until

SLOW = "slow.2027-05-20.1"


def test_a_run_of_a_job_that_one_does_not_have_is_left_to_who_has_it(world: World) -> None:
    """Whatever the run says of where it may run, as one does that `serve` has offered."""
    slow = Task("slow", "* * * * *", world.command())
    world.scheduler(slow).tick()
    world.at(1)
    hand = world.hand(task("slow", world.command(gated=True)))
    hand.do("tick")
    until(world.effects, "it was made and runs")
    world.open_gate(SLOW)
    hand.answer()
    offer_again(world)
    other = world.scheduler(world.minutely())
    other.tick()
    assert world.states() == ["queued"]
    assert numbers(world.scheduler(slow).tick()) == (1, 0, 0)
    assert world.states() == ["succeeded"]


def test_a_run_of_ones_own_that_serve_has_made_is_not_run(world: World) -> None:
    """What becomes of it is the engine's to say; the run is given back."""
    slow = Task("slow", "* * * * *", world.command())
    world.scheduler(slow).tick()
    world.at(1)
    world.scheduler(slow).tick()
    offer_again(world, OnLost.ENGINE)
    with pytest.raises(Conflict):
        world.scheduler(slow).tick()
    assert world.states() == ["queued"]


def test_what_a_dead_scheduler_of_other_jobs_started_is_left_alone(world: World) -> None:
    """It is neither adopted nor ended by who does not know its retries; who has the job does both."""
    hand = world.hand(task("slow", world.command("exit 3", gated=True)))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(world.effects, "it runs")
    hand.kill()
    world.open_gate(SLOW)
    until(lambda: world.effects("end"))
    other = world.scheduler(world.minutely())
    for _ in range(5):
        assert other.tick().adopted == 0
    assert world.states() == ["running"]
    heir = world.scheduler(schedule=Schedule(Task("slow", "0 0 1 1 *", "true")))
    until(lambda: ended(heir, world), "its end is found")


def ended(heir: Scheduler, world: World) -> bool:
    """Make a pass; whether it was told of the failure."""
    try:
        heir.tick()
    except TaskFailed:
        return world.states() == ["failed"]
    return False


def offer_again(world: World, on_lost: OnLost = OnLost.RERUN) -> None:
    """Offer the run once more, to anybody."""
    again = compiled(
        update(schema.runs).values(state="queued", offered_at=db_now(), node_tags="[]", on_lost=on_lost.value)
    )
    with world.door() as door:
        door.write(lambda on: on.change(again))
