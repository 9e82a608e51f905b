"""A store that refuses at once is asked ever more seldom: neither it nor the log is flooded."""

from __future__ import annotations

from threading import Thread

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.store.claims import Claims
from tests.conformance.cluster.kit import World, until

REFUSED = "the store cannot be reached"


def test_work_asks_a_refusing_store_ever_more_seldom(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pauses are 0.1, 0.2, 0.4 and 0.8 s, of which a hint may end one; then it goes on as if nothing had been."""

    def refuse(_claims: Claims) -> None:
        raise StoreUnavailable("no connection is to be had")

    world.scheduler(world.minutely()).tick()
    scheduler = world.scheduler(world.minutely())
    with monkeypatch.context() as broken:
        broken.setattr(Claims, "ripe_at", refuse)
        working = Thread(target=scheduler.work, args=(0.01,))
        working.start()
        try:
            until(lambda: len(refusals(caplog)) >= 5)
            broken.undo()
            world.at(1)
            until(lambda: world.states() == ["succeeded"])
        finally:
            scheduler.stop()
            working.join()
    first, *_, fifth = refusals(caplog)[:5]
    assert fifth - first >= 0.69, "a clock may be set by a little"


def refusals(caplog: pytest.LogCaptureFixture) -> list[float]:
    """Return when the store was found out of reach, as the log has it."""
    return [record.created for record in caplog.records if REFUSED in record.getMessage()]
