"""A node whose disk is full (FC-052): it gives back what it has claimed, and claims nothing until there is room."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.cluster.node import Node
from pyscheduler.cluster.room import Room
from pyscheduler.cluster.vouching import LeaseFile
from pyscheduler.engine.clock import FakeClock
from pyscheduler.model.run import Trigger
from pyscheduler.store.claims import Claim, Held, Start, Timing
from pyscheduler.testing import FakeLauncher

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
CLAIM = Claim(
    run_id="load.2027-05-20.1",
    token=3,
    job="load",
    run_date=NOON.date(),
    scheduled_at=NOON,
    trigger=Trigger.MANUAL,
    attempt=0,
    config_version=1,
    claimed_at=NOON,
)
FULL = Path("/dev/full")
"""A file: nothing can be written below it, whoever asks. A disk that is full says it in another word only."""


class Store:
    """Gives one claim each time it is asked."""

    timing, me = Timing(), SimpleNamespace(inc_id="i", capacity=4)

    def __init__(self) -> None:
        self.handed_back, self.asked = list[Held](), 0

    def claim(self, _room: int) -> list[Claim]:
        self.asked += 1
        return [CLAIM]

    def hand_back(self, claims: Iterable[Held]) -> None:
        self.handed_back += claims

    def start(self, starts: Iterable[Start]) -> set[str]:
        raise AssertionError(f"started {list(starts)}")


class Recipes:
    async def order(self, *_given: object) -> tuple[Any, None]:
        return SimpleNamespace(attempt=None), None


@pytest.mark.parametrize("full", ["folders", "word"])
async def test_what_was_claimed_is_given_back_and_nothing_more_is_claimed(full: str) -> None:
    """Nothing was started, so no run has failed, and another node may have it.

    The same where it cannot write how long its lease holds: attempts of `on_uncertain: stop` would end at once.
    """
    store, clock = Store(), FakeClock(NOON)
    recipes = cast("Any", Recipes())
    wrong: dict[str, Any] = {"folders": (FULL,)} if full == "folders" else {"word": LeaseFile(FULL, "i", Timing())}
    node = Node(cast("Any", store), FakeLauncher(clock), clock, recipes, boot_id="b", **wrong)
    node.heart = cast("Any", SimpleNamespace(trusted=True, alive=lambda: None))
    await node._claim_and_start()
    assert store.handed_back == [Held(CLAIM.run_id, CLAIM.token)]
    await clock.advance(timedelta(seconds=10))
    assert await node._claim_and_start() is False
    assert store.asked == 1


async def test_room_is_looked_for_again_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once a second at most; nothing is left behind."""
    clock, folder = FakeClock(NOON), tmp_path / "state"
    folder.touch()
    room = Room((folder,), clock.boottime)
    with caplog.at_level(logging.WARNING):
        assert not room.has()
        folder.unlink()
        assert not room.has(), "it was looked a moment ago"
        await clock.advance(timedelta(seconds=1))
        assert room.has()
        assert room.has()
    assert not room.lacks
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert list(folder.iterdir()) == []
