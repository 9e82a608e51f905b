"""One answer for all who ask the same at the same moment: fifty consoles hear of a change at once, and all look.

An answer is kept for KEPT_S from when it was first asked for. The key must name whatever the answer depends on; what
is worked out within that time is shared, an error as well. Lives on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

KEPT_S: Final = 0.5
MOST: Final = 200
"""Answers kept at once; beyond that each is worked out alone."""


class Shared(Generic[T]):
    """Answers under way and just given, by key."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, asyncio.Future[T]] = {}

    async def once(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Return the answer for a key, worked out by whoever comes first. Raises what `make` raises."""
        answer = self._answers.get(key)
        if answer is None:
            answer = asyncio.ensure_future(make())
            if len(self._answers) < MOST:
                self._answers[key] = answer
                asyncio.get_running_loop().call_later(KEPT_S, self._answers.pop, key, None)
        return await asyncio.shield(answer)
