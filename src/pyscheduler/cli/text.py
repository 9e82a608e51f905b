"""Text as a terminal shows it: how many columns it takes, where to cut it, and nothing that moves the cursor.

Reasons, names and operators' words come from outside. A control character in them could erase the line above, so it is
shown as what it is; a wide character counts two columns, a combining one none (Unicode, East Asian Width).
"""

from __future__ import annotations

import unicodedata
from typing import Final

_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
_SHOWN_AS: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def columns_of(text: str) -> int:
    """Return how many columns `text` takes. It holds no control characters."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int, mark: str = "…") -> str:
    """Return `text`, or as much of its beginning as fits with `mark` behind it. Never wider than `columns`."""
    if columns_of(text) <= columns:
        return text
    room = columns - columns_of(mark)
    if room < 0:
        return mark[: max(columns, 0)]
    end = taken = 0
    for end, character in enumerate(text):  # noqa: B007 - the place where it no longer fits
        taken += _columns(character)
        if taken > room:
            break
    return text[:end] + mark


def wrapped(line: str, columns: int | None) -> str:
    """Return a line of prose broken between words where it is wider than `columns`; None: never.

    What follows is set in as far as the line was, and two more. A word that is too long alone stays whole.
    """
    if columns is None or columns_of(line) <= columns:
        return line
    margin = " " * (len(line) - len(line.lstrip(" ")))
    first, *words = line.split() or [""]
    lines = [margin + first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if columns_of(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(f"{margin}  {word}")
    return "\n".join(lines)


def on_one_line(text: str) -> str:
    """Return `text` without anything a terminal obeys: control characters and the marks that turn lines around."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_harmless, text))


def _harmless(character: str) -> str:
    if character in _SHOWN_AS:
        return _SHOWN_AS[character]
    category = unicodedata.category(character)
    # Cf holds the marks that reverse a line, but also the joiners that emoji and Indic scripts need.
    if category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and character not in "\u200c\u200d"):
        return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    return character
