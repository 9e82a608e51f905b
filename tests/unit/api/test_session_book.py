"""The sessions in memory, and what the store is told of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from pyscheduler.api import session_book
from pyscheduler.api.session_book import AGENT_CHARACTERS, LIFE, MOST_EACH, SessionBook, hash_of
from pyscheduler.errors import NotFound, StoreUnavailable
from pyscheduler.model.batch import Batch, merged
from tests.contract.store_kit import NOON, a_session


class Desk:
    """A book, a clock that is moved by hand, and all that was saved."""

    def __init__(self) -> None:
        self.now: datetime = NOON
        self.saved: list[Batch] = []
        self.is_broken = False
        self.book = SessionBook(self._save, lambda: self.now)
        self.book.load(())

    async def _save(self, batch: Batch) -> None:
        if self.is_broken:
            raise StoreUnavailable("the disk is gone")
        self.saved.append(batch)

    @property
    def remembered(self) -> Batch:
        return merged(self.saved)

    async def open(self, user: str = "ann") -> str:
        cookie, _ = await self.book.open(user, "proof", address="192.0.2.1", agent="browser")
        return cookie


async def test_a_cookie_finds_its_session_until_eight_hours_are_over() -> None:
    """Whatever was done meanwhile."""
    desk = Desk()
    cookie = await desk.open()
    found = desk.book.find(cookie)
    assert found is not None
    assert found.user == "ann"
    desk.now = NOON + LIFE - timedelta(microseconds=1)
    assert desk.book.find(cookie) is not None
    desk.now = NOON + LIFE
    assert desk.book.find(cookie) is None


async def test_nothing_that_could_open_a_session_is_remembered() -> None:
    """Neither the book nor the store holds the cookie's value."""
    desk = Desk()
    cookie = await desk.open()
    assert cookie not in repr(desk.saved)
    assert desk.remembered.sessions[0].session_hash == hash_of(cookie)


async def test_a_session_that_could_not_be_saved_was_never_opened() -> None:
    """No cookie is given out that a restart would not know."""
    desk = Desk()
    desk.is_broken = True
    with pytest.raises(StoreUnavailable):
        await desk.open()
    assert desk.book.live() == []


@pytest.mark.parametrize("cookie", ["", "x", "x" * 43, "=" * 43, "\udcff" * 43, "x" * 100_000])
async def test_what_is_no_cookie_of_ours_finds_nothing(cookie: str) -> None:
    """And costs nothing."""
    desk = Desk()
    await desk.open()
    assert desk.book.find(cookie) is None


async def test_a_revoked_session_is_over_at_once_and_for_good() -> None:
    """Also where the store cannot write it down: that is made up for at the next tidying."""
    desk = Desk()
    cookie, other = await desk.open(), await desk.open("bob")
    desk.is_broken = True
    with pytest.raises(StoreUnavailable):
        await desk.book.revoke(lambda each: each.user == "ann", "root")
    assert desk.book.find(cookie) is None
    assert desk.book.find(other) is not None
    desk.is_broken = False
    await desk.book.tidy()
    (revoked,) = [each for each in desk.remembered.sessions if each.session_hash == hash_of(cookie)]
    assert (revoked.revoked_at, revoked.revoked_by) == (NOON, "root")


async def test_being_seen_is_written_down_when_tidying_and_only_then() -> None:
    """A page that asks ten times a second costs the disk nothing."""
    desk = Desk()
    cookie = await desk.open()
    for second in range(1, 50):
        desk.now = NOON + timedelta(seconds=second)
        desk.book.find(cookie)
    assert len(desk.saved) == 1
    await desk.book.tidy()
    await desk.book.tidy()
    assert len(desk.saved) == 2
    assert desk.remembered.sessions[0].seen_at == NOON + timedelta(seconds=49)


async def test_what_is_over_is_forgotten_everywhere() -> None:
    """And those that ended by themselves are told of, those that were revoked were told of before."""
    desk = Desk()
    cookie, revoked = await desk.open(), await desk.open("bob")
    await desk.book.revoke(lambda each: each.user == "bob", "root")
    desk.now = NOON + LIFE
    assert [each.session_hash for each in await desk.book.tidy()] == [hash_of(cookie)]
    assert set(desk.remembered.deleted_sessions) == {hash_of(cookie), hash_of(revoked)}
    assert desk.remembered.sessions == ()


async def test_a_restart_knows_who_had_signed_in() -> None:
    """Not who is over, nor who was revoked."""
    desk = Desk()
    cookie = await desk.open()
    (session,) = desk.remembered.sessions
    over = a_session("e" * 64, expires_at=NOON)
    revoked = replace(session, session_hash="f" * 64, revoked_at=NOON)
    again = Desk()
    again.book.is_loaded = False
    again.book.load([session, over, revoked])
    assert again.book.find(cookie) == session
    assert [each.session_hash for each in again.book.live()] == [session.session_hash]
    await again.book.tidy()
    assert again.remembered.deleted_sessions == (over.session_hash,)


async def test_loading_twice_brings_nobody_back() -> None:
    """What memory knows is newer than what the store does."""
    desk = Desk()
    cookie = await desk.open()
    (session,) = desk.remembered.sessions
    await desk.book.revoke(lambda _: True, "root")
    desk.book.load([session])
    assert desk.book.find(cookie) is None


async def test_one_user_has_so_many_sessions_and_no_more() -> None:
    """The oldest makes room, and another user's does not."""
    desk = Desk()
    other, first = await desk.open("bob"), await desk.open()
    for minute in range(1, MOST_EACH + 1):
        desk.now = NOON + timedelta(minutes=minute)
        await desk.open()
    assert len([each for each in desk.book.live() if each.user == "ann"]) == MOST_EACH
    assert desk.book.find(first) is None
    assert desk.book.find(other) is not None
    revoked = [each for each in desk.remembered.sessions if each.revoked_at is not None]
    assert [each.session_hash for each in revoked] == [hash_of(first)]


async def test_there_are_so_many_sessions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all users together: the oldest of all makes room."""
    monkeypatch.setattr(session_book, "MOST", 3)
    desk = Desk()
    cookies = []
    for minute in range(4):
        desk.now = NOON + timedelta(minutes=minute)
        cookies.append(await desk.open(f"user{minute}"))
    assert [desk.book.find(cookie) is not None for cookie in cookies] == [False, True, True, True]


async def test_people_call_a_session_by_the_beginning_of_its_hash() -> None:
    """A live one; no other name finds one."""
    desk = Desk()
    cookie = await desk.open()
    assert desk.book.named(hash_of(cookie)[:12]).user == "ann"
    for wrong in ("", hash_of(cookie), "x" * 12):
        with pytest.raises(NotFound):
            desk.book.named(wrong)


async def test_what_a_browser_says_of_itself_is_kept_short_and_printable() -> None:
    """It is shown to admins."""
    desk = Desk()
    _, session = await desk.book.open("ann", "p", address="", agent="a\x1b[31m\n" + "b" * 1000)
    assert session.agent == ("a[31m" + "b" * 1000)[:AGENT_CHARACTERS]
