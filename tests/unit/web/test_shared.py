"""What many ask at once is worked out once."""

from __future__ import annotations

import asyncio

import pytest

from pyscheduler.web.shared import MOST, Shared


async def test_those_who_ask_together_share_the_answer() -> None:
    """Fifty consoles cost as much as one; another question is another answer."""
    asked = 0

    async def make() -> bytes:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return b"rows"

    shared = Shared[bytes]()
    assert await asyncio.gather(*(shared.once("a", make) for _ in range(50))) == [b"rows"] * 50
    assert asked == 1
    await shared.once("b", make)
    assert asked == 2


async def test_one_who_goes_away_takes_nothing_from_the_others() -> None:
    """The first console is closed while its answer is worked out: the second still gets it."""
    go = asyncio.Event()

    async def make() -> bytes:
        await go.wait()
        return b"rows"

    shared = Shared[bytes]()
    first, second = (asyncio.create_task(shared.once("a", make)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    go.set()
    assert await second == b"rows"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_answers_are_bounded() -> None:
    """However many different things are asked, only so many are kept."""

    async def make() -> bytes:
        return b""

    shared = Shared[bytes]()
    for key in range(MOST + 50):
        await shared.once(key, make)
    assert len(shared._answers) == MOST
