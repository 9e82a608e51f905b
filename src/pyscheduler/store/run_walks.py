"""The SQL behind `run_streams.py`: walks over one index of `schema.py` each, in the list's order and bound to it.

Parameters: `low`, `high` and `tie` say from where to where (`run_streams.Window`), `count` how many rows at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select, text, true

from pyscheduler.store import schema
from pyscheduler.store.statements import Statement, any_row, compiled, is_among, json_list, on_index

_runs: Final = schema.runs.c
_INDEX: Final = {(): "runs_ended", ("job",): "runs_ended_of_job", ("run_date",): "runs_ended_of_date"}


def _stretch(which: str, equal: tuple[str, ...], columns: Iterable[Any], newest_first: bool) -> Select[Any]:
    """Return the walk over one index, in list order."""
    chosen = [_runs[name] == bindparam(name) for name in equal]
    found = select(*columns).where(text(which), *chosen, _within(_runs, newest_first))
    index = _INDEX[tuple(name for name in equal if name in ("job", "run_date"))] if equal else "runs_open"
    return on_index(_in_order(found, _runs, newest_first), schema.runs, index)


@cache
def walk(
    which: str, equal: tuple[str, ...], columns: tuple[str, ...], sieve: tuple[str, ...], newest_first: bool
) -> Statement:
    """Return the wanted rows: all that the sieve lets through, however far it has to look."""
    found = _stretch(which, equal, (_runs[name] for name in columns), newest_first)
    return compiled(found.where(*_conditions(sieve, _runs)).limit(bindparam("count")))


@cache
def sieved_walk(
    equal: tuple[str, ...], columns: tuple[str, ...], sieve: tuple[str, ...], newest_first: bool
) -> Statement:
    """Return what the sieve lets through of the next `count` rows."""
    looked = _stretch(schema.IS_FINAL, equal, (_runs[name] for name in columns), newest_first)
    rows = looked.limit(bindparam("count")).subquery("looked")
    found = select(*(rows.c[name] for name in columns)).where(*_conditions(sieve, rows.c))
    return compiled(_in_order(found, rows.c, newest_first))


@cache
def mark(equal: tuple[str, ...], newest_first: bool) -> Statement:
    """Return the last row that a piece looks at, if the piece is full."""
    found = _stretch(schema.IS_FINAL, equal, (_runs.run_id, _runs.scheduled_at), newest_first)
    last: Any = bindparam("count")
    return compiled(found.limit(1).offset(last - 1))


@cache
def choices(newest_first: bool) -> Statement:
    """Return the states and triggers (two JSON lists) that ended runs have."""
    states, triggers = (json_list(name, name) for name in ("states", "triggers"))
    of_choice = select(_runs.run_id).where(
        text(schema.IS_FINAL),
        _runs.state == states.c.value,
        _runs.trigger == triggers.c.value,
        _within(_runs, newest_first),
    )
    any_run = any_row(on_index(of_choice, schema.runs, "runs_ended").correlate(states, triggers))
    every_choice = states.join(triggers, true())
    return compiled(select(states.c.value, triggers.c.value).select_from(every_choice).where(any_run))


@cache
def heads(columns: tuple[str, ...], newest_first: bool) -> Statement:
    """Return the first run of each job, state and trigger (three JSON lists) that has any, with its job in front."""
    jobs, states, triggers = (json_list(name, name) for name in ("jobs", "states", "triggers"))
    choice = schema.runs.alias("choice")
    first = select(choice.c.run_id).where(
        text(f"choice.{schema.IS_FINAL}"),
        choice.c.job == jobs.c.value,
        choice.c.state == states.c.value,
        choice.c.trigger == triggers.c.value,
        _within(choice.c, newest_first),
    )
    first_id = on_index(_in_order(first, choice.c, newest_first).limit(1), choice, "runs_ended_of_job")
    every_choice = jobs.join(states, true()).join(triggers, true())
    found = select(jobs.c.value, *(_runs[name] for name in columns)).select_from(
        every_choice.join(schema.runs, _runs.run_id == first_id.scalar_subquery())
    )
    return compiled(found)


@cache
def of_dates(columns: tuple[str, ...], newest_first: bool) -> Statement:
    """Return the runs of some jobs (a JSON list) and a stretch of run dates, in no order."""
    jobs = json_list("jobs", "jobs")
    of_date = and_(_runs.run_date >= bindparam("from_date"), _runs.run_date <= bindparam("to_date"))
    found = (
        select(*(_runs[name] for name in columns))
        .select_from(jobs.join(schema.runs, _runs.job == jobs.c.value))
        .where(of_date, _within(_runs, newest_first))
    )
    return compiled(on_index(found, schema.runs, "runs_of_date").limit(bindparam("count")))


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
            yield is_among(columns.state, "states_wanted")
        elif name == "trigger":
            yield columns.trigger == bindparam("trigger_wanted")
        elif name == "jobs":
            yield is_among(job, "jobs_wanted")
        elif name == "dates":
            yield and_(day >= bindparam("low_date"), day <= bindparam("high_date"))
        else:
            beginning: Any = bindparam("beginning")
            found = or_(func.substr(run_id, 1, func.length(beginning)) == beginning, is_among(job, "jobs_named"))
            if name == "reason":
                found = or_(found, func.instr(func.lower(columns.reason), bindparam("needle")) > 0)
            yield found
