"""How a run's state is shown: a word, a shape of its own for those who see no colours, a colour, and a rank.

A board lists the worst first: what has ended badly, what stands still, what moves, what is done.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyscheduler.cli.table import Cell
from pyscheduler.cli.terminal import Terminal


class Look(NamedTuple):
    """One state's shape in Unicode and in ASCII, and its colour."""

    shape: str
    plain: str
    colour: str | None


LOOKS: Final = {
    "failed": Look("✗", "!", "red"),
    "blocked": Look("■", "#", "red"),
    "held": Look("‖", "|", "magenta"),
    "retry_wait": Look("↻", "~", "yellow"),
    "running": Look("▶", ">", "cyan"),
    "queued": Look("◆", "=", "cyan"),
    "waiting": Look("◷", ".", "yellow"),
    "scheduled": Look("○", "o", None),
    "cancelled": Look("⊘", "x", "magenta"),
    "skipped": Look("»", "-", None),
    "succeeded": Look("✓", "+", "green"),
}
"""Every state, worst first."""

OPEN: Final = ("blocked", "held", "retry_wait", "running", "queued", "waiting", "scheduled")
"""The states that a run is in before its end. The words alone: the model's classes take a thin command too long."""

STANDING: Final = tuple(word for word in OPEN if word != "running")
ENDED: Final = ("failed", "cancelled", "skipped", "succeeded")
"""The open states but running, and the final ones: what most actions are for."""

_RANKS: Final = {word: rank for rank, word in enumerate(LOOKS)}
_UNKNOWN: Final = Look("?", "?", None)


def state_cell(word: str, terminal: Terminal) -> Cell:
    """Return a state as a table shows it."""
    look = LOOKS.get(word, _UNKNOWN)
    return Cell(f"{terminal.symbol(look.shape, look.plain)} {word}", look.colour)


def rank(word: str) -> int:
    """Return the place of a state on a board, the worst first; one this release does not know comes first of all."""
    return _RANKS.get(word, -1)
