"""libyaml's complaints in words that name the mend. The clue is a part of libyaml's own text.

A complaint that is not in the table keeps libyaml's words: never a traceback, never silence.
"""

from __future__ import annotations

from typing import Final

from yaml import MarkedYAMLError
from yaml.reader import ReaderError

from pyscheduler.config.tree import TreeError

_WORDS: Final = (
    (
        "mapping values are not allowed",
        "a colon and a blank inside an unquoted value, or a key indented too far",
        "quote the whole value, or mend the indentation",
    ),
    (
        "found character that cannot start any token",
        "a value cannot begin with this character (a tab, @, ` or %)",
        "quote the value; indent with blanks, never with tabs",
    ),
    ("found a tab character", "a tab in the indentation", "indent with blanks, never with tabs"),
    (
        "while scanning an alias",
        "an unquoted value that begins with * is an alias",
        "quote it, as in '*/5 * * * *'",
    ),
    ("while scanning an anchor", "an unquoted value that begins with & is an anchor", "quote it"),
    ("found unexpected end of stream", "the quote that opens here is never closed", "close it"),
    ("exceeded maximum nesting depth", "the text is nested too deep", ""),
    (
        "did not find expected ',' or",
        "a [ or { is never closed, or a comma is missing",
        "close it, or quote the value",
    ),
    (
        "did not find expected node content",
        "a [ or { is never closed, or no value stands where one must",
        "close it, or quote the value",
    ),
    (
        "found unknown escape character",
        "an unknown escape in a double-quoted value",
        "write \\\\ for a backslash, or use single quotes",
    ),
    ("could not find expected ':'", "a key without a colon and a blank after it", "write KEY: VALUE"),
    (
        "did not find expected key",
        "this line does not fit the mapping above it",
        "indent all keys of one mapping alike",
    ),
    (
        "did not find expected '-' indicator",
        "this line does not fit the list above it",
        "begin it with - or indent it less",
    ),
    ("block sequence entries are not allowed", "a list cannot begin here", "begin it on a line of its own"),
    ("did not find expected <document start>", "nothing can follow here", "mend the indentation, or quote the value"),
    ("found undefined tag handle", "a tag", "remove it: every value is read as the text it is"),
    ("found incompatible YAML document", "this YAML version is unknown", "remove the %YAML line"),
)
_NAMES_THE_OPENING: Final = frozenset(
    {"found unexpected end of stream", "while scanning an alias", "while scanning an anchor"}
)
"""Complaints for which the place where the thing began says more than the place where reading stopped."""


def translated(error: MarkedYAMLError) -> TreeError:
    """Return libyaml's complaint in our words."""
    said = f"{error.context or ''} {error.problem or ''}".strip()
    for clue, what, mend in _WORDS:
        if clue in said:
            return _at(error, what, mend, opening=clue in _NAMES_THE_OPENING)
    return _at(error, f"no YAML: {said}", "", opening=False)


def _at(error: MarkedYAMLError, what: str, mend: str, *, opening: bool) -> TreeError:
    mark = (error.context_mark if opening else None) or error.problem_mark or error.context_mark
    return TreeError(mark.line + 1, mark.column + 1, what, mend) if mark else TreeError(0, 0, what, mend)


def unprintable(data: bytes, error: ReaderError) -> TreeError:
    """Return the complaint about a character that no YAML text may hold."""
    position = error.position if isinstance(error.position, int) else 0
    start = data.rfind(b"\n", 0, position) + 1
    column = len(data[start:position].decode("utf-8", "replace")) + 1
    character = f"the character {error.character:#x}" if isinstance(error.character, int) else "a character"
    return TreeError(data.count(b"\n", 0, position) + 1, column, f"{character} has no place in a text file")
