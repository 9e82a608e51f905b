"""When `work` looks for what is due: also what it hears while it looks counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.cluster.agenda import Agenda
from pyscheduler.cluster.making import Made
from pyscheduler.errors import StoreUnavailable
from pyscheduler.store.claims import Timing

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
SWEEP_S = Timing().sweep_s


class Maker:
    """Makes nothing; `during` is called while it does."""

    def __init__(self, made: Made) -> None:
        self.made, self.during = made, list[Callable[[], None]]()

    def make(self, _now: datetime) -> Made:
        while self.during:
            self.during.pop()()
        return self.made


def an_agenda(made: Made) -> tuple[Agenda, Maker]:
    async def call(work: Callable[[], Any]) -> Any:
        return work()

    maker = Maker(made)
    claims = SimpleNamespace(ripe_at=lambda: (NOON, None), timing=Timing())
    clock = SimpleNamespace(boottime=lambda: 1000.0)
    shift = SimpleNamespace(call=call, claims=claims, works={}, clock=clock, tally=None)
    return Agenda(cast("Any", shift), cast("Any", maker), None, 60.0), maker


async def test_an_end_that_is_heard_of_during_a_look_is_looked_at_next() -> None:
    """What waits for it may be due now, and this look may not have seen it."""
    agenda, maker = an_agenda(Made(waits=True))
    await agenda.look()
    assert agenda.left_s == SWEEP_S
    agenda.ended()
    maker.during.append(agenda.ended)
    await agenda.look()
    assert agenda.left_s == 0.0
    await agenda.look()
    assert agenda.left_s == SWEEP_S


async def test_a_look_that_failed_is_made_again() -> None:
    """At once, as far as this is concerned: who calls waits as long as the store is out of reach."""
    agenda, maker = an_agenda(Made())

    def fail() -> None:
        raise StoreUnavailable("away")

    maker.during.append(fail)
    with pytest.raises(StoreUnavailable):
        await agenda.look()
    assert agenda.left_s == 0.0
    await agenda.look()
    assert agenda.left_s == SWEEP_S
