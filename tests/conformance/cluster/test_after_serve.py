"""A pass on a store that `pysched serve` has had: what serve has looked after is not gone through again. DESIGN 6."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import bindparam, insert

from pyscheduler.store import schema
from pyscheduler.store.statements import compiled
from tests.conformance.cluster.kit import MIDNIGHT, World, numbers

SERVED = compiled(insert(schema.engine).values(key="last_tick", value=bindparam("at")).returning(schema.engine.c.key))


def serve_until(world: World, minutes: float) -> None:
    """Write down that serve has handled every firing up to then; its runs are pruned by now."""
    with world.door() as door:
        at = (MIDNIGHT + timedelta(minutes=minutes)).isoformat()
        door.write(lambda on: on.rows(SERVED, at=at))


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_only_what_came_after_serve_is_made(world: World, overlap: str) -> None:
    """Ten minutes were serve's, the eleventh is ours; a second pass has nothing left."""
    task = world.minutely(overlap=overlap)
    world.scheduler(task).tick()
    serve_until(world, 10.5)
    world.at(11.5)
    assert world.scheduler(task).next_run == MIDNIGHT + timedelta(minutes=11)
    assert numbers(world.scheduler(task).tick()) == (1, 0, 0)
    assert numbers(world.scheduler(task).tick()) == (0, 0, 0)
    assert world.states() == ["succeeded"]
    assert world.scheduler(task).next_run == MIDNIGHT + timedelta(minutes=12)


def test_where_serve_is_further_nothing_is_made(world: World) -> None:
    """Its clock may be ahead of ours: the firing between the two was its own."""
    world.scheduler(world.minutely()).tick()
    serve_until(world, 3.2)
    world.at(2.9)
    assert numbers(world.scheduler(world.minutely()).tick()) == (0, 0, 0)
    assert world.scheduler(world.minutely()).next_run == MIDNIGHT + timedelta(minutes=4)


def test_serve_long_ago_changes_nothing(world: World) -> None:
    """The later of the two marks counts."""
    serve_until(world, -60)
    world.scheduler(world.minutely()).tick()
    world.at(2)
    assert numbers(world.scheduler(world.minutely()).tick()) == (2, 0, 0)
