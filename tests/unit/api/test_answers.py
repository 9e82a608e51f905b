"""Lists in one piece or in slices: the same JSON, the same rows as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse

from pyscheduler.api.answers import PIECE, SLICE, Json, listing, of_slices, text_slices, written
from pyscheduler.api.asking import Format


async def body_of(response: Response) -> bytes:
    if not isinstance(response, StreamingResponse):
        return bytes(response.body)
    return b"".join([piece if isinstance(piece, bytes) else bytes(piece) async for piece in response.body_iterator])  # type: ignore[arg-type]


def rows(count: int) -> list[dict[str, Any]]:
    return [{"n": n, "text": f'"{n}", é', "tags": ["a", n], "none": None} for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE])
async def test_a_list_reads_the_same_whatever_its_length(count: int) -> None:
    """Slices are a matter of turns of the loop, never of what is said."""
    response = listing("rows", iter(rows(count)), (), next_cursor="c", beside={"of": "x"})
    assert json.loads(await body_of(response)) == {"rows": rows(count), "of": "x", "next_cursor": "c"}
    assert isinstance(response, StreamingResponse) == (count >= SLICE)


async def test_rows_are_made_while_the_list_is_written() -> None:
    """A list of ten thousand does not hold the loop up to make them all."""
    made = []

    def making() -> Any:
        for row in rows(3 * SLICE):
            made.append(row)
            yield row

    response = listing("rows", making(), ())
    assert len(made) == SLICE
    await body_of(response)
    assert len(made) == 3 * SLICE


@pytest.mark.parametrize("count", [0, 1, SLICE, 2 * SLICE + 1])
async def test_csv_has_the_same_rows(count: int) -> None:
    """A head and a line a row; what has parts is JSON in its cell, null is empty."""
    response = listing("rows", rows(count), ("n", "text", "tags", "none"), form=Format.CSV, next_cursor="c")
    found = list(csv.DictReader(io.StringIO((await body_of(response)).decode())))
    assert [(row["n"], row["text"]) for row in found] == [(str(n), f'"{n}", é') for n in range(count)]
    assert all((json.loads(row["tags"])[1], row["none"]) == (int(row["n"]), "") for row in found)
    assert response.headers["x-next-cursor"] == "c"


@pytest.mark.parametrize("count", [0, 1, SLICE, 2 * SLICE + 1])
@pytest.mark.parametrize("cursor", [None, "c"])
async def test_a_page_written_whole_says_the_same(count: int, cursor: str | None) -> None:
    """Where a page is made, on the loop or on a thread, changes no byte of what it says."""
    whole = written("rows", rows(count), (), next_cursor=cursor)
    assert bytes(whole.body) == await body_of(listing("rows", rows(count), (), next_cursor=cursor))
    columns = ("n", "text", "tags", "none")
    table = written("rows", rows(count), columns, form=Format.CSV, next_cursor=cursor)
    same = listing("rows", rows(count), columns, form=Format.CSV, next_cursor=cursor)
    assert bytes(table.body) == await body_of(same)
    assert table.headers.get("x-next-cursor") == same.headers.get("x-next-cursor") == cursor


async def test_what_utf8_cannot_hold_is_marked_not_fatal() -> None:
    """FC-048: a lone surrogate in a reason does not make a page fail."""
    assert json.loads(await body_of(Json({"reason": "a\udcffb"}))) == {"reason": "a?b"}
    response = listing("rows", [{"a": "x\udcff"}], ("a",), form=Format.CSV)
    assert await body_of(response) == b"a\nx?\n"


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "\t=1", "\r=1"])
async def test_no_cell_of_typed_text_is_a_formula(text: str) -> None:
    """Who may give a reason must not start a program on the machine of who opens the list in a spreadsheet."""
    response = listing("rows", [{"a": text, "b": -1}], ("a", "b"), form=Format.CSV)
    assert (await body_of(response)).decode() in (f"a,b\n'{text},-1\n", f'a,b\n"\'{text}",-1\n')


@pytest.mark.parametrize(
    "texts", [[], ["a"], ["", '"\0é', "x"], ['é"' * PIECE, "\0" * (3 * PIECE + 1), "end"], ["x"] * 5000]
)
async def test_long_texts_are_written_piece_by_piece(texts: list[str]) -> None:
    """The same JSON, and no piece of it so long that writing it down would hold the loop up."""
    slices = text_slices("lines", texts, {"size": 7})
    assert json.loads(await body_of(of_slices(slices))) == {"lines": texts, "size": 7}
    assert max(map(len, slices)) <= 2 * 6 * PIECE
