"""B22: a claim whose answer was lost is found again and started (claims.md B22). On SQLite too.

On PostgreSQL the answer is lost on a real wire: the write commits, its answer is held by a proxy, and the connection is
broken. A file has no wire: on SQLite, and there alone does a test need it, the answer is thrown away in the scheduler.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import make_url

from pyscheduler.cluster import Ticked
from pyscheduler.errors import StoreUnavailable
from pyscheduler.store.claims import Claims
from tests.conformance.cluster.gates import Gate, by_way_of, gate
from tests.conformance.cluster.kit import World, until
from tests.faults.cluster.proxy import Proxy, network


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


def lose_an_answer(world: World, shut: Gate, proxy: Proxy, step: str) -> None:
    """Let the write that stands at the gate commit, and its answer be lost; again, where it has given up waiting."""

    def is_committed() -> bool:
        return any(row.state == "running" or (step == "claim" and row.owner is not None) for row in world.runs())

    while True:
        until(shut.is_stood_at, "somebody stands at the gate")
        proxy.cut("down")
        if shut.is_stood_at():
            shut.open()
            until(lambda: is_committed() or shut.nobody_writes(), "the write is made, or given up")
            if is_committed():
                break
            shut.shut()
        proxy.heal()
    proxy.reset()
    proxy.heal()


@pytest.mark.parametrize("step", ["claim", "start"])
def test_an_answer_that_is_lost_on_the_wire_leaves_nothing_behind(two_hosts: World, step: str) -> None:
    """The same with nothing of the scheduler replaced: its wire to the store is deaf, and then broken."""
    world = two_hosts
    assert world.store is not None
    at = make_url(world.store)
    assert at.host is not None
    with network() as net:
        proxy = net.proxy(at.host, at.port or 5432)
        worker = world.scheduler(world.minutely(), by=by_way_of(world.store, "127.0.0.1", proxy.port))
        worker.tick()
        ends: list[Ticked] = []
        thread = threading.Thread(target=lambda: ends.append(worker.work(sleep=0.1)))
        with gate(world.store, step) as shut:
            shut.shut()
            thread.start()
            world.at(1)
            lose_an_answer(world, shut, proxy, step)
            until(lambda: world.states() == ["succeeded"])
        worker.stop()
        thread.join()
    assert (ends[0].started, ends[0].done) == (1, 1)
    assert world.effects("end") == ["job.2027-05-20.1"]
