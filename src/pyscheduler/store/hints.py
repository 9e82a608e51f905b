"""Hints: a word to whoever waits that a look at a shared store is worth it now. DESIGN 6, "NOTIFY a hint".

What must always hold: nothing rests on a hint. It goes out with the commit of what it tells of, may be late, doubled or
lost, and says no more than "look"; every wait that a hint may shorten also ends by itself. A store in a file has none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol


class Hint(StrEnum):
    """What has happened, in one word."""

    OFFERED = "offered"
    """Runs may be claimed that could not before."""
    NEWS = "news"
    """An attempt has started or ended."""
    ASKED = "asked"
    """The owner of a run has been asked to stop it."""
    FREE = "free"
    """The authority was given back."""


EVERY: Final = frozenset(Hint)
"""What is said to all when nobody knows what was missed."""

Heard = Callable[[frozenset[Hint]], None]


class Hints(Protocol):
    """One process's ear on one store."""

    @property
    def listening(self) -> bool:
        """Whether hints are heard at present; where not, only looking helps."""
        ...

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        """Call `heard`, on a thread of ours, with what was heard at once; returns how to end that.

        It must return soon, and pass on to its loop what takes longer. When hearing begins, and when it begins again
        after it was lost, it is called with EVERY.
        """
        ...

    def close(self) -> None:
        """Listen no more. Harmless when closed."""
        ...


class NoHints:
    """The ear on a store that says nothing."""

    listening = False

    def subscribe(self, heard: Heard) -> Callable[[], None]:
        return lambda: None

    def close(self) -> None:
        """Nothing was opened."""
