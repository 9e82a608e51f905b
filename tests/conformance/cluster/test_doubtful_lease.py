"""A pass whose lease is in doubt when it comes to claim: it waits for the next beat, and says so where none comes."""

from __future__ import annotations

import pytest

from pyscheduler.engine.clock import SystemClock
from pyscheduler.errors import StoreUnavailable
from pyscheduler.store.claims import Beat, Claims
from tests.conformance.cluster.kit import LEASE_S, World, numbers


class Sleepy(SystemClock):
    """The clock of a machine that was asleep for so many seconds in all."""

    slept_s = 0.0

    def boottime(self) -> float:
        return super().boottime() + self.slept_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Sleepy:
    """Let the machine sleep for a lease whenever runs have been made and are not claimed yet."""
    made, plain = Sleepy(), Claims.resign

    def resign(self: Claims, epoch: int) -> None:
        plain(self, epoch)
        made.slept_s += LEASE_S

    monkeypatch.setattr(Claims, "resign", resign)
    return made


def test_what_a_pass_has_made_is_run_by_it(world: World, clock: Sleepy) -> None:
    """A slow machine is no reason to say that nothing was due."""
    scheduler = world.scheduler(world.minutely(), clock=clock)
    scheduler.tick()
    world.at(1)
    assert numbers(scheduler.tick()) == (1, 0, 0)
    assert world.states() == ["succeeded"]


def test_a_pass_that_cannot_renew_its_lease_says_so(
    world: World, clock: Sleepy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It claims nothing, and raises; the run stays due, and the next pass runs it."""
    monkeypatch.setattr("pyscheduler.cluster.shift.PATIENCE_S", 0.0)
    scheduler = world.scheduler(world.minutely(), clock=clock)
    scheduler.tick()
    world.at(1)

    def unheard(_claims: Claims) -> Beat | None:
        raise StoreUnavailable("no beat comes through")

    with monkeypatch.context() as broken:
        broken.setattr(Claims, "heartbeat", unheard)
        with pytest.raises(StoreUnavailable, match="could not renew its lease for 2 s"):
            scheduler.tick()
    assert world.states() == ["queued"]
    assert world.effects() == []
    assert numbers(scheduler.tick()) == (1, 0, 0)
