"""The streams that lists of runs are made of: one for each exact choice that an index can serve.

Position in a list is (`scheduled_at`, run id), newest first and ties by run id, or the exact reverse. Every statement
here walks one index of `schema.py` in that order without sorting, and touches no table row unless more than the key's
own columns is asked for; `tests/contract` holds SQLite's planner to it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select, text

from pyscheduler.store import schema
from pyscheduler.store.statements import Statement, compiled
from pyscheduler.store.streams import FIRST_PIECE, LARGEST_PIECE, Row, stream

KEY: Final = ("scheduled_at", "run_id", "state", "trigger")
"""What every stream's row begins with, and all that most lists filter by: each index of a list holds it."""
HIGHEST_ID: Final = "~"
"""Sorts after every run id: none has a character beyond `z`."""
FOREVER: Final = 1 << 62

Rows = Callable[..., list[Row]]
"""`Snapshot.rows`, or something with its face that reads each piece from a snapshot of its own."""

_runs: Final = schema.runs.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of the list: `scheduled_at` from `low` to `high`, both included, and beyond `tie` at the near end."""

    newest_first: bool
    low: int = -FOREVER
    high: int = FOREVER
    tie: str = ""

    @classmethod
    def whole(cls, *, newest_first: bool) -> Window:
        """Return the window over everything."""
        return cls(newest_first=newest_first, tie="" if newest_first else HIGHEST_ID)

    def after(self, at: int, run_id: str) -> Window:
        """Return what is left of it beyond one position."""
        if self.newest_first:
            return self if at > self.high else replace(self, high=at, tie=run_id)
        return self if at < self.low else replace(self, low=at, tie=run_id)


def key(row: Row) -> tuple[int, str]:
    """Return the sort key of a row: ascending is newest first."""
    return (-row[0], row[1])


def merge(streams: Iterable[Iterator[Row]], *, newest_first: bool) -> Iterator[Row]:
    """Return one stream in list order."""
    return heapq.merge(*streams, key=key, reverse=not newest_first)


def ended(
    rows: Rows,
    equal: Mapping[str, object],
    window: Window,
    more: tuple[str, ...] = (),
    *,
    first: Row | None = None,
    piece: int = FIRST_PIECE,
    largest: int = LARGEST_PIECE,
) -> Iterator[Row]:
    """Yield the ended runs of one exact choice. `equal` holds state and trigger, and perhaps job or run date."""
    statement = _walk(schema.IS_FINAL, tuple(equal), (*KEY, *more), window.newest_first)

    def fetch(last: Row | None, count: int) -> list[Row]:
        left = window if last is None else window.after(last[0], last[1])
        return rows(statement, **equal, low=left.low, high=left.high, tie=left.tie, count=count)

    return stream(fetch, first=first, piece=piece, largest=largest)


def still_open(rows: Rows, window: Window, more: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield the open runs."""
    statement = _walk(schema.IS_OPEN, (), (*KEY, *more), window.newest_first)

    def fetch(last: Row | None, count: int) -> list[Row]:
        left = window if last is None else window.after(last[0], last[1])
        return rows(statement, low=left.low, high=left.high, tie=left.tie, count=count)

    return stream(fetch, piece=4 * FIRST_PIECE)


def heads_of_jobs(
    rows: Rows, jobs: str, states: str, triggers: str, window: Window, more: tuple[str, ...] = ()
) -> list[tuple[str, Row]]:
    """Return (job, first row) of every choice that has any; jobs, states and triggers are JSON lists.

    One look-up a choice, so that a list of many jobs opens only the streams that its page needs.
    """
    statement = _heads((*KEY, *more), window.newest_first)
    found = rows(
        statement, jobs=jobs, states=states, triggers=triggers, low=window.low, high=window.high, tie=window.tie
    )
    return [(row[0], row[1:]) for row in found]


def of_dates(
    rows: Rows, jobs: str, dates: tuple[str, str], window: Window, more: tuple[str, ...], *, count: int
) -> list[Row]:
    """Return up to `count` runs, open or not and in no order, of some jobs (a JSON list) and a stretch of run dates."""
    statement = _of_dates((*KEY, *more), window.newest_first)
    low_date, high_date = dates
    return rows(
        statement,
        jobs=jobs,
        low_date=low_date,
        high_date=high_date,
        low=window.low,
        high=window.high,
        tie=window.tie,
        count=count,
    )


# --------------------------------------------------------------------------- the statements


@cache
def _walk(which: str, equal: tuple[str, ...], columns: tuple[str, ...], newest_first: bool) -> Statement:
    chosen = [_runs[name] == bindparam(name) for name in equal]
    found = select(*(_runs[name] for name in columns)).where(text(which), *chosen, _within(_runs, newest_first))
    return compiled(_in_order(found, _runs, newest_first).limit(bindparam("count")))


@cache
def _heads(columns: tuple[str, ...], newest_first: bool) -> Statement:
    jobs, states, triggers = (
        func.json_each(bindparam(name)).table_valued("value", name=name) for name in ("jobs", "states", "triggers")
    )
    inner = schema.runs.alias("choice")
    first = select(inner.c.run_id).where(
        text(f"choice.{schema.IS_FINAL}"),
        inner.c.job == jobs.c.value,
        inner.c.state == states.c.value,
        inner.c.trigger == triggers.c.value,
        _within(inner.c, newest_first),
    )
    first_id = _in_order(first, inner.c, newest_first).limit(1).scalar_subquery()
    every_choice = jobs.join(states, text("1")).join(triggers, text("1"))
    found = select(jobs.c.value, *(_runs[name] for name in columns)).select_from(
        every_choice.join(schema.runs, _runs.run_id == first_id)
    )
    return compiled(found)


@cache
def _of_dates(columns: tuple[str, ...], newest_first: bool) -> Statement:
    jobs = func.json_each(bindparam("jobs")).table_valued("value", name="jobs")
    found = (
        select(*(_runs[name] for name in columns))
        .select_from(jobs.join(schema.runs, _runs.job == jobs.c.value))
        .where(
            and_(_runs.run_date >= bindparam("low_date"), _runs.run_date <= bindparam("high_date")),
            _within(_runs, newest_first),
        )
    )
    return compiled(found.limit(bindparam("count")))


def _within(columns: Any, newest_first: bool) -> ColumnElement[bool]:
    at, run_id = columns.scheduled_at, columns.run_id
    low: Any = bindparam("low")
    high: Any = bindparam("high")
    tie: Any = bindparam("tie")
    beyond = or_(at < high, run_id > tie) if newest_first else or_(at > low, run_id < tie)
    return and_(at >= low, at <= high, beyond)


def _in_order(found: Select[Any], columns: Any, newest_first: bool) -> Select[Any]:
    at, run_id = columns.scheduled_at, columns.run_id
    return found.order_by(at.desc(), run_id) if newest_first else found.order_by(at, run_id.desc())
