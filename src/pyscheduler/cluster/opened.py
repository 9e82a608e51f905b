"""Grants under which something was, or may have been, executed. claims.md C5, S6 and S8.

What must always hold: such a grant is never given back and never told as "nothing was started". It is remembered as
long as the store says that it is ours, and KEPT_S beyond that, for a word of ours may be under way to the store that
makes it so; a token is never used again, so what is forgotten then cannot come back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

Grant = tuple[str, int]
"""A run's id, and the token under which it was granted."""

KEPT_S: Final = 600.0
"""Far longer than a statement can be under way: the server ends it after `statement_timeout`."""


class Opened:
    """See above. `boot` is the boot clock in seconds."""

    def __init__(self, boot: Callable[[], float]) -> None:
        self._boot = boot
        self._known: dict[Grant, float] = {}

    def add(self, grant: Grant) -> None:
        """Remember it, before anything can be executed under it."""
        self._known[grant] = self._boot()

    def __contains__(self, grant: Grant) -> bool:
        return grant in self._known

    def __len__(self) -> int:
        return len(self._known)

    def keep(self, owned: Collection[Grant]) -> None:
        """Forget what has long not been ours; `owned` is what the store says is ours now."""
        now = self._boot()
        self._known = {
            grant: now if grant in owned else since
            for grant, since in self._known.items()
            if grant in owned or now - since < KEPT_S
        }
