"""Those who want to know: of runs, attempts, alerts, reloads, and of the end.

A listener that raises is logged and skipped.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from pyscheduler.model.alert import Raised
from pyscheduler.model.run import Attempt, Run

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., object])
V = TypeVar("V")


class Hooks(Generic[F]):
    """Callables in the order they came, each with a way to leave."""

    def __init__(self) -> None:
        self._hooks: dict[int, F] = {}
        self._ids = itertools.count()

    def add(self, hook: F) -> Callable[[], None]:
        """Add a callable; returns how to take it away again."""
        key = next(self._ids)
        self._hooks[key] = hook

        def leave() -> None:
            self._hooks.pop(key, None)

        return leave

    def __iter__(self) -> Iterator[F]:
        return iter(list(self._hooks.values()))

    def tell(self, value: object) -> None:
        """Call each with the value."""
        if not self._hooks:
            return
        for hook in self:
            try:
                hook(value)
            except Exception:
                log.exception("a listener failed; the others and the engine go on")


class Listeners:
    """The engine's five kinds of listeners."""

    def __init__(self) -> None:
        self.runs: Hooks[Callable[[Run], None]] = Hooks()
        self.attempts: Hooks[Callable[[Attempt], None]] = Hooks()
        self.alerts: Hooks[Callable[[tuple[Raised, ...]], None]] = Hooks()
        self.reloads: Hooks[Callable[[int], None]] = Hooks()
        self.closes: Hooks[Callable[[], Awaitable[None]]] = Hooks()
