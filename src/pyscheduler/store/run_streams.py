"""The streams that lists of runs are made of: one for each exact choice that an index can serve.

Position in a list is (`scheduled_at`, run id), newest first and ties by run id, or the exact reverse. Every statement
here walks one index of `schema.py` in that order without sorting; `tests/integration` holds SQLite's planner to it.

What the index does not answer is a `Sieve`, which SQLite applies to a bounded number of rows at a time. A sieved stream
also yields *marks*, rows without a state that say "looked so far": a merge keeps its order by them, and a budget can
count what was looked at.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyscheduler.store import run_walks, schema
from pyscheduler.store.streams import FIRST_PIECE, LARGEST_PIECE, Piece, Row, stream, whole

KEY: Final = ("run_id", "scheduled_at", "state", "trigger")
"""What every row of a stream begins with, as a whole run's row does; each index of a list holds it."""
HIGHEST_ID: Final = "~"
"""Sorts after every run id: none has a character beyond `z`."""
FOREVER: Final = 1 << 62
SIEVED_PIECE: Final = 128
LARGEST_SIEVED_PIECE: Final = 1024

Rows = Callable[..., list[Row]]
"""`Snapshot.rows`, or something with its face that reads each piece from a snapshot of its own."""


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

    def left(self, last: Row | None) -> dict[str, object]:
        """Return the statement's parameters for what comes after a row."""
        window = self if last is None else self.after(last[1], last[0])
        return {"low": window.low, "high": window.high, "tie": window.tie}


@dataclass(frozen=True, slots=True)
class Sieve:
    """Conditions by name, each with its parameters: `states trigger jobs dates text reason`."""

    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def without(self, *names: str) -> Sieve:
        """Return the sieve without the conditions that an index has answered."""
        return Sieve({name: values for name, values in self.conditions.items() if name not in names})

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions, in their order."""
        return tuple(self.conditions)

    @property
    def values(self) -> dict[str, object]:
        """The parameters of all of them."""
        return {name: value for values in self.conditions.values() for name, value in values.items()}


NOTHING: Final = Sieve()


def key(row: Row) -> tuple[int, str]:
    """Return the sort key of a row: ascending is newest first."""
    return (-row[1], row[0])


def is_mark(row: Row) -> bool:
    """Whether the row only says how far a sieved stream was looked at."""
    return row[2] is None


def cost(row: Row) -> int:
    """Return how many rows were looked at for this one."""
    return int(row[3]) if row[2] is None else 1


def merge(streams: Iterable[Iterator[Row]], *, newest_first: bool) -> Iterator[Row]:
    """Return one stream in list order."""
    return heapq.merge(*streams, key=key, reverse=not newest_first)


def ended(
    rows: Rows,
    equal: Mapping[str, object],
    window: Window,
    more: tuple[str, ...] = (),
    *,
    sieve: Sieve = NOTHING,
    first: Row | None = None,
    piece: int = FIRST_PIECE,
    largest: int = LARGEST_PIECE,
) -> Iterator[Row]:
    """Yield the ended runs of one exact choice. `equal` holds state and trigger, and perhaps job or run date."""
    if sieve.conditions:
        return _sieved(rows, equal, window, more, sieve, first)
    statement = run_walks.walk(schema.IS_FINAL, tuple(equal), (*KEY, *more), (), window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        return whole(rows(statement, **equal, **window.left(last), count=count), count)

    return stream(fetch, first=first, piece=piece, largest=largest)


def _sieved(
    rows: Rows, equal: Mapping[str, object], window: Window, more: tuple[str, ...], sieve: Sieve, first: Row | None
) -> Iterator[Row]:
    statement = run_walks.sieved_walk(tuple(equal), (*KEY, *more), sieve.names, window.newest_first)
    to_mark = run_walks.mark(tuple(equal), window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        place = {**equal, **window.left(last), "count": count}
        found = rows(statement, **place, **sieve.values)
        marks = [(*mark, None, count) for mark in rows(to_mark, **place)]
        return Piece(found + marks, marks[0] if marks else None)

    return stream(fetch, first=first, piece=SIEVED_PIECE, largest=LARGEST_SIEVED_PIECE)


def still_open(rows: Rows, window: Window, more: tuple[str, ...] = (), *, sieve: Sieve = NOTHING) -> Iterator[Row]:
    """Yield the open runs; all are looked at where few are wanted, for they are few."""
    statement = run_walks.walk(schema.IS_OPEN, (), (*KEY, *more), sieve.names, window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        return whole(rows(statement, **window.left(last), **sieve.values, count=count), count)

    return stream(fetch, piece=4 * FIRST_PIECE)


def choices(rows: Rows, states: Iterable[str], triggers: Iterable[str], window: Window) -> list[tuple[str, str]]:
    """Return the states and triggers among these that any ended run of the window has: few of them."""
    statement = run_walks.choices(window.newest_first)
    found = rows(statement, states=json.dumps(list(states)), triggers=json.dumps(list(triggers)), **window.left(None))
    return [(state, trigger) for state, trigger in found]


def heads_of_jobs(
    rows: Rows, jobs: str, states: str, triggers: str, window: Window, more: tuple[str, ...] = ()
) -> list[tuple[str, Row]]:
    """Return (job, first row) of every choice that has any; jobs, states and triggers are JSON lists.

    One look-up a choice, so that a list of many jobs opens only the streams that its page needs.
    """
    statement = run_walks.heads((*KEY, *more), window.newest_first)
    found = rows(statement, jobs=jobs, states=states, triggers=triggers, **window.left(None))
    return [(row[0], row[1:]) for row in found]


def of_dates(
    rows: Rows, jobs: str, dates: tuple[str, str], window: Window, more: tuple[str, ...] = (), *, count: int
) -> list[Row]:
    """Return up to `count` runs, open or not and in no order, of some jobs (a JSON list) and a stretch of run dates."""
    statement = run_walks.of_dates((*KEY, *more), window.newest_first)
    low_date, high_date = dates
    place = {"jobs": jobs, "from_date": low_date, "to_date": high_date, "count": count}
    return rows(statement, **place, **window.left(None))
