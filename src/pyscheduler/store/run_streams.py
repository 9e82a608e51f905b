"""The streams that lists of runs are made of: one for each exact choice that an index can serve.

Position in a list is (`scheduled_at`, run id), newest first and ties by run id, or the exact reverse. Every statement
here walks one index of `schema.py` in that order without sorting; `tests/integration` holds SQLite's planner to it.

What the index does not answer is a `Sieve`, which SQLite applies to a bounded number of rows at a time. A sieved stream
also yields *marks*, rows without a state that say "looked so far": a merge keeps its order by them, and a budget can
count what was looked at.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select, text

from pyscheduler.store import schema
from pyscheduler.store.statements import Statement, compiled, is_one_of
from pyscheduler.store.streams import FIRST_PIECE, LARGEST_PIECE, Piece, Row, stream, whole

KEY: Final = ("scheduled_at", "run_id", "state", "trigger")
"""What every row of a stream begins with; each index of a list holds it."""
HIGHEST_ID: Final = "~"
"""Sorts after every run id: none has a character beyond `z`."""
FOREVER: Final = 1 << 62
SIEVED_PIECE: Final = 512
LARGEST_SIEVED_PIECE: Final = 8192

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

    def left(self, last: Row | None) -> dict[str, object]:
        """Return the statement's parameters for what comes after a row."""
        window = self if last is None else self.after(last[0], last[1])
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
    return (-row[0], row[1])


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
    statement = _walk(schema.IS_FINAL, tuple(equal), (*KEY, *more), (), window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        return whole(rows(statement, **equal, **window.left(last), count=count), count)

    return stream(fetch, first=first, piece=piece, largest=largest)


def _sieved(
    rows: Rows, equal: Mapping[str, object], window: Window, more: tuple[str, ...], sieve: Sieve, first: Row | None
) -> Iterator[Row]:
    statement = _sieved_walk(tuple(equal), (*KEY, *more), sieve.names, window.newest_first)
    to_mark = _mark(tuple(equal), window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        place = {**equal, **window.left(last), "count": count}
        found = rows(statement, **place, **sieve.values)
        marks = [(*mark, None, count) for mark in rows(to_mark, **place)]
        return Piece(found + marks, marks[0] if marks else None)

    return stream(fetch, first=first, piece=SIEVED_PIECE, largest=LARGEST_SIEVED_PIECE)


def still_open(rows: Rows, window: Window, more: tuple[str, ...] = (), *, sieve: Sieve = NOTHING) -> Iterator[Row]:
    """Yield the open runs; all are looked at where few are wanted, for they are few."""
    statement = _walk(schema.IS_OPEN, (), (*KEY, *more), sieve.names, window.newest_first)

    def fetch(last: Row | None, count: int) -> Piece:
        return whole(rows(statement, **window.left(last), **sieve.values, count=count), count)

    return stream(fetch, piece=4 * FIRST_PIECE)


def heads_of_jobs(
    rows: Rows, jobs: str, states: str, triggers: str, window: Window, more: tuple[str, ...] = ()
) -> list[tuple[str, Row]]:
    """Return (job, first row) of every choice that has any; jobs, states and triggers are JSON lists.

    One look-up a choice, so that a list of many jobs opens only the streams that its page needs.
    """
    statement = _heads((*KEY, *more), window.newest_first)
    found = rows(statement, jobs=jobs, states=states, triggers=triggers, **window.left(None))
    return [(row[0], row[1:]) for row in found]


def of_dates(
    rows: Rows,
    jobs: str,
    dates: tuple[str, str],
    window: Window,
    more: tuple[str, ...] = (),
    *,
    sieve: Sieve,
    count: int,
) -> list[Row]:
    """Return up to `count` runs, open or not and in no order, of some jobs (a JSON list) and a stretch of run dates."""
    statement = _of_dates((*KEY, *more), sieve.names, window.newest_first)
    low_date, high_date = dates
    place = {"chosen_jobs": jobs, "from_date": low_date, "to_date": high_date, "count": count}
    return rows(statement, **place, **window.left(None), **sieve.values)


# --------------------------------------------------------------------------- the statements


_INDEX: Final = {(): "runs_ended", ("job",): "runs_ended_of_job", ("run_date",): "runs_ended_of_date"}


def _on(statement: Select[Any], index: str) -> Select[Any]:
    """Bind the statement to its index: without statistics SQLite guesses, and one bad guess is a slow page."""
    return statement.with_hint(schema.runs, f"INDEXED BY {index}", "sqlite")


def _stretch(which: str, equal: tuple[str, ...], columns: Iterable[Any], newest_first: bool) -> Select[Any]:
    """Return the walk over one index, in list order."""
    chosen = [_runs[name] == bindparam(name) for name in equal]
    found = select(*columns).where(text(which), *chosen, _within(_runs, newest_first))
    index = _INDEX[tuple(name for name in equal if name in ("job", "run_date"))] if equal else "runs_open"
    return _on(_in_order(found, _runs, newest_first), index)


@cache
def _walk(
    which: str, equal: tuple[str, ...], columns: tuple[str, ...], sieve: tuple[str, ...], newest_first: bool
) -> Statement:
    found = _stretch(which, equal, (_runs[name] for name in columns), newest_first)
    return compiled(found.where(*_conditions(sieve, _runs)).limit(bindparam("count")))


@cache
def _sieved_walk(
    equal: tuple[str, ...], columns: tuple[str, ...], sieve: tuple[str, ...], newest_first: bool
) -> Statement:
    looked = _stretch(schema.IS_FINAL, equal, (_runs[name] for name in columns), newest_first)
    rows = looked.limit(bindparam("count")).subquery("looked")
    found = select(*(rows.c[name] for name in columns)).where(*_conditions(sieve, rows.c))
    return compiled(_in_order(found, rows.c, newest_first))


@cache
def _mark(equal: tuple[str, ...], newest_first: bool) -> Statement:
    """Return the last row that a piece looks at, if the piece is full."""
    found = _stretch(schema.IS_FINAL, equal, (_runs.scheduled_at, _runs.run_id), newest_first)
    last: Any = bindparam("count")
    return compiled(found.limit(1).offset(last - 1))


@cache
def _heads(columns: tuple[str, ...], newest_first: bool) -> Statement:
    jobs, states, triggers = (
        func.json_each(bindparam(name)).table_valued("value", name=name) for name in ("jobs", "states", "triggers")
    )
    choice = schema.runs.alias("choice")
    first = select(choice.c.run_id).where(
        text(f"choice.{schema.IS_FINAL}"),
        choice.c.job == jobs.c.value,
        choice.c.state == states.c.value,
        choice.c.trigger == triggers.c.value,
        _within(choice.c, newest_first),
    )
    first_id = (
        _in_order(first, choice.c, newest_first).limit(1).with_hint(choice, "INDEXED BY runs_ended_of_job", "sqlite")
    )
    every_choice = jobs.join(states, text("1")).join(triggers, text("1"))
    found = select(jobs.c.value, *(_runs[name] for name in columns)).select_from(
        every_choice.join(schema.runs, _runs.run_id == first_id.scalar_subquery())
    )
    return compiled(found)


@cache
def _of_dates(columns: tuple[str, ...], sieve: tuple[str, ...], newest_first: bool) -> Statement:
    jobs = func.json_each(bindparam("chosen_jobs")).table_valued("value", name="chosen_jobs")
    found = (
        select(*(_runs[name] for name in columns))
        .select_from(jobs.join(schema.runs, _runs.job == jobs.c.value))
        .where(
            and_(_runs.run_date >= bindparam("from_date"), _runs.run_date <= bindparam("to_date")),
            _within(_runs, newest_first),
            *_conditions(sieve, _runs),
        )
    )
    return compiled(_on(found, "runs_of_date").limit(bindparam("count")))


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


def _conditions(sieve: tuple[str, ...], columns: Any) -> Iterator[ColumnElement[bool]]:
    """Yield the sieve as SQL. Job and date are read from the run id, which every index holds."""
    run_id = columns.run_id
    dot = func.instr(run_id, ".")
    job, day = func.substr(run_id, 1, dot - 1), func.substr(run_id, dot + 1, 10)
    for name in sieve:
        if name == "states":
            yield is_one_of(columns.state, "states_wanted")
        elif name == "trigger":
            yield columns.trigger == bindparam("trigger_wanted")
        elif name == "jobs":
            yield is_one_of(job, "jobs_wanted")
        elif name == "dates":
            yield and_(day >= bindparam("low_date"), day <= bindparam("high_date"))
        else:
            beginning: Any = bindparam("beginning")
            found = or_(is_one_of(job, "jobs_named"), func.substr(run_id, 1, func.length(beginning)) == beginning)
            if name == "reason":
                found = or_(found, func.instr(func.lower(columns.reason), bindparam("needle")) > 0)
            yield found
