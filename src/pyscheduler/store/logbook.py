"""The list of logbook lines that people page through, with any mix of filters. Spec: jobs.md 3.4.

The scheduler's own lines are many and of few kinds; people's are few. So a list is the merge of one stream a kind of
action (of the whole logbook, or of one job), and what a person did is one stream of that person's lines alone, in which
the other filters are looked up row by row, bounded by BUDGET. One run's lines are few and come in the order written.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from sqlalchemy import and_, bindparam, func, or_, select, text, true

from pyscheduler.model.run import LogbookLine
from pyscheduler.store import rows, schema
from pyscheduler.store.questions import LineQuery, Page, cursor_at, no_cursor, position
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.run_streams import FOREVER
from pyscheduler.store.statements import Statement, compiled
from pyscheduler.store.streams import Piece, Row, gathered, stream, whole

BUDGET: Final = 10_000
SCHEDULER: Final = "scheduler"
"""The actor whose lines are not in the index of what people did."""

_Position = tuple[int, int]
"""An instant in microseconds and a line's number: the last item of the page before."""
_events: Final = schema.events.c
_COLUMNS: Final = ("at", "id", "actor", "action", "job", "run_id", "detail")


def list_lines(snapshot: Snapshot, query: LineQuery) -> Page[LogbookLine]:
    """Return one page. Raises BadRequest for a cursor that is none of ours."""
    start = None if query.cursor is None else _position(query.cursor)  # refused also where there is no line to list
    found = gathered(_candidates(snapshot, query, start), _check(query), query.limit, BUDGET)
    last = found.resume_after
    return Page(tuple(map(_line_of, found.rows)), None if last is None else cursor_at(last[0], last[1]))


def _line_of(row: Row) -> LogbookLine:
    at, number, actor, action, job, run_id, detail = row
    return rows.line_of((number, at, actor, action, run_id, job, detail))


def _check(query: LineQuery) -> Callable[[Row], bool]:
    low, high = _bounds(query)
    wanted = (query.actor, query.action, query.job, query.run_id)
    needle = query.text.casefold()

    def check(row: Row) -> bool:
        return (
            low <= row[0] <= high
            and all(want is None or want == found for want, found in zip(wanted, row[2:6], strict=True))
            and (not needle or _says(row, needle))
        )

    return check


def _says(row: Row, needle: str) -> bool:
    """Whether a line holds a text; where the line is long, as it was written down."""
    _at, _number, actor, action, job, run_id, detail = row
    return any(needle in text.casefold() for text in (actor, action, run_id or job or "", detail))


def _bounds(query: LineQuery) -> tuple[int, int]:
    low = -FOREVER if query.since is None else rows.micros(query.since)
    return low, FOREVER if query.until is None else rows.micros(query.until) - 1


def _candidates(snapshot: Snapshot, query: LineQuery, start: _Position | None) -> Iterator[Row]:
    """Yield, in list order, lines among which every wanted one is."""
    if query.run_id is not None:
        return _stream(snapshot, {"run_id": query.run_id}, query, start)
    if query.actor is not None and query.actor != SCHEDULER:
        return _stream(snapshot, {"actor": query.actor}, query, start)
    job = {} if query.job is None else {"job": query.job}
    actions = [query.action] if query.action is not None else _actions(snapshot, job)
    streams = [_stream(snapshot, {**job, "action": action}, query, start) for action in actions]
    return heapq.merge(*streams, key=lambda row: (row[0], row[1]), reverse=query.newest_first)


def _actions(snapshot: Snapshot, job: Mapping[str, str]) -> list[str]:
    """Return the kinds of action that the logbook, or one job's part of it, has: a few dozen."""
    return [row[0] for row in snapshot.rows(_kinds(bool(job)), **job)]


def _stream(snapshot: Snapshot, equal: Mapping[str, str], query: LineQuery, start: _Position | None) -> Iterator[Row]:
    statement = _walk(tuple(equal), query.newest_first)
    low, high = _bounds(query)
    newest = query.newest_first

    def fetch(last: Row | None, count: int) -> Piece:
        at, number = last[:2] if last is not None else start or ((high, FOREVER) if newest else (low, -FOREVER))
        near_low, near_high = (low, min(high, at)) if newest else (max(low, at), high)
        place = {"low": near_low, "high": near_high, "at": at, "number": number, "count": count}
        return whole(snapshot.rows(statement, **equal, **place), count)

    return stream(fetch)


def _position(cursor: str) -> _Position:
    at, number = position(cursor)
    if not number.isdecimal() or len(number) > 18:
        raise no_cursor(cursor)
    return at, int(number)


# --------------------------------------------------------------------------- the statements


@cache
def _walk(equal: tuple[str, ...], newest_first: bool) -> Statement:
    at, number = _events.at, _events.id
    after_at: Any = bindparam("at")
    after_number: Any = bindparam("number")
    chosen: list[Any] = [_events[name] == bindparam(name) for name in equal]
    if equal == ("actor",):
        chosen.append(text(schema.BY_A_PERSON))
    if equal == ("run_id",):
        chosen.append(number < after_number if newest_first else number > after_number)
        order: list[Any] = [number.desc() if newest_first else number]
    else:
        beyond = (
            or_(at < after_at, number < after_number) if newest_first else or_(at > after_at, number > after_number)
        )
        chosen += [at >= bindparam("low"), at <= bindparam("high"), beyond]
        order = [at.desc(), number.desc()] if newest_first else [at, number]
    found = select(*(_events[name] for name in _COLUMNS)).where(and_(true(), *chosen)).order_by(*order)
    return compiled(found.limit(bindparam("count")))


@cache
def _kinds(of_job: bool) -> Statement:
    """Hop from action to action over the index."""
    action = _events.action
    chosen = [_events.job == bindparam("job")] if of_job else []
    hops = select(func.min(action).label("action")).where(*chosen).cte("kinds", recursive=True)
    following = select(func.min(action)).where(*chosen, action > hops.c.action).scalar_subquery()
    hops = hops.union_all(select(following).where(hops.c.action.is_not(None)))
    return compiled(select(hops.c.action).where(hops.c.action.is_not(None)))
