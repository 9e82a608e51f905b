"""What a thread hears is told on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pyscheduler.cluster.ear import Ear
from pyscheduler.store.hints import EVERY, Heard, Hint


class Hints:
    """Says what the test wants."""

    listening = True

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.is_closed = False

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        self.heard.append(heard)
        return lambda: self.heard.remove(heard)

    def close(self) -> None:
        self.is_closed = True


async def test_hints_that_come_together_are_told_together() -> None:
    """A rush of them costs the loop one turn."""
    hints, told = Hints(), list[frozenset[Hint]]()
    ear = Ear(hints, told.append)
    for hint in (Hint.NEWS, Hint.NEWS, Hint.OFFERED):
        await asyncio.to_thread(hints.heard[0], frozenset({hint}))
    while not told:
        await asyncio.sleep(0)
    assert set[Hint]().union(*told) == {Hint.NEWS, Hint.OFFERED}
    hints.heard[0](EVERY)
    hints.heard[0](frozenset({Hint.FREE}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert told[-1] == EVERY
    ear.close()
    assert hints.is_closed
    assert not hints.heard


async def test_a_store_in_a_file_says_nothing() -> None:
    """And nobody counts on it."""
    ear = Ear(None, lambda _: None)
    assert not ear.listening
    ear.close()
