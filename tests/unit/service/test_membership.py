"""When a scheduler tries to lead again that was asked to hand over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.engine.clock import FakeClock
from pyscheduler.errors import StoreUnavailable
from pyscheduler.service import membership
from pyscheduler.service.membership import FREE_S, Membership
from pyscheduler.store.claims import AuthorityRow, Timing
from pyscheduler.testing import FakeLauncher

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
FREE = AuthorityRow(
    epoch=1, holder="me", hb_seq=1, lease_until=NOON, released=True, address="", node="a", renewed_at=NOON, now=NOON
)
OTHERS = replace(FREE, epoch=2, holder="other", released=False, lease_until=NOON + timedelta(days=1), node="b")


class Claims:
    """The authority's row as a test has it."""

    me = SimpleNamespace(inc_id="me")

    def __init__(self) -> None:
        self.row = replace(FREE, epoch=0)

    def authority(self) -> AuthorityRow:
        return self.row

    def take_authority(self, _seen: object) -> int:
        self.row = replace(FREE, epoch=self.row.epoch + 1, released=False, lease_until=NOON + timedelta(days=1))
        return self.row.epoch


class Office:
    """A member that leads epoch 1, is asked to hand over, and gives the authority back."""

    def __init__(self) -> None:
        self.clock, self.claims = FakeClock(NOON), Claims()
        cluster = SimpleNamespace(timing=Timing())
        settings = SimpleNamespace(store="postgresql+psycopg://db.example/night", state_dir=Path("state"))
        settings.cluster = cluster
        self.member = Membership(
            cast("Any", SimpleNamespace(settings=settings)),
            FakeLauncher(self.clock),
            self.clock,
            environ={},
            allow_inactive=False,
            address="",
        )
        self.member._claims = cast("Any", self.claims)

    async def hand_over(self) -> None:
        self.member._joined.set()
        assert await self.looks() == 1
        self.member.hold_off(30)
        self.claims.row = FREE

    async def looks(self) -> int | None:
        """Return the epoch that a look has won."""
        epoch, _ = await self.member._try(cast("Any", self.claims))
        if epoch is not None:
            self.member._won(epoch)
        return epoch


@pytest.fixture
async def office() -> Office:
    made = Office()
    await made.hand_over()
    return made


async def test_it_lets_another_have_it(office: Office) -> None:
    """At first; but nobody is without a scheduler for longer than a moment because the others cannot lead."""
    assert await office.looks() is None
    await office.clock.advance(timedelta(seconds=FREE_S / 2))
    assert await office.looks() is None
    await office.clock.advance(timedelta(seconds=FREE_S / 2))
    assert await office.looks() == 2


async def test_it_leads_again_when_another_has_led(office: Office) -> None:
    """A drill right after a drill: the second one is asked while the first one's wish still holds."""
    office.claims.row = OTHERS
    assert await office.looks() is None
    office.claims.row = replace(OTHERS, released=True)
    assert await office.looks() == 3


async def test_it_leads_again_though_it_never_saw_the_other_lead(office: Office) -> None:
    """The epoch says that somebody has."""
    office.claims.row = replace(OTHERS, released=True)
    assert await office.looks() == 3


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (OTHERS, "b"),
        (replace(OTHERS, node=""), "other"),
        (replace(OTHERS, released=True), ""),
        (replace(OTHERS, lease_until=NOON - timedelta(1)), ""),
        (replace(OTHERS, holder="me"), ""),
        (None, ""),
    ],
)
async def test_who_is_known_to_lead(row: AuthorityRow | None, name: str) -> None:
    """Another, whose lease holds."""
    assert Office().member.other_that_leads(row) == name


async def test_a_look_that_fails_is_remembered_until_one_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the answers can say why nobody is known to lead, and that it is over."""
    office, stop = Office(), asyncio.Event()
    office.member._joined.set()
    looks: list[object] = [StoreUnavailable("the server cannot be reached", where="db.example"), OTHERS]

    async def look(_claims: object) -> tuple[None, AuthorityRow]:
        found = looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return None, cast("AuthorityRow", found)

    heard = list[object]()

    def on_wait(row: AuthorityRow | None) -> None:
        heard.append((row, office.member.cut_off))
        if row is not None:
            stop.set()

    monkeypatch.setattr(office.member, "_try", look)
    failure = looks[0]
    monkeypatch.setattr(membership, "LOOK_S", 0.01)
    assert await office.member.win(stop, on_wait) is None
    assert heard == [(None, failure), (OTHERS, None)]


async def test_a_lease_that_ends_soon_is_looked_at_just_after_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not up to a second later; one that goes on is looked at once a second, one that is over five times."""
    office, stop = Office(), asyncio.Event()
    office.member._joined.set()
    rows = [OTHERS, replace(OTHERS, lease_until=NOON + timedelta(seconds=0.4)), replace(OTHERS, lease_until=NOON)]
    rows.append(replace(OTHERS, lease_until=NOON - timedelta(seconds=1)))
    waits = list[float]()

    async def look(_claims: object) -> tuple[None, AuthorityRow]:
        return None, rows.pop(0)

    async def pause(_stop: object, seconds: float) -> None:
        waits.append(seconds)
        if not rows:
            stop.set()

    monkeypatch.setattr(office.member, "_try", look)
    monkeypatch.setattr(office.member, "_pause", pause)
    assert await office.member.win(stop, lambda _row: None) is None
    soon = membership.JUST_AFTER_S
    assert waits == [membership.LOOK_S, pytest.approx(0.4 + soon), pytest.approx(soon), membership.LOOK_OFTEN_S]
