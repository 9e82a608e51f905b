"""Two unquoted spellings that the reference accepts and YAML does not. Spec: jobs.md 1.2 "Typing and gotchas".

`command: echo a: b` is one value there, and `schedule: @daily` needs no quotes. libyaml refuses both; where it does,
the value is put in quotes at exactly the place it complained about, and the text is read again. Nothing else is
touched: a place that libyaml complains about lies in no quoted and no block value, so quoting can change no other
meaning. The work is bounded; beyond that the complaint stands, and it names the mend.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pyscheduler.config.builder import Composed
from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.tree import TreeError

MAX_READ_AGAIN: Final = 4 << 20
"""Bytes read again because of such spellings, all mends of one file together."""

_PLAIN: Final = rb"""[^\s"'\[\]{},&*!|>%@`#:-]"""
"""What a plain key or value may begin with."""
_KEY: Final = re.compile(rb"[ ]*(?:-[ ]+)*" + _PLAIN + rb"[^:#]*:[ ]+(?=" + _PLAIN + rb")")
"""Indentation, compact list items, a plain key; a plain value follows."""
_MACRO: Final = re.compile(rb"@[a-z]+(?: +[0-9dhms]+)?(?=[ ]*(?:\r?$|[ ]\#|[,\]}]))")


def compose_leniently(data: bytes, budget: Budget) -> Composed:
    """Read the document like `compose`, with the two spellings mended. Raises TreeError as `compose` does."""
    left = MAX_READ_AGAIN
    while True:
        attempt = replace(budget)
        try:
            composed = compose(data, attempt)
        except TreeError as error:
            mended = _mended(data, error)
            left -= len(data)
            if mended is None or left < 0:
                budget.nodes = attempt.nodes
                raise
            data = mended
            continue
        budget.nodes = attempt.nodes
        return composed


def _mended(data: bytes, error: TreeError) -> bytes | None:
    """Return the text with the value in quotes that the error is about, None where it is about something else."""
    if not error.line or not error.column:
        return None
    begin = _start_of_line(data, error.line)
    end = data.find(b"\n", begin)
    line = data[begin : end if end >= 0 else len(data)]
    quoted = _with_macro_quoted(line, error.column) or _with_value_quoted(line, error.column)
    return None if quoted is None else data[:begin] + quoted + data[begin + len(line) :]


def _start_of_line(data: bytes, line: int) -> int:
    begin = 0
    for _ in range(line - 1):
        begin = data.find(b"\n", begin) + 1
    return begin


def _with_macro_quoted(line: bytes, column: int) -> bytes | None:
    at = len(line.decode("utf-8", "replace")[: column - 1].encode())
    match = _MACRO.match(line, at)
    return line[:at] + b"'" + match[0] + b"'" + line[match.end() :] if match else None


def _with_value_quoted(line: bytes, column: int) -> bytes | None:
    key = _KEY.match(line)
    if key is None or column <= len(key[0].decode("utf-8", "replace")):
        return None
    rest = line[key.end() :]
    comment = rest.find(b" #")
    value = (rest if comment < 0 else rest[:comment]).rstrip()
    if b": " not in value + b" ":
        return None
    return key[0] + b"'" + value.replace(b"'", b"''") + b"'" + rest[len(value) :]
