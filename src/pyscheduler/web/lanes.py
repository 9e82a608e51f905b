"""What is drawn on a timeline's lane: bars of what has run, ghosts of what is expected, and bands for what is too much.

Positions are parts of the line's length, in percent with three decimals: SVG takes them as they are, whatever the width
of the window. Bars that overlap are put in rows, `ROWS` at most; what finds no free row goes into the last one. More
than `SHOWN` bars or ghosts of a lane become one band that says how many they are (spec jobs.md 15.8). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.web.timescale import Span

SHOWN: Final = 200
ROWS: Final = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that lasts: an attempt (`run_id` and `number` set), or a run that is expected. `word` is its state's.

    `end` is None while it goes on, and then it is drawn up to now.
    """

    start: datetime
    end: datetime | None
    word: str
    run_id: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece on the line: `left` and `width` in percent, `row` from the top."""

    piece: Piece
    left: float
    width: float
    row: int


@dataclass(frozen=True, slots=True)
class Band:
    """Many pieces as one."""

    count: int
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One job's line. `rows` is how many rows its bars need, at least one."""

    job: str
    bars: tuple[Bar, ...]
    bar_band: Band | None
    ghosts: tuple[Bar, ...]
    ghost_band: Band | None
    rows: int
    more: bool = False
    """Whether there may be bars that nobody looked for any more."""


def lane(
    job: str, span: Span, now: datetime, ran: Sequence[Piece], expected: Sequence[Piece], *, more: bool = False
) -> Lane:
    """Return the lane of a job. What lies outside the span is left out; what sticks out of it is cut."""
    done = _within(ran, span, now)
    coming = _within(expected, span, now)
    bars, ghosts = _in_rows(span, now, done[:SHOWN]), _in_rows(span, now, coming[:SHOWN])
    rows = max((bar.row + 1 for bar in (*bars, *ghosts)), default=1)
    bar_band, ghost_band = _band(span, now, done[SHOWN:], on=more), _band(span, now, coming[SHOWN:])
    return Lane(job, bars, bar_band, ghosts, ghost_band, rows, more)


def _within(pieces: Sequence[Piece], span: Span, now: datetime) -> list[Piece]:
    touching = (piece for piece in pieces if piece.start < span.end and _end(piece, now) >= span.start)
    return sorted(touching, key=lambda piece: (piece.start, piece.run_id, piece.number))


def _end(piece: Piece, now: datetime) -> datetime:
    """Return where a piece is drawn to; one that goes on never ends before it began, whatever the clock did."""
    return max(piece.start, piece.end if piece.end is not None else now)


def _in_rows(span: Span, now: datetime, pieces: Sequence[Piece]) -> tuple[Bar, ...]:
    bars, free_from = [], [span.start] * ROWS
    for piece in pieces:
        row = next((row for row in range(ROWS) if free_from[row] <= max(piece.start, span.start)), ROWS - 1)
        free_from[row] = max(free_from[row], _end(piece, now))
        left, width = _place(span, piece.start, _end(piece, now))
        bars.append(Bar(piece, left, width, row))
    return tuple(bars)


def _band(span: Span, now: datetime, pieces: Sequence[Piece], *, on: bool = False) -> Band | None:
    """Return many pieces as one; `on`: there are more of them, nobody knows until when, now at most."""
    if not pieces:
        return None
    end = max(_end(piece, now) for piece in pieces)
    left, width = _place(span, pieces[0].start, max(end, now) if on else end)
    return Band(len(pieces), left, width)


def _place(span: Span, start: datetime, end: datetime) -> tuple[float, float]:
    left = percent(span, start)
    return left, round(percent(span, end) - left, 3)


def percent(span: Span, instant: datetime) -> float:
    """Return where on the line an instant is, in percent."""
    return round(100 * span.fraction(instant), 3)
