"""What a node does not begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any, cast

from pyscheduler.cluster.node import Node
from pyscheduler.engine.clock import FakeClock
from pyscheduler.model.run import Trigger
from pyscheduler.store.claims import Claim, Held, Start, Timing
from pyscheduler.testing import FakeLauncher

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
CLAIM = Claim(
    run_id="load.2026-10-19.1",
    token=3,
    job="load",
    run_date=date(2026, 10, 19),
    scheduled_at=NOON,
    trigger=Trigger.MANUAL,
    attempt=0,
    config_version=1,
    claimed_at=NOON,
)


class Store:
    """Gives one claim, and remembers what became of it. `during` is called while it is being given."""

    timing, me = Timing(), SimpleNamespace(inc_id="i", capacity=4)

    def __init__(self, during: Callable[[], None]) -> None:
        self.during, self.handed_back, self.asked = during, list[Held](), 0

    def claim(self, _room: int) -> list[Claim]:
        self.asked += 1
        self.during()
        return [CLAIM]

    def hand_back(self, claims: Iterable[Held]) -> None:
        self.handed_back += claims

    def start(self, starts: Iterable[Start]) -> set[str]:
        raise AssertionError(f"started {list(starts)}")


class Recipes:
    async def order(self, *_given: object) -> tuple[Any, None]:
        return SimpleNamespace(attempt=None), None


async def test_who_rests_claims_nothing_and_hands_back_what_it_was_claiming() -> None:
    """From the signal on nothing is started, though the process lives on for a while."""
    node: Node
    store = Store(lambda: node.rest())
    clock = FakeClock(NOON)
    node = Node(cast("Any", store), FakeLauncher(clock), clock, cast("Any", Recipes()), boot_id="b")
    node.heart = cast("Any", SimpleNamespace(trusted=True, alive=lambda: None))
    running = asyncio.ensure_future(node.run())
    while not (store.handed_back or running.done()):
        await asyncio.sleep(0)
    assert store.handed_back == [Held(CLAIM.run_id, CLAIM.token)]
    assert await node._claim_and_start() is False
    assert store.asked == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
