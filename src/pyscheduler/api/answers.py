"""How answers are written: JSON in one piece while it is short, in slices of a turn of the loop where it is long, CSV.

Handlers hand over plain dicts that `views.py` made. Their form is promised by `shapes.py`, which the tests hold them
to; checking each again for every answer would cost more than making it. A list names its rows, says where the next
page begins (`next_cursor`, null at the end), and comes as CSV to who asks for `format=csv`: the same rows, one line
each, `next_cursor` in the header `X-Next-Cursor`.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from pyscheduler.api.asking import Format

SLICE: Final = 100
"""Rows written in one turn of the loop: a millisecond or two."""
PIECE: Final = 64 * 1024
"""Characters of a long text written in one go: less than a millisecond."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, which may fetch, send or start things."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

View = Mapping[str, Any]


class Json(Response):
    """A JSON answer in one piece."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write it down."""
        return json_of(content)


def json_of(content: Any) -> bytes:
    """Return a value as JSON."""
    return _encode(content).encode("utf-8", "replace")


def listing(
    name: str,
    rows: Iterable[View],
    columns: Sequence[str],
    *,
    form: Format = Format.JSON,
    next_cursor: str | None = None,
    beside: View | None = None,
) -> Response:
    """Return a list under `name`; `rows` may be made one by one while it is written. `columns` are those of CSV."""
    if form is Format.CSV:
        headers = {"X-Next-Cursor": next_cursor} if next_cursor is not None else None
        return StreamingResponse(_csv_slices(rows, columns), media_type="text/csv; charset=utf-8", headers=headers)
    tail = {**(beside or {}), "next_cursor": next_cursor}
    first = list(islice(iterator := iter(rows), SLICE))
    if len(first) < SLICE:
        return Json({name: first, **tail})
    return StreamingResponse(_json_slices(name, first, iterator, tail), media_type="application/json")


def written(
    name: str,
    rows: Iterable[View],
    columns: Sequence[str],
    *,
    form: Format = Format.JSON,
    next_cursor: str | None = None,
) -> Response:
    """Return a page of a list, whole: for a helper thread, so that the loop makes none of it.

    `rows` are made here too, and must need nothing that only the loop may touch. In slices all the same: the encoder
    lets no other thread run while it is at one.
    """
    if form is Format.CSV:
        pieces = [_csv([[_cell(row.get(column)) for column in columns] for row in piece]) for piece in _sliced(rows)]
        headers = {"X-Next-Cursor": next_cursor} if next_cursor is not None else None
        return Response(b"".join([_csv([columns]), *pieces]), 200, headers, "text/csv; charset=utf-8")
    listed = b",".join(map(_row_list, _sliced(rows)))
    tail = _encode({"next_cursor": next_cursor})[1:].encode()
    return Response(b'{"%s":[%s],%s' % (name.encode(), listed, tail), media_type="application/json")


def _sliced(rows: Iterable[View]) -> Iterator[list[View]]:
    iterator = iter(rows)
    while piece := list(islice(iterator, SLICE)):
        yield piece


async def _json_slices(name: str, first: list[View], rest: Iterator[View], tail: View) -> AsyncIterator[bytes]:
    yield f'{{"{name}":['.encode() + _row_list(first)
    while piece := list(islice(rest, SLICE)):
        await asyncio.sleep(0)
        yield b"," + _row_list(piece)
    yield b"]," + _encode(tail)[1:].encode("utf-8", "replace")


def _row_list(rows: list[View]) -> bytes:
    return _encode(rows)[1:-1].encode("utf-8", "replace")


def text_slices(name: str, texts: Iterable[str], beside: View) -> list[bytes]:
    """Return `{name: texts, **beside}` as JSON in slices, for `of_slices`. For a helper thread.

    A text of megabytes is written PIECE by PIECE: in one go it would keep the interpreter, and so the loop, for as long
    as it takes. `beside` is not empty.
    """
    slices, pending, size = [], [], 0
    for piece in _text_pieces(name, texts, beside):
        pending.append(piece)
        size += len(piece)
        if size >= PIECE:
            slices.append("".join(pending).encode("utf-8", "replace"))
            pending, size = [], 0
    return [*slices, "".join(pending).encode("utf-8", "replace")]


def _text_pieces(name: str, texts: Iterable[str], beside: View) -> Iterator[str]:
    yield f'{{"{name}":'
    yield from list_pieces(texts)
    yield f",{_encode(beside)[1:]}"


def list_pieces(texts: Iterable[str]) -> Iterator[str]:
    """Yield a list of texts as JSON, at most PIECE characters of it at a time."""
    yield "["
    for number, text in enumerate(texts):
        yield ',"' if number else '"'
        for at in range(0, len(text), PIECE):
            yield _encode(text[at : at + PIECE])[1:-1]
        yield '"'
    yield "]"


def of_slices(slices: Sequence[bytes]) -> Response:
    """Return JSON that was made in slices, sent one at a time."""
    if len(slices) == 1:
        return Response(slices[0], media_type="application/json")
    return StreamingResponse(_one_by_one(slices), media_type="application/json")


async def _one_by_one(slices: Iterable[bytes]) -> AsyncIterator[bytes]:
    for each in slices:
        yield each
        await asyncio.sleep(0)


async def _csv_slices(rows: Iterable[View], columns: Sequence[str]) -> AsyncIterator[bytes]:
    iterator = iter(rows)
    yield _csv([columns])
    while piece := list(islice(iterator, SLICE)):
        yield _csv([[_cell(row.get(column)) for column in columns] for row in piece])
        await asyncio.sleep(0)


def _csv(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    """Return a value as one cell: JSON where it has parts; a text is no formula, whatever it begins with."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return _encode(value) if isinstance(value, dict | list | tuple) else value
