"""Tables for people: two blanks between columns, `-` for nothing, a line never longer than the terminal is wide.

What always holds: a row is one line; the last column is cut, never wrapped; only where even that is not enough is the
whole line cut. Where the width is unknown (a pipe, a file) nothing is cut. Spec: jobs.md 14.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import click

from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.text import columns_of, cut, on_one_line

GAP: Final = "  "
NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with its colour (a click colour name) and weight, which are left out where the terminal has none."""

    text: str
    colour: str | None = None
    bold: bool = False
    dim: bool = False


Row = Sequence[str | Cell]


def table(
    headers: Sequence[str],
    rows: Iterable[Row],
    terminal: Terminal,
    *,
    right: Collection[str] = (),
) -> Iterator[str]:
    """Yield the lines of a table. `right` names the columns whose texts end at the right, as numbers do."""
    head = [Cell(header, bold=True) for header in headers]
    body = [[_cell(each) for each in row] for row in rows]
    widths = [max(columns_of(row[n].text) for row in (head, *body)) for n in range(len(headers))]
    sides = [header in right for header in headers]
    for row in (head, *body):
        yield _line(row, widths, sides, terminal)


def _cell(each: str | Cell) -> Cell:
    cell = each if isinstance(each, Cell) else Cell(each)
    text = on_one_line(cell.text) or NOTHING
    return cell if text == cell.text else Cell(text, cell.colour, cell.bold, cell.dim)


def _line(row: Sequence[Cell], widths: Sequence[int], sides: Sequence[bool], terminal: Terminal) -> str:
    """Return one row as a line, cut where the terminal ends. Styles are put on after the cut, so none is cut open."""
    parts: list[str] = []
    room = terminal.width
    last = len(row) - 1
    for number, cell in enumerate(row):
        width = widths[number] if room is None else min(widths[number], room)
        text = cut(cell.text, width, terminal.symbol("…", "..."))
        blanks = " " * (width - columns_of(text))
        parts.append((blanks if sides[number] else "") + styled(cell, text, terminal))
        if number < last and not sides[number]:
            parts[-1] += blanks
        if room is not None:
            room -= width + len(GAP)
            if room <= 0:
                break
    return GAP.join(parts).rstrip()


def styled(cell: Cell, text: str, terminal: Terminal) -> str:
    """Return `text` in the cell's colours, if the terminal has any."""
    if not terminal.colour or not (cell.colour or cell.bold or cell.dim):
        return text
    return click.style(text, fg=cell.colour, bold=cell.bold or None, dim=cell.dim or None)


def pairs(rows: Iterable[tuple[str, str | Cell]], terminal: Terminal) -> Iterator[str]:
    """Yield the lines of a list of names and values, without a heading."""
    body = [(name, _cell(value)) for name, value in rows]
    width = max((columns_of(name) for name, _ in body), default=0)
    for name, cell in body:
        yield _line([Cell(name, bold=True), cell], [width, columns_of(cell.text)], [False, False], terminal)
