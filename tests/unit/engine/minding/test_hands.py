"""Many small calls make one trip to the threads, and each caller hears of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from pyscheduler.engine.minding.hands import Hands, Together

PATIENCE_S = 60.0
"""Longer than anything here takes on a busy machine; a test that needs all of it has failed."""


class Files:
    """Work that a test lets go on, and the groups it was asked for."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.go_on = threading.Event()
        self.bug = False

    def __call__(self, paths: Sequence[str]) -> list[OSError | None]:
        self.groups.append(list(paths))
        self.go_on.wait(PATIENCE_S)
        if self.bug:
            raise ZeroDivisionError
        return [FileExistsError(path) if path.startswith("bad") else None for path in paths]


@pytest.fixture
def hands() -> Iterator[Hands]:
    hands = Hands()
    yield hands
    hands.close()


async def begun(files: Files, trips: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(files.groups) < trips:
            await asyncio.sleep(0.001)


async def test_what_is_asked_for_meanwhile_travels_together(hands: Hands) -> None:
    """One trip takes what one turn of the loop asks for; a second takes all that came while the first was away."""
    files = Files()
    together = Together(hands, files)
    early = [asyncio.ensure_future(together(name)) for name in ("a", "b")]
    await begun(files, 1)
    late = [asyncio.ensure_future(together(name)) for name in ("c", "d", "e")]
    await asyncio.sleep(0)
    files.go_on.set()
    await asyncio.gather(*early, *late)
    assert files.groups == [["a", "b"], ["c", "d", "e"]]
    await together("f")
    assert files.groups[2:] == [["f"]]


async def test_whoever_asks_as_a_trip_comes_home_sets_out_anew(hands: Hands) -> None:
    """A second caller so many turns of the loop after the first, whatever the trip is at just then: each is served."""
    files = Files()
    files.go_on.set()
    together = Together(hands, files)
    async with asyncio.timeout(PATIENCE_S):
        for turns in list(range(40)) * 20:
            first = asyncio.ensure_future(together("a"))
            for _ in range(turns):
                await asyncio.sleep(0)
            await together("b")
            await first


async def test_each_hears_of_its_own_error(hands: Hands) -> None:
    """One path that cannot be worked on fails its own caller and nobody else."""
    files = Files()
    files.go_on.set()
    answers = await asyncio.gather(*map(Together(hands, files), ("a", "bad", "c")), return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), FileExistsError, type(None)]


async def test_a_fault_of_ours_reaches_everybody(hands: Hands) -> None:
    """A trip that fails whole answers all who travelled, and the next sets out all the same."""
    files = Files()
    files.go_on.set()
    files.bug = True
    together = Together(hands, files)
    answers = await asyncio.gather(together("a"), together("b"), return_exceptions=True)
    assert [type(answer) for answer in answers] == [ZeroDivisionError, ZeroDivisionError]
    files.bug = False
    await together("c")


@pytest.mark.parametrize("answer", [[None], [None, 0], ()])
async def test_an_answer_that_makes_no_sense_leaves_nobody_waiting(hands: Hands, answer: Sequence[None]) -> None:
    """Too few answers, or something that is no error: our bug is told to whoever would else wait for ever."""
    together = Together(hands, lambda _paths: answer)
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(together("a"), together("b"), return_exceptions=True)
    assert isinstance(answers[1], ValueError | TypeError)


async def test_a_cancelled_caller_waits_for_its_file(hands: Hands) -> None:
    """Whoever comes next must see what was done: the cancelled caller is gone only when the file has been touched."""
    files = Files()
    together = Together(hands, files)
    caller = asyncio.ensure_future(together("a"))
    await begun(files, 1)
    caller.cancel()
    await asyncio.sleep(0.01)
    assert not caller.done()
    files.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller


@pytest.mark.parametrize("turns", [1, 2, 5])
async def test_the_end_of_a_loop_leaves_nobody_waiting(hands: Hands, turns: int) -> None:
    """Callers and trip are cancelled together, before the trip has set out or while it is away."""
    files = Files()
    files.go_on.set()
    before = asyncio.all_tasks()
    caller = asyncio.ensure_future(Together(hands, files)("a"))
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks() - before:
        task.cancel()
    await asyncio.wait([caller], timeout=PATIENCE_S)
    assert caller.done()
