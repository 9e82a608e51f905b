"""A run that belongs to a fenced scheduler: there is none (claims.md I4), and if there is one it is told (S7)."""

from __future__ import annotations

import pytest

from tests.conformance.cluster.kit import World, task, until
from tests.conformance.cluster.rows import do


def test_a_run_of_a_fenced_owner_is_an_alarm(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Made by hand, since no statement of ours can: each pass names the run, for nobody will ever end it."""
    hand = world.hand(task("job", world.command()), hook=str(world.folder / "hook"))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists())
    hand.kill()
    with world.door() as door:
        do(door, "UPDATE leases SET fenced_at = renewed_at WHERE kind = 'node'")
    world.scheduler(world.minutely()).tick()
    (said,) = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert "job.2027-05-20.1 belong(s) to a scheduler that is fenced" in said.getMessage()
