"""The tree a YAML text becomes: dicts, lists and text in which every node knows its place.

Always true of a finished tree: keys are text and unique; it holds no cycle; walking it, aliases followed, meets at most
`builder.MAX_NODES` nodes and `builder.MAX_DEPTH` levels. Places live in the collections, as plain numbers, because
they are asked for only where something is wrong.
"""

from __future__ import annotations

from array import array
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""


class Null(str):
    """The text of a plain `~`, `null` or nothing at all: text like any other, but for the readers that care."""

    __slots__ = ()


class Block(dict[str, "Tree"]):
    """A mapping. `places` holds four numbers a key, in order: line and column of the key, then of its value."""

    __slots__ = ("_numbers", "column", "line", "places")

    def __init__(self, line: int = 0, column: int = 0) -> None:
        super().__init__()
        self.line, self.column = line, column
        self.places = array("I")
        self._numbers: dict[str, int] = {}

    def key_place(self, key: str) -> Place:
        """Return where the key stands."""
        at = self._number(key) * 4
        return self.places[at], self.places[at + 1]

    def value_place(self, key: str) -> Place:
        """Return where the key's value begins."""
        at = self._number(key) * 4
        return self.places[at + 2], self.places[at + 3]

    def _number(self, key: str) -> int:
        """Return which key this is. The index is made when first asked for, and again if keys came after that."""
        if len(self._numbers) != len(self):
            self._numbers = {each: number for number, each in enumerate(self)}
        return self._numbers[key]


class Items(list["Tree"]):
    """A list. `places` holds two numbers an item: line and column."""

    __slots__ = ("column", "line", "places")

    def __init__(self, line: int = 0, column: int = 0) -> None:
        super().__init__()
        self.line, self.column = line, column
        self.places = array("I")

    def item_place(self, index: int) -> Place:
        """Return where an item begins."""
        return self.places[2 * index], self.places[2 * index + 1]


Tree: TypeAlias = Block | Items | str


class TreeError(Exception):
    """The text is no YAML that can be used. `line` and `column` from 1; 0 where no place can be named."""

    def __init__(self, line: int, column: int, what: str, mend: str = "") -> None:
        self.line, self.column, self.what, self.mend = line, column, what, mend
        super().__init__(what)
