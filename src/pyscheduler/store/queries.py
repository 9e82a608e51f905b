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
import string
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlalchemy import bindparam, func, select

from pyscheduler.model.run import FINAL_STATES, OPEN_STATES, Run, RunState, Trigger
from pyscheduler.store import rows, run_streams, schema
from pyscheduler.store.questions import Page, RunQuery, cursor_at, position
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.run_streams import Sieve, Window
from pyscheduler.store.statements import Statement, compiled, is_one_of
from pyscheduler.store.streams import Gathered, Row, gathered

HEADS: Final = 10_000
"""Look-ups at most to find the first run of every job, state and trigger chosen: about ten milliseconds."""
CORNER_JOBS: Final = 2_000
CORNER_ROWS: Final = 3_000
FEW_JOBS: Final = 50
"""Up to so many jobs are looked for one by one at once."""
A_TRY: Final = 4_000
BUDGET: Final = 20_000
BUDGET_FOR_REASONS: Final = 8_000
"""Rows looked at for one page; fewer where the reason must be read, which no list's index holds."""
NAMES_FOUND: Final = 500
"""Jobs at most that the beginning of a run id may name."""

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

Check = Callable[[Row], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A query with its text resolved. `dates` are the lowest and highest run date, as text.

    `sieve` and `checks` say the same: the one to SQLite, to pass over what is not wanted, the other here, for good.
    """

    jobs: frozenset[str] | None
    dates: tuple[str, str] | None
    ended: tuple[str, ...]
    open: bool
    triggers: tuple[str, ...]
    sieve: Sieve
    checks: tuple[Check, ...]
    more: tuple[str, ...]

    def keeps(self, row: Row) -> bool:
        return not run_streams.is_mark(row) and all(check(row) for check in self.checks)

    @property
    def day(self) -> str | None:
        """The one run date that is wanted."""
        return self.dates[0] if self.dates is not None and self.dates[0] == self.dates[1] else None


def list_runs(snapshot: Snapshot, query: RunQuery) -> Page[Run]:
    """Return one page. Raises BadRequest for a cursor that is none of ours."""
    found = _found(snapshot, _resolved(snapshot, query), _window(query), query.limit)
    last = found.resume_after
    return Page(
        runs_of_ids(snapshot, [row[1] for row in found.rows]), None if last is None else cursor_at(last[0], last[1])
    )


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
    return window if query.cursor is None else window.after(*position(query.cursor))


def _resolved(snapshot: Snapshot, query: RunQuery) -> _Wanted:
    states = frozenset(query.states) or frozenset(RunState)
    jobs = None if query.jobs is None else frozenset(query.jobs)
    if query.job is not None:
        jobs = frozenset({query.job}) if jobs is None else jobs & {query.job}
    day = None if query.run_date is None else query.run_date.isoformat()
    dates = None if day is None else (day, day)
    reasons = bool(query.text) and (day is not None or query.since is not None)
    if query.text and not reasons:
        named, dates = _named_by(snapshot, query)
        jobs = named if jobs is None else jobs & named
    return _Wanted(
        jobs=jobs,
        dates=dates,
        ended=tuple(sorted(states & FINAL_STATES)),
        open=bool(states & OPEN_STATES),
        triggers=tuple(Trigger) if query.trigger is None else (query.trigger,),
        sieve=_sieve(query, jobs, dates, reasons=reasons),
        checks=tuple(_checks(query, jobs, dates, reasons=reasons)),
        more=("reason",) if reasons else (),
    )


def _sieve(query: RunQuery, jobs: frozenset[str] | None, dates: tuple[str, str] | None, *, reasons: bool) -> Sieve:
    """Return what is wanted as SQL."""
    conditions: dict[str, dict[str, object]] = {}
    if query.states:
        conditions["states"] = {"states_wanted": json.dumps(sorted(query.states))}
    if query.trigger is not None:
        conditions["trigger"] = {"trigger_wanted": query.trigger.value}
    if jobs is not None:
        conditions["jobs"] = {"jobs_wanted": json.dumps(sorted(jobs))}
    if dates is not None:
        conditions["dates"] = {"low_date": dates[0], "high_date": dates[1]}
    if query.text:
        text_values: dict[str, object] = {"beginning": query.text, "jobs_named": json.dumps(sorted(query.text_jobs))}
        if reasons:
            conditions["reason"] = {**text_values, "needle": query.text.translate(_LOWER)}
        else:
            conditions["text"] = text_values
    return Sieve(conditions)


def _checks(
    query: RunQuery, jobs: frozenset[str] | None, dates: tuple[str, str] | None, *, reasons: bool
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
        yield _text_check(query, reasons=reasons)


def _text_check(query: RunQuery, *, reasons: bool) -> Check:
    beginning, named, needle = query.text, frozenset(query.text_jobs), query.text.translate(_LOWER)

    def check(row: Row) -> bool:
        run_id: str = row[1]
        if run_id.startswith(beginning) or run_id.partition(".")[0] in named:
            return True
        return reasons and needle in row[4].translate(_LOWER)

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


def _found(snapshot: Snapshot, wanted: _Wanted, window: Window, limit: int) -> Gathered:
    """Return the rows of one page. Many jobs are looked for among all runs first: they mostly are most of them."""
    if wanted.jobs is not None and not wanted.jobs:
        return Gathered([], None)
    if wanted.jobs is not None and wanted.day is None and len(wanted.jobs) > FEW_JOBS:
        found = _gathered(_merged(snapshot, wanted, window, _choices(snapshot, wanted, window)), wanted, limit, A_TRY)
        if len(found.rows) == limit or found.resume_after is None:
            return found
    return _gathered(
        _candidates(snapshot, wanted, window), wanted, limit, BUDGET_FOR_REASONS if wanted.more else BUDGET
    )


def _gathered(rows_in_order: Iterator[Row], wanted: _Wanted, limit: int, budget: int) -> Gathered:
    return gathered(rows_in_order, wanted.keeps, limit, budget, run_streams.cost)


def _candidates(snapshot: Snapshot, wanted: _Wanted, window: Window) -> Iterator[Row]:
    """Yield, in list order, rows among which every wanted one is."""
    if wanted.jobs is not None and wanted.dates is not None and len(wanted.jobs) <= CORNER_JOBS:
        corner = _corner(snapshot, wanted, wanted.jobs, wanted.dates, window)
        if len(corner) <= CORNER_ROWS:
            return iter(sorted(corner, key=run_streams.key, reverse=not window.newest_first))
    heads = 0 if wanted.jobs is None or wanted.day else len(wanted.jobs) * len(wanted.ended) * len(wanted.triggers)
    ended = _jobs if 0 < heads <= HEADS else _choices
    return _merged(snapshot, wanted, window, ended(snapshot, wanted, window))


def _merged(snapshot: Snapshot, wanted: _Wanted, window: Window, ended: Iterator[Iterator[Row]]) -> Iterator[Row]:
    """Return the ended runs and the open ones as one list."""
    streams = list(ended)
    if wanted.open:
        streams.append(run_streams.still_open(snapshot.rows, window, wanted.more, sieve=wanted.sieve))
    return run_streams.merge(streams, newest_first=window.newest_first)


def _corner(
    snapshot: Snapshot, wanted: _Wanted, jobs: frozenset[str], dates: tuple[str, str], window: Window
) -> list[Row]:
    sieve = wanted.sieve.without("jobs", "dates")
    given = json.dumps(sorted(jobs))
    return run_streams.of_dates(snapshot.rows, given, dates, window, wanted.more, sieve=sieve, count=CORNER_ROWS + 1)


def _choices(snapshot: Snapshot, wanted: _Wanted, window: Window) -> Iterator[Iterator[Row]]:
    """Yield a stream for each state and trigger, of the one run date if there is one."""
    day = {} if wanted.day is None else {"run_date": wanted.day}
    sieve = wanted.sieve.without("states", "trigger", *(("dates",) if day else ()))
    for state in wanted.ended:
        for trigger in wanted.triggers:
            equal = {**day, "state": state, "trigger": trigger}
            yield run_streams.ended(snapshot.rows, equal, window, wanted.more, sieve=sieve)


def _jobs(snapshot: Snapshot, wanted: _Wanted, window: Window) -> Iterator[Iterator[Row]]:
    """Yield a stream for each job, state and trigger that has any run in the window."""
    sieve = wanted.sieve.without("states", "trigger", "jobs")
    lists = (json.dumps(sorted(wanted.jobs or ())), json.dumps(wanted.ended), json.dumps(wanted.triggers))
    for job, head in run_streams.heads_of_jobs(snapshot.rows, *lists, window, wanted.more):
        equal = {"job": job, "state": head[2], "trigger": head[3]}
        yield run_streams.ended(snapshot.rows, equal, window, wanted.more, sieve=sieve, first=head)


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
