"""The list of runs that people page through, with any mix of filters. Spec: jobs.md 13.4; DESIGN 7, 8 row 16, 10.

How a page is found, by what is chosen:

| chosen | read from |
|---|---|
| jobs and run dates | those jobs' runs of those dates, sorted here, while they are at most CORNER_ROWS |
| jobs | a stream for each job, state and trigger, opened lazily, while there are at most HEADS |
| run date | a stream for each state and trigger of that date |
| neither, or too many of them | a stream for each state and trigger |

Every row is checked against the whole query again, whatever it was read from: the choice of streams makes a page
fast, never right or wrong. What is left to the check alone (a hundred thousand jobs, a text) is bounded by BUDGET
rows a page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlalchemy import bindparam, func, select

from pyscheduler.errors import BadRequest
from pyscheduler.model.run import FINAL_STATES, OPEN_STATES, Run, RunState, Trigger
from pyscheduler.store import rows, run_streams, schema
from pyscheduler.store.questions import Page, RunQuery
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.run_streams import Window
from pyscheduler.store.statements import Statement, compiled, is_one_of
from pyscheduler.store.streams import Row, gathered

HEADS: Final = 10_000
"""Look-ups at most to find the first run of every job, state and trigger chosen: about ten milliseconds."""
CORNER_JOBS: Final = 2_000
CORNER_ROWS: Final = 3_000
BUDGET: Final = 10_000
BUDGET_FOR_REASONS: Final = 5_000
"""Rows looked at for one page; fewer where the reason must be read, which no list's index holds."""
NAMES_FOUND: Final = 500
"""Jobs at most that the beginning of a run id may name."""

Check = Callable[[Row], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A query with its text resolved. `dates` are the lowest and highest run date, as text."""

    jobs: frozenset[str] | None
    dates: tuple[str, str] | None
    ended: tuple[str, ...]
    open: bool
    triggers: tuple[str, ...]
    checks: tuple[Check, ...]
    more: tuple[str, ...]

    def keeps(self, row: Row) -> bool:
        return all(check(row) for check in self.checks)


def list_runs(snapshot: Snapshot, query: RunQuery) -> Page[Run]:
    """Return one page. Raises BadRequest for a cursor that is none of ours."""
    wanted = _resolved(snapshot, query)
    found = gathered(
        _candidates(snapshot, wanted, _window(query)),
        wanted.keeps,
        query.limit,
        BUDGET_FOR_REASONS if wanted.more else BUDGET,
    )
    last = found.resume_after
    return Page(runs_of_ids(snapshot, [row[1] for row in found.rows]), None if last is None else f"{last[0]}~{last[1]}")


def runs_of_ids(snapshot: Snapshot, run_ids: Collection[str]) -> tuple[Run, ...]:
    """Return the runs of these ids in their order; one that is not there is left out."""
    found = {row[0]: row for row in snapshot.rows(_runs_of_ids(), run_ids=json.dumps(list(run_ids)))}
    return tuple(rows.run_of(found[run_id]) for run_id in run_ids if run_id in found)


# --------------------------------------------------------------------------- what is wanted


def _window(query: RunQuery) -> Window:
    whole = Window.whole(newest_first=query.newest_first)
    low = whole.low if query.since is None else rows.micros(query.since)
    high = whole.high if query.until is None else rows.micros(query.until) - 1
    window = Window(newest_first=query.newest_first, low=low, high=high, tie=whole.tie)
    return window if query.cursor is None else window.after(*_position(query.cursor))


def _position(cursor: str) -> tuple[int, str]:
    at, tilde, run_id = cursor.partition("~")
    if not tilde or not at.removeprefix("-").isdecimal():
        raise BadRequest(f"{cursor!r} is no cursor of this list", mend="pass on next_cursor as it came")
    return int(at), run_id


def _resolved(snapshot: Snapshot, query: RunQuery) -> _Wanted:
    states = frozenset(query.states) or frozenset(RunState)
    jobs = None if query.jobs is None else frozenset(query.jobs)
    if query.job is not None:
        jobs = frozenset({query.job}) if jobs is None else jobs & {query.job}
    day = None if query.run_date is None else query.run_date.isoformat()
    dates = None if day is None else (day, day)
    ranged = day is not None or query.since is not None
    if query.text and not ranged:
        named, dates = _named_by(snapshot, query)
        jobs = named if jobs is None else jobs & named
    return _Wanted(
        jobs=jobs,
        dates=dates,
        ended=tuple(sorted(states & FINAL_STATES)),
        open=bool(states & OPEN_STATES),
        triggers=tuple(Trigger) if query.trigger is None else (query.trigger,),
        checks=tuple(_checks(query, jobs, dates, ranged=ranged)),
        more=("reason",) if query.text and ranged else (),
    )


def _checks(
    query: RunQuery, jobs: frozenset[str] | None, dates: tuple[str, str] | None, *, ranged: bool
) -> Iterator[Check]:
    """Yield what a row of KEY's columns (and its reason) must pass."""
    if query.states:
        states = frozenset(query.states)
        yield lambda row: row[2] in states
    if query.trigger is not None:
        trigger = query.trigger
        yield lambda row: bool(row[3] == trigger)
    if jobs is not None:
        yield lambda row: row[1].partition(".")[0] in jobs
    if dates is not None:
        low, high = dates
        yield lambda row: low <= row[1].split(".")[1] <= high
    if query.text:
        yield _text_check(query, ranged=ranged)


def _text_check(query: RunQuery, *, ranged: bool) -> Check:
    beginning, named, needle = query.text, frozenset(query.text_jobs), query.text.casefold()

    def check(row: Row) -> bool:
        run_id: str = row[1]
        if run_id.startswith(beginning) or run_id.partition(".")[0] in named:
            return True
        return ranged and needle in row[4].casefold()

    return check


def _named_by(snapshot: Snapshot, query: RunQuery) -> tuple[frozenset[str], tuple[str, str] | None]:
    """Return the jobs that the text can mean, and the run dates where it goes on into one."""
    name, dot, rest = query.text.partition(".")
    if not dot:
        return frozenset(query.text_jobs) | jobs_beginning_with(snapshot, name, NAMES_FOUND), None
    day = rest.partition(".")[0]
    return frozenset(query.text_jobs) | {name}, None if query.text_jobs else (day, day + run_streams.HIGHEST_ID)


def jobs_beginning_with(snapshot: Snapshot, beginning: str, limit: int) -> frozenset[str]:
    """Return the names of up to `limit` jobs that have runs and begin so."""
    statement = _jobs_beginning_with()
    found = snapshot.rows(statement, low=beginning, high=beginning + run_streams.HIGHEST_ID, count=limit)
    return frozenset(row[0] for row in found)


# --------------------------------------------------------------------------- where to read it


def _candidates(snapshot: Snapshot, wanted: _Wanted, window: Window) -> Iterator[Row]:
    """Yield, in list order, rows among which every wanted one is."""
    if wanted.jobs is not None and not wanted.jobs:
        return iter(())
    if wanted.jobs is not None and wanted.dates is not None and len(wanted.jobs) <= CORNER_JOBS:
        jobs = json.dumps(sorted(wanted.jobs))
        corner = run_streams.of_dates(snapshot.rows, jobs, wanted.dates, window, wanted.more, count=CORNER_ROWS + 1)
        if len(corner) <= CORNER_ROWS:
            return iter(sorted(corner, key=run_streams.key, reverse=not window.newest_first))
    streams = list(_ended_streams(snapshot, wanted, window))
    if wanted.open:
        streams.append(run_streams.still_open(snapshot.rows, window, wanted.more))
    return run_streams.merge(streams, newest_first=window.newest_first)


def _ended_streams(snapshot: Snapshot, wanted: _Wanted, window: Window) -> Iterator[Iterator[Row]]:
    choices = [(state, trigger) for state in wanted.ended for trigger in wanted.triggers]
    one_day = wanted.dates is not None and wanted.dates[0] == wanted.dates[1]
    if wanted.jobs is not None and not one_day and len(wanted.jobs) * len(choices) <= HEADS:
        yield from _job_streams(snapshot, wanted, wanted.jobs, window)
        return
    day = {"run_date": wanted.dates[0]} if one_day and wanted.dates is not None else {}
    for state, trigger in choices:
        yield run_streams.ended(snapshot.rows, {**day, "state": state, "trigger": trigger}, window, wanted.more)


def _job_streams(snapshot: Snapshot, wanted: _Wanted, jobs: frozenset[str], window: Window) -> Iterator[Iterator[Row]]:
    lists = (json.dumps(sorted(jobs)), json.dumps(wanted.ended), json.dumps(wanted.triggers))
    for job, head in run_streams.heads_of_jobs(snapshot.rows, *lists, window, wanted.more):
        equal = {"job": job, "state": head[2], "trigger": head[3]}
        yield run_streams.ended(snapshot.rows, equal, window, wanted.more, first=head)


# --------------------------------------------------------------------------- the statements


@cache
def _runs_of_ids() -> Statement:
    columns = (schema.runs.c[name] for name in rows.RUN)
    return compiled(select(*columns).where(is_one_of(schema.runs.c.run_id, "run_ids")))


@cache
def _jobs_beginning_with() -> Statement:
    """Hop from name to name over the index, instead of reading every run's."""
    job = schema.runs.c.job
    first = select(func.min(job).label("job")).where(job >= bindparam("low"))
    names = first.cte("names", recursive=True)
    following = select(func.min(job)).where(job > names.c.job).scalar_subquery()
    names = names.union_all(select(following).where(names.c.job < bindparam("high")))
    found = select(names.c.job).where(names.c.job < bindparam("high"))
    return compiled(found.limit(bindparam("count")))
