"""The list of runs that people page through, with any mix of filters. Spec: jobs.md 13.4; DESIGN 7, 8 row 16, 10.

How a page is found, by what is chosen:

| chosen | read from |
|---|---|
| jobs and run dates | those jobs' runs of those dates, sorted here, while they are at most CORNER_ROWS |
| jobs | a stream for each job, state and trigger, opened lazily, while there are at most HEADS |
| run date | a stream for each state and trigger of that date |
| neither, or too many of them | a stream for each state and trigger |
| more than FEW_JOBS jobs | first, a look at the last two, longer if it promises: many jobs are mostly most of them |

Every row is checked against the whole query again, whatever it was read from: the choice of streams makes a page
fast, never right or wrong. What is left to the check alone (a hundred thousand jobs, a text) is bounded by BUDGET
rows a page.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from sqlalchemy import bindparam, func, select

from pyscheduler.model.run import Run
from pyscheduler.store import columns, rows, run_streams, schema
from pyscheduler.store.questions import Page, RunQuery, cursor_at
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.run_streams import Window
from pyscheduler.store.statements import Statement, compiled, is_one_of
from pyscheduler.store.streams import Gathered, Row, gathered
from pyscheduler.store.wanted import Wanted, resolved, window_of

HEADS: Final = 10_000
"""Look-ups at most to find the first run of every job, state and trigger chosen: about ten milliseconds."""
HEADS_FOR_REASONS: Final = 100
"""The same where each stream then has to be sieved by reason."""
CORNER_JOBS: Final = 2_000
CORNER_ROWS: Final = 2_000
FEW_JOBS: Final = 50
"""Up to so many jobs are looked for one by one at once."""
A_TRY: Final = 3_000
LONGEST_TRY: Final = 16_000
"""Rows looked at before many jobs are looked for one by one; beyond A_TRY only where the page is then likely full."""
BUDGET: Final = 8_000
BUDGET_FOR_REASONS: Final = 3_000
"""Rows looked at for one page; fewer where the reason must be read, which no list's index holds."""
NAMES_FOUND: Final = 500
"""Jobs at most that the beginning of a run id may name."""


def list_runs(snapshot: Snapshot, query: RunQuery) -> Page[Run]:
    """Return one page. Raises BadRequest for a cursor that is none of ours."""
    wanted = resolved(query, partial(jobs_beginning_with, snapshot, limit=NAMES_FOUND))
    found = _found(snapshot, wanted, window_of(query), query.limit)
    last = found.resume_after
    next_cursor = None if last is None else cursor_at(last[1], last[0])
    return Page(runs_of_ids(snapshot, [row[0] for row in found.rows]), next_cursor)


def runs_of_ids(snapshot: Snapshot, run_ids: Collection[str]) -> tuple[Run, ...]:
    """Return the runs of these ids in their order; one that is not there is left out."""
    found = {row[0]: row for row in snapshot.rows(_runs_of_ids(), run_ids=json.dumps(list(run_ids)))}
    return tuple(rows.run_of(found[run_id]) for run_id in run_ids if run_id in found)


def jobs_beginning_with(snapshot: Snapshot, beginning: str, limit: int) -> frozenset[str]:
    """Return the names of up to `limit` jobs that have runs and begin so."""
    statement = _jobs_beginning_with()
    found = snapshot.rows(statement, low=beginning, high=beginning + run_streams.HIGHEST_ID, count=limit)
    return frozenset(row[0] for row in found)


# --------------------------------------------------------------------------- where to read it


def _found(snapshot: Snapshot, wanted: Wanted, window: Window, limit: int) -> Gathered:
    """Return the rows of one page."""
    if wanted.jobs is not None and not wanted.jobs:
        return Gathered([], None)
    choices = run_streams.choices(snapshot.rows, wanted.ended, wanted.triggers, window)
    source = _Source(snapshot, wanted, window, choices)
    budget = BUDGET_FOR_REASONS if wanted.more else BUDGET
    many = len(wanted.jobs or ()) > FEW_JOBS
    if wanted.jobs is None or not source.may_go_by_job or (many and wanted.more):
        return _gathered(source.everywhere(), wanted, limit, budget)
    if many:
        found = _gathered(source.everywhere(), wanted, limit, A_TRY)
        likely = A_TRY + A_TRY * limit // max(1, len(found.rows))
        if A_TRY < likely <= LONGEST_TRY:
            found = _gathered(source.everywhere(), wanted, limit, likely)
        if len(found.rows) == limit or found.resume_after is None:
            return found
    by_job = source.by_job()
    return _gathered(source.everywhere() if by_job is None else by_job, wanted, limit, budget)


def _gathered(rows_in_order: Iterator[Row], wanted: Wanted, limit: int, budget: int) -> Gathered:
    return gathered(rows_in_order, wanted.keeps, limit, budget, run_streams.cost)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the rows come from, in list order; every wanted one is among them.

    `choices` are the states and triggers that ended runs of the window have.
    """

    snapshot: Snapshot
    wanted: Wanted
    window: Window
    choices: list[tuple[str, str]]

    @property
    def may_go_by_job(self) -> bool:
        """Whether the chosen jobs are few enough to be looked at one by one."""
        return self._has_corner or self._has_few_heads

    def everywhere(self) -> Iterator[Row]:
        """Return the merge of a stream for each state and trigger, of the one run date if there is one."""
        day = {} if self.wanted.day is None else {"run_date": self.wanted.day}
        sieve = self.wanted.sieve.without("states", "trigger", *(("dates",) if day else ()))
        equals = ({**day, "state": state, "trigger": trigger} for state, trigger in self.choices)
        return self._with_open(
            run_streams.ended(self.snapshot.rows, equal, self.window, self.wanted.more, sieve=sieve) for equal in equals
        )

    def by_job(self) -> Iterator[Row] | None:
        """Return the chosen jobs' own runs, None where they turn out to be too many."""
        corner = self._corner() if self._has_corner else None
        if corner is not None or not self._has_few_heads:
            return corner
        return self._with_open(self._job_streams())

    @property
    def _has_corner(self) -> bool:
        return self.wanted.dates is not None and len(self.wanted.jobs or ()) <= CORNER_JOBS

    @property
    def _has_few_heads(self) -> bool:
        heads = len(self.wanted.jobs or ()) * len(self.choices)
        return self.wanted.day is None and heads <= (HEADS_FOR_REASONS if self.wanted.more else HEADS)

    def _corner(self) -> Iterator[Row] | None:
        """Return the chosen jobs' runs of the chosen dates, sorted here, if there are not too many."""
        assert self.wanted.dates is not None
        count = CORNER_ROWS + 1
        found = run_streams.of_dates(
            self.snapshot.rows, self._jobs, self.wanted.dates, self.window, self.wanted.more, count=count
        )
        if len(found) == count:
            return None
        return iter(sorted(found, key=run_streams.key, reverse=not self.window.newest_first))

    def _job_streams(self) -> Iterator[Iterator[Row]]:
        sieve = self.wanted.sieve.without("states", "trigger", "jobs")
        states, triggers = (json.dumps(sorted({choice[part] for choice in self.choices})) for part in (0, 1))
        rows_of, more = self.snapshot.rows, self.wanted.more
        for job, head in run_streams.heads_of_jobs(rows_of, self._jobs, states, triggers, self.window, more):
            equal = {"job": job, "state": head[2], "trigger": head[3]}
            yield run_streams.ended(rows_of, equal, self.window, more, sieve=sieve, first=head)

    def _with_open(self, ended: Iterator[Iterator[Row]]) -> Iterator[Row]:
        streams = list(ended)
        if self.wanted.open:
            sieve = self.wanted.sieve
            streams.append(run_streams.still_open(self.snapshot.rows, self.window, self.wanted.more, sieve=sieve))
        return run_streams.merge(streams, newest_first=self.window.newest_first)

    @property
    def _jobs(self) -> str:
        return json.dumps(sorted(self.wanted.jobs or ()))


# --------------------------------------------------------------------------- the statements


@cache
def _runs_of_ids() -> Statement:
    every = (schema.runs.c[name] for name in columns.RUN)
    return compiled(select(*every).where(is_one_of(schema.runs.c.run_id, "run_ids")))


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
