"""B22: a claim whose answer was lost is found again and started (claims.md B22). On SQLite too."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pyscheduler.cluster import Ticked
from pyscheduler.errors import StoreUnavailable
from pyscheduler.store.claims import Claims
from tests.conformance.cluster.kit import World, until


def lost_once(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Let the first answer of a step be lost: it was committed, and the caller hears that nobody knows."""
    plain = getattr(Claims, name)
    lost: list[str] = []

    def step(self: Claims, *given: Any, **more: Any) -> Any:
        answer = plain(self, *given, **more)
        if answer and not lost:
            lost.append(name)
            error = StoreUnavailable("the connection broke", where="the test")
            error.outcome_unknown = True
            raise error
        return answer

    monkeypatch.setattr(Claims, name, step)
    return lost


@pytest.mark.parametrize("step", ["claim", "start"])
def test_an_answer_that_is_lost_leaves_nothing_behind(world: World, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The owner lives and heartbeats: it reads back what is its own, and the run is run, once."""
    worker = world.scheduler(world.minutely())
    worker.tick()
    world.at(1)
    lost = lost_once(monkeypatch, step)
    ends: list[Ticked] = []
    thread = threading.Thread(target=lambda: ends.append(worker.work(sleep=0.1)))
    thread.start()
    until(lambda: world.states() == ["succeeded"])
    worker.stop()
    thread.join()
    assert lost == [step]
    assert (ends[0].started, ends[0].done) == (1, 1)
    assert world.effects("end") == ["job.2027-05-20.1"]
