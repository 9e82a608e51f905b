"""Many calls as one: what comes while a call is under way goes together in the next. DESIGN 6, "many runs in one
transaction".

What must always hold: each caller gets the answer for what he gave, and an error only where what he gave was part of
the call that failed. With `apart` a call of many that failed is made again one by one, so that one that cannot be done
holds up nobody for good; that is for what may be done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

Asked = tuple[A, "asyncio.Future[B]"]

MOST: Final = 200
TWICE: Final = 2


class Together(Generic[A, B]):
    """See above. `do` answers for each of many, in their order. Belongs to one loop."""

    def __init__(self, do: Callable[[Sequence[A]], Awaitable[Sequence[B]]], *, apart: bool = False) -> None:
        self._do, self._apart = do, apart
        self._waiting: list[Asked[A, B]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, one: A) -> B:
        """Do one, with whatever else waits. Raises what `do` raises."""
        answer: asyncio.Future[B] = asyncio.get_running_loop().create_future()
        self._waiting.append((one, answer))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while group := self._waiting[:MOST]:
                del self._waiting[: len(group)]
                await self._do_some(group)
        finally:
            self._task = None

    async def _do_some(self, group: Sequence[Asked[A, B]]) -> None:
        """Do these in one call, or one by one where that failed; two that fail in a row speak for the rest."""
        error = await self._call(group)
        if error is not None and self._apart and len(group) > 1:
            failed = 0
            for number, each in enumerate(group):
                error = await self._call([each])
                failed = 0 if error is None else failed + 1
                if error is not None:
                    _fail([each] if failed < TWICE else group[number:], error)
                if failed == TWICE:
                    return
        elif error is not None:
            _fail(group, error)

    async def _call(self, group: Sequence[Asked[A, B]]) -> Exception | None:
        try:
            answers = await self._do([one for one, _ in group])
            if len(answers) != len(group):
                raise RuntimeError(f"bug: {len(answers)} answers to {len(group)} questions")
        except Exception as error:  # noqa: BLE001 - it is the callers'
            return error
        for (_, answer), found in zip(group, answers, strict=True):
            if not answer.done():
                answer.set_result(found)
        return None


def _fail(group: Sequence[Asked[A, B]], error: Exception) -> None:
    for _, answer in group:
        if not answer.done():
            answer.set_exception(error)
