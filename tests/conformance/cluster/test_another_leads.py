"""A pass that another scheduler's lead keeps from making runs: it says so, and follows a dead leader. claims.md C3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscheduler.model.lease import Identity
from pyscheduler.rules.leases import timing
from pyscheduler.store.claims import Claims
from pyscheduler.store.claims.opening import open_door
from tests.conformance.cluster.command import NEVER, Typed
from tests.conformance.cluster.kit import SHORT, World, until


@contextmanager
def a_dead_leader(world: World, **times: float) -> Iterator[Claims]:
    """Give the store, led by an incarnation of another machine that never beats."""
    place = world.place()
    me = Identity(inc_id="dead", host_id="elsewhere", boot_id="b", pid_ns="n", pid=1, start_ticks=1, node="batch2")
    claims = Claims(open_door(place["store"], Path(place["state_dir"])), me, timing(**times))
    claims.register()
    assert claims.take_authority() is not None
    yield claims
    claims.close()


def test_passes_of_one_shot_follow_a_dead_leader(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them can watch; the mark of an earlier one does. Until then each says that nothing was made."""
    monkeypatch.setattr("pyscheduler.cluster.scheduler.PATIENCE_S", 0.0)
    world.scheduler(world.minutely()).tick()
    world.at(1)
    with a_dead_leader(world, **SHORT):
        held_off = world.scheduler(world.minutely()).tick().held_off
        assert held_off.startswith("another scheduler (batch2) leads, heard of ")
        until(lambda: world.scheduler(world.minutely()).tick().started == 1, "a later pass makes the run")
    assert world.states() == ["succeeded"]


def test_a_pass_that_was_held_off_does_not_say_that_nothing_is_due(world: World) -> None:
    """Its exit code is neither that of a pass that was let nor that of a failure."""
    typed = Typed(world)
    typed.write({"job": f'{{command: "true", schedule: "{NEVER}"}}'})
    with a_dead_leader(world, authority_lease=3600.0, authority_heartbeat=3.0, authority_observe=9.0):
        code, out, _ = typed.run("tick", "--json")
        assert (code, json.loads(out)["started"]) == (3, 0)
        assert json.loads(out)["held_off"].endswith(" s ago; nothing was made")
        code, out, _ = typed.run("tick")
        assert code == 3
        assert "another scheduler (batch2) leads, heard of " in out
