"""How the garbage collector is kept out of the way of a process that holds much, for long, and makes few cycles.

Objects here go with their last reference. The collector is for the cycles that libraries make now and then: it need
not look each time seven hundred objects have come, nor walk what stays for days.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (20_000, 20, 20)
"""Net new objects before a look at the youngest, and looks before one at the next older ones. At CPython's 700 a busy
scheduler spends every fifth second of its processor on looking, and finds nothing."""


@contextmanager
def at_rest() -> Iterator[None]:
    """Let no garbage be looked for while a hundred thousand objects come in: none of them is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def at_rest_then_set_apart() -> Iterator[None]:
    """Let no garbage be looked for while something comes in that stays, and never walk it later."""
    with at_rest():
        yield
        set_apart()


def set_apart() -> None:
    """What is here now stays: the collector need not walk it again."""
    gc.freeze()


def take_back() -> None:
    """What was set apart may be garbage by now."""
    gc.unfreeze()


def be_seldom() -> None:
    """For a process of our own, at its start: look for garbage seldom."""
    gc.set_threshold(*THRESHOLDS)
