"""What changed between two texts, line by line, as blocks to be read: for versions of the configuration. Pure.

What both begin and end with is taken off before difflib looks, since its time grows with the square of what is left; if
even the rest is longer than `LONGEST` lines, the texts are told apart as one block out and one in. So ten thousand jobs
with one line changed cost milliseconds. Bounded: at most `SHOWN` lines, and then it says that there are more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

CONTEXT: Final = 3
LONGEST: Final = 3000
SHOWN: Final = 2000

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a comparison: `kind` is `same`, `out`, `in`, or `gap` where lines of no interest are left out.

    `old` and `new` are its numbers in the two texts, None where it is not in one of them.
    """

    kind: str
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What changed in one file; `name` is the file's. `added` and `removed` count lines."""

    name: str
    lines: tuple[Line, ...]
    added: int
    removed: int
    is_cut: bool


def compare(name: str, old: str, new: str) -> FileDiff:
    """Return what has to be done to `old` to get `new`."""
    before, after = old.splitlines(), new.splitlines()
    codes = _opcodes(before, after)
    shown = tuple(islice(_lines(before, after, codes), SHOWN + 1))
    added = sum(code[4] - code[3] for code in codes if code[0] != "equal")
    removed = sum(code[2] - code[1] for code in codes if code[0] != "equal")
    return FileDiff(name, shown[:SHOWN], added, removed, len(shown) > SHOWN)


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """Return difflib's opcodes for the whole texts."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
    one, other = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(one) + len(other) > LONGEST:
        middle: list[Opcode] = [("replace", 0, len(one), 0, len(other))]
    else:
        middle = list(SequenceMatcher(None, one, other, autojunk=False).get_opcodes())
    moved = [(kind, i1 + head, i2 + head, j1 + head, j2 + head) for kind, i1, i2, j1, j2 in middle]
    front: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    ends = len(before) - tail, len(before), len(after) - tail, len(after)
    return [*front, *moved, *([("equal", *ends)] if tail else [])]


def _lines(before: Sequence[str], after: Sequence[str], codes: Sequence[Opcode]) -> Iterator[Line]:
    for index, (kind, i1, i2, j1, j2) in enumerate(codes):
        if kind == "equal":
            yield from _equal(before, i1, i2, j1, is_first=index == 0, is_last=index == len(codes) - 1)
            continue
        for at in range(i1, i2):
            yield Line("out", before[at], old=at + 1)
        for at in range(j1, j2):
            yield Line("in", after[at], new=at + 1)


def _equal(before: Sequence[str], i1: int, i2: int, j1: int, *, is_first: bool, is_last: bool) -> Iterator[Line]:
    """Yield the lines next to what changed, and a gap for those between."""
    head, tail = 0 if is_first else CONTEXT, 0 if is_last else CONTEXT
    if i2 - i1 <= head + tail + 1 and not (is_first and is_last):
        head, tail = i2 - i1, 0
    for at in range(i1, i1 + head):
        yield Line("same", before[at], at + 1, j1 + at - i1 + 1)
    if (left_out := i2 - i1 - head - tail) > 0 and not (is_first and is_last):
        yield Line("gap", f"{left_out:,} unchanged line{'s' if left_out > 1 else ''}")
    for at in range(i2 - tail, i2) if left_out >= 0 else ():
        yield Line("same", before[at], at + 1, j1 + at - i1 + 1)
