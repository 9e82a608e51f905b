"""From hints to a loop: what a listening thread hears, told on the loop of who waits for it. DESIGN 6, "NOTIFY a hint".

What must always hold: many hints are one word when they come faster than the loop turns; a loop that is over is told
nothing more. Nothing rests on what is told here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from pyscheduler.store.hints import Hint, Hints, NoHints

Told = Callable[[frozenset[Hint]], None]


class Ear:
    """Listens for one loop, the running one. `told` is called on it. It closes `hints`, which are its own."""

    def __init__(self, hints: Hints | None, told: Told) -> None:
        self._hints: Hints = hints or NoHints()
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._guard = threading.Lock()
        self._waiting = set[Hint]()
        self._leave = self._hints.subscribe(self._hear)

    @property
    def listening(self) -> bool:
        """Whether a hint may be counted on to shorten a wait."""
        return self._hints.listening

    def close(self) -> None:
        """Hear nothing more. Blocking, for a moment."""
        self._leave()
        self._hints.close()

    def _hear(self, hints: frozenset[Hint]) -> None:
        with self._guard:
            is_first = not self._waiting
            self._waiting |= hints
        if is_first:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        with self._guard:
            hints, self._waiting = frozenset(self._waiting), set()
        self._told(hints)
