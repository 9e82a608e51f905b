"""Looking at a shared store from outside, holding nobody up: one snapshot a question, no lock, nothing made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pyscheduler.engine.clock import SystemClock
from pyscheduler.store import Peek
from pyscheduler.store.claims import Marks, standing


class Look:
    """How jobs stand, asked of one store."""

    def __init__(self, peek: Peek, *, is_server: bool) -> None:
        self._peek, self._is_server = peek, is_server

    def now(self) -> datetime:
        """Return the present by the clock that the rows were written by: the server's, or this machine's."""
        return standing.now(self._peek) if self._is_server else SystemClock().now()

    def standings(self, jobs: Iterable[str]) -> dict[str, standing.Standing]:
        """Return how each of the jobs stands."""
        return standing.peeked(self._peek, jobs)

    def marks(self, jobs: Iterable[str]) -> Marks:
        """Return up to when each job was looked through."""
        return standing.marks(self._peek, jobs)


@contextmanager
def look_at(store: str | None, state_dir: Path) -> Iterator[Look | None]:
    """Give a look at a store, None where there is none yet. Raises StoreError."""
    peek = Peek.open(state_dir, url=store)
    if peek is None:
        yield None
        return
    with peek:
        yield Look(peek, is_server=store is not None)
