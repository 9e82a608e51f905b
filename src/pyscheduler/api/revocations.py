"""Telling whoever holds something open for a caller that the caller may no longer have it.

A stream is let in once and then lasts; when a token or a user is taken away, or a session ends, the streams that were
opened with it must end too. They subscribe here and ask about their own caller.
"""

from __future__ import annotations

from collections.abc import Callable

from pyscheduler.api.callers import Caller

IsGone = Callable[[Caller], bool]
"""Whether this caller would not be let in any more, as the same person with the same rights."""
Told = Callable[[IsGone], None]


class Revocations:
    """Who wants to be told. Everything happens on the loop."""

    def __init__(self) -> None:
        self._told: dict[int, Told] = {}
        self._next = 0

    def subscribe(self, told: Told) -> Callable[[], None]:
        """Have `told` called with a question at each change; returns what ends that."""
        number, self._next = self._next, self._next + 1
        self._told[number] = told

        def unsubscribe() -> None:
            self._told.pop(number, None)

        return unsubscribe

    def tell(self, is_gone: IsGone) -> None:
        """Tell all."""
        for told in list(self._told.values()):
            told(is_gone)
