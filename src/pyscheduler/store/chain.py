"""The chain of the audit log: what a row's hash covers, and what a walk along the rows finds out. Pure.

A row's hash is the SHA-256, in hexadecimal, of the UTF-8 of one JSON list: FORM, the hash of the row before, and the
row's values in the order of COLUMNS, as they lie in the table (`at` in microseconds, `detail` as text); written without
spaces, every character beyond ASCII as its escape. JSON keeps `1` and `"1"` apart and needs no lengths, so no two rows
have one text. Before the first row there is NOTHING.

Two places in the `engine` table go with it, each `ID HASH`: HEAD is the last row that was written, ANCHOR the last one
that was thrown away because of its age. They change in the same commit as the rows. So a walk from the anchor to the
head finds a row that was changed, taken out, put in or moved, and an end that was cut off. What it cannot find out is
that somebody who may write the file wrote *everything* anew, hashes, head and all: for that, the head must be known
from elsewhere (`known`). Valid if and only if `Walk` ends without a complaint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

FORM: Final = "pysched audit 1"
NOTHING: Final = "0" * 64
HEAD: Final = "audit_head"
ANCHOR: Final = "audit_anchor"
COLUMNS: Final = (
    "id",
    "at",
    "actor",
    "role",
    "via",
    "address",
    "action",
    "subject",
    "reason",
    "result",
    "detail",
    "previous_hash",
    "hash",
)
"""A row of the table, in the table's order."""
_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


class Link(NamedTuple):
    """A place in the chain: a row's number and its hash."""

    id: int
    hash: str

    def to_text(self) -> str:
        """Return it as the `engine` table holds it."""
        return f"{self.id} {self.hash}"


START: Final = Link(0, NOTHING)


def link_of(text: str | None) -> Link | None:
    """Return the place that a text of the `engine` table names, None where it names none."""
    number, _, digest = (text or "").partition(" ")
    is_link = number.isascii() and number.isdecimal() and len(number) <= 18 and len(digest) == 64
    return Link(int(number), digest) if is_link else None


def hash_of(previous: str, values: Sequence[object]) -> str:
    """Return the hash of a row: `values` are those of COLUMNS but the last two."""
    return hashlib.sha256(_encode([FORM, previous, *values]).encode("ascii")).hexdigest()


class Break(NamedTuple):
    """The first place where the chain does not hold: the number of the row at fault, and what is wrong."""

    id: int
    what: str


class Walk:
    """Goes along the rows from the anchor on, in the order of their numbers; the first break ends it.

    `values` are the engine's and `newest` the highest number there is (0 without rows), both of one instant: rows after
    it are not to be given.
    """

    def __init__(self, values: Mapping[str, str], newest: int, known: Link | None = None) -> None:
        self._known, self.newest = known, newest
        self._head, self._has_head = link_of(values.get(HEAD)), HEAD in values
        anchor = link_of(values.get(ANCHOR))
        self._is_anchored = anchor is not None or ANCHOR not in values
        self.anchor = self.last = anchor or START
        self.rows = 0

    def begin(self) -> Break | None:
        """Look at what is known before any row."""
        if self._head is not None and self.newest > self._head.id:
            return Break(self._head.id + 1, f"was not written by a scheduler: the last that was is {self._head.id}")
        if not self._is_anchored:
            return Break(0, "the note of what was thrown away for its age cannot be read")
        if self._known is not None and self._known.id < self.anchor.id:
            return Break(self._known.id, "the row whose hash was given has been thrown away for its age")
        return self._compare_known()

    def step(self, row: Sequence[Any], *, is_plain: bool = True) -> Break | None:
        """Look at the next row. `is_plain`: each value has its column's type."""
        number, *values, previous, digest = row
        if number <= self.last.id:
            return Break(number, "was thrown away for its age, and is here")
        if number != self.last.id + 1:
            missing = f"rows {self.last.id + 1} to {number - 1} are" if number > self.last.id + 2 else "this row is"
            return Break(self.last.id + 1, f"{missing} missing: the next is {number}")
        if previous != self.last.hash:
            return Break(number, f"does not follow from row {self.last.id}" if self.last.id else "is not the first row")
        if not is_plain or digest != hash_of(previous, (number, *values)):
            return Break(number, "was changed after it had been written")
        self.last, self.rows = Link(number, digest), self.rows + 1
        return self._compare_known()

    def end(self) -> Break | None:
        """Look whether the last row is the one that was written last."""
        head = self._head
        if head is None:
            untouched = not self._has_head and self.last == START
            return None if untouched else Break(self.last.id, "the note of the row that was written last is missing")
        if head.id > self.last.id:
            return Break(self.last.id + 1, f"is missing with all after it: the last that was written is {head.id}")
        if head != self.last:
            return Break(self.last.id, f"is not the row that was written last ({head.id})")
        if self._known is not None and self._known.id > self.last.id:
            return Break(self._known.id, f"is missing: the last row is {self.last.id}")
        return None

    def _compare_known(self) -> Break | None:
        if self._known is not None and self._known.id == self.last.id and self._known.hash != self.last.hash:
            return Break(self.last.id, "has not the hash that was given: the chain was written anew")
        return None
