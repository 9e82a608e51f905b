"""Many calls as one: who gets which answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pyscheduler.cluster.together import Together


async def test_what_comes_while_a_call_is_under_way_goes_together_in_the_next() -> None:
    """The first is not made to wait for others, and each gets his own answer."""
    calls, gate = list[list[int]](), asyncio.Event()

    async def double(many: Sequence[int]) -> list[int]:
        calls.append(list(many))
        await gate.wait()
        return [2 * one for one in many]

    together = Together(double)
    asked = [asyncio.ensure_future(together(1))]
    while not calls:
        await asyncio.sleep(0)
    asked += [asyncio.ensure_future(together(each)) for each in (2, 3, 4)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*asked) == [2, 4, 6, 8]
    assert calls == [[1], [2, 3, 4]]


async def test_one_that_cannot_be_done_fails_alone_where_calls_may_be_repeated() -> None:
    """The others are done without it."""

    async def invert(many: Sequence[int]) -> list[float]:
        return [1 / one for one in many]

    together = Together(invert, apart=True)
    answers = await asyncio.gather(*map(together, (1, 0, 2)), return_exceptions=True)
    assert answers[::2] == [1, 0.5]
    assert isinstance(answers[1], ZeroDivisionError)


async def test_where_they_may_not_all_of_a_call_fail() -> None:
    """Nothing is tried a second time by itself; the next call is none of theirs."""
    seen = list[list[int]]()

    async def fail(many: Sequence[int]) -> list[int]:
        seen.append(list(many))
        raise OSError

    together = Together(fail)
    answers = await asyncio.gather(*map(together, (1, 2)), return_exceptions=True)
    assert all(isinstance(answer, OSError) for answer in answers)
    assert seen == [[1, 2]]
    with pytest.raises(OSError):
        await together(3)
    assert seen == [[1, 2], [3]]


async def test_who_does_not_wait_any_more_is_in_nobodys_way() -> None:
    """A caller that was cancelled changes nothing for the others of his call."""

    async def same(many: Sequence[int]) -> list[int]:
        return list(many)

    together = Together(same)
    one, other = (asyncio.ensure_future(together(each)) for each in (1, 2))
    await asyncio.sleep(0)
    one.cancel()
    assert await other == 2


async def test_whoever_asks_is_told_of_a_call_that_answers_for_others() -> None:
    """An answer too few is our bug; nobody waits for ever for it."""

    async def forget_one(many: Sequence[int]) -> list[int]:
        return list(many)[1:]

    with pytest.raises(RuntimeError, match="bug: 0 answers to 1 questions"):
        await Together(forget_one)(1)
