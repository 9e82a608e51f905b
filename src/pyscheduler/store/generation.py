"""The generation: how a store that is older than its state directory gives itself away.

A number is raised at each start of an engine, first in the store, then in `state_dir/generation`. So the file is
never ahead of its own store, and a file that is ahead means that the store at hand is an older copy: jobs may have
run that it knows nothing of, and nothing missed may be started by itself (DESIGN 5). Putting a backup back raises the
file as well, so that a copy made within the same generation is found out too.

A store on a server has no file of its own to be compared with, and several state directories. There `place` names the
database among all there are: one that was made anew from a dump has another, and so counts as older too.

That the store is older is kept in it, under OLDER, in the commit that raises the number, until an operator has decided
about the missed firings and the engine removes the key: a crash in between must not forget it. The file without a
readable number counts as ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyscheduler.store.files import StoreFiles, write_durably

KEY: Final = "generation"
PLACE: Final = "store_place"
"""The engine value that names the database of the last start; on a server only."""
OLDER: Final = "store_is_older"
"""The engine value that is set from an older store's first start until an operator has decided."""


@dataclass(frozen=True, slots=True)
class GenerationState:
    """What the two numbers were before this start; None where there was none, or none that could be read."""

    previous_in_store: int | None
    previous_in_file: int | None
    older: bool
    place: str = ""

    @property
    def next(self) -> int:
        """The number of this start: above both."""
        return max(self.previous_in_store or 0, self.previous_in_file or 0) + 1

    def engine_values(self) -> dict[str, str | None]:
        """Return what the store has to remember of it."""
        place = {PLACE: self.place} if self.place else {}
        return {KEY: str(self.next), **place, **({OLDER: "1"} if self.older else {})}


def compare(in_store: Mapping[str, str], in_file: tuple[bool, int | None], *, place: str = "") -> GenerationState:
    """Return what the engine values, the file (`read_file`) and a server's database say together."""
    there, number = in_file
    stored = int(in_store[KEY]) if KEY in in_store else None
    ahead = there and (number is None or number > (stored or 0))
    moved = bool(place) and in_store.get(PLACE, place) != place
    return GenerationState(stored, number, older=ahead or moved or OLDER in in_store, place=place)


def read_file(files: StoreFiles) -> tuple[bool, int | None]:
    """Return whether there is a generation file, and its number if it can be read. Raises OSError."""
    try:
        text = files.generation.read_text(errors="replace").strip()
    except FileNotFoundError:
        return False, None
    return True, int(text) if text.isascii() and text.isdecimal() else None


def write_file(files: StoreFiles, number: int) -> None:
    """Write the number durably. Raises OSError."""
    write_durably(files.generation, f"{number}\n")
