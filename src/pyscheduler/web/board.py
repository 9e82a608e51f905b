"""The board: one row a run of a run date, worst first, a page of 200 at a time; and the rows that have changed.

`/` is the page, its filters all in the address. `/board/rows` renders single rows anew, for the page to patch in place;
`/board/ids` names the runs that match, for a selection of more than a page. Spec: jobs.md 15.8; the issue, "Board".
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import HTMLResponse, Response

from pyscheduler.api.answers import Json
from pyscheduler.api.asking import Asked, Day
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.durations import Durations
from pyscheduler.api.gates import caller_of
from pyscheduler.engine.core import Engine
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Criticality
from pyscheduler.model.run import Run, RunState
from pyscheduler.store.reads import Reads
from pyscheduler.web.board_rows import Arranged, Facts, Row, Wanted, arrange, row_of, told
from pyscheduler.web.day_sheets import DaySheets, Sheet
from pyscheduler.web.offers import ALL, OFFERS
from pyscheduler.web.press import HEADERS, Press
from pyscheduler.web.shared import Shared
from pyscheduler.web.waiting_for import waiting_for
from pyscheduler.web.words import LOOKS
from pyscheduler.web.worst_first import UNKNOWN, Group, Pace, group_of

IDS: Final = 1000
"""Runs that one selection may hold: what the bulk actions take."""
AT_ONCE: Final = 10
"""Rows whose culprits are looked for in one turn of the loop."""
FIRST_DAY: Final = date(1900, 1, 1)
LAST_DAY: Final = date(2999, 12, 31)


def _empty_is_none(value: Any) -> Any:
    """Return None for a field of a form that was left empty."""
    return None if value == "" else value


class BoardAsked(Asked):
    """A board, as its address has it. What a form leaves empty does not restrict."""

    date: Annotated[Day | None, BeforeValidator(_empty_is_none)] = None
    state: Annotated[list[RunState], Field(default_factory=list)]
    tag: Annotated[str, Field(max_length=64)] = ""
    criticality: Literal["", "low", "normal", "high", "critical"] = ""
    q: Annotated[str, Field(max_length=100)] = ""
    page: Annotated[int, Field(ge=1, le=100_000)] = 1


class RowsAsked(Asked):
    """Rows to render anew, by run id with commas between."""

    date: Day
    ids: Annotated[str, Field(max_length=14_000)]


def router(desk: FrontDesk, press: Press, sheets: DaySheets) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)
    board, shared = _Board(desk, sheets), Shared()

    @routes.get("/")
    async def page(request: Request, asked: Annotated[BoardAsked, Query()]) -> Response:
        """Show the board of a run date, today's unless another is asked for."""
        return await press.page(request, "board.html", "/", **await board.values(asked))

    @routes.get("/board/rows")
    async def rows(request: Request, asked: Annotated[RowsAsked, Query()]) -> Response:
        """Render the rows of some runs, and the day's counts."""
        sheet = await sheets.sheet(asked.date)
        key = (asked.date, asked.ids, caller_of(request.scope).role, sheet.version)
        body = await shared.once(key, lambda: board.printed_rows(request, press, asked))
        return HTMLResponse(body, headers=dict(HEADERS))

    @routes.get("/board/ids")
    async def ids(asked: Annotated[BoardAsked, Query()]) -> Json:
        """Name the runs that match, at most 1,000, worst first."""
        arranged = await board.arranged(asked, IDS)
        return Json({"ids": [run.run_id for run, _ in arranged.runs], "matching": arranged.matching})

    return routes


class _Board:
    """Answers for one desk."""

    def __init__(self, desk: FrontDesk, sheets: DaySheets) -> None:
        self._desk, self._sheets, self._durations = desk, sheets, Durations()

    def day(self, asked: BoardAsked) -> date:
        """Return the run date that is meant. Raises BadRequest outside the years that jobs can have."""
        day = asked.date or self._desk.today()
        if not FIRST_DAY <= day <= LAST_DAY:
            raise BadRequest(f"{day} lies outside the years 1900 to 2999", mend="choose another date")
        return day

    async def values(self, asked: BoardAsked) -> dict[str, Any]:
        """Return what the board's template needs."""
        day, engine = self.day(asked), self._desk.engine
        sheet = await self._sheets.sheet(day)
        arranged = await self.arranged(asked)
        shown = await self._rows(arranged.runs, engine)
        jobs = engine.config.jobs.values()
        return {
            "asked": asked,
            "day": day,
            "before": max(FIRST_DAY, day - timedelta(days=1)),
            "after": min(LAST_DAY, day + timedelta(days=1)),
            "arranged": arranged,
            "rows": shown,
            "counts": _all_counts(sheet),
            "is_partial": not sheet.holds_all,
            "looks": LOOKS,
            "tags": sorted({tag for job in jobs for tag in job.tags}),
            "criticalities": [each.word for each in reversed(Criticality)],
            "offers": ALL,
            "menus": OFFERS,
            "jobs": len(jobs),
        }

    async def arranged(self, asked: BoardAsked, rows: int = 0) -> Arranged:
        """Return a page of what is asked for; with `rows` the first so many."""
        engine, day = self._desk.engine, self.day(asked)
        sheet = await self._sheets.sheet(day)
        facts, wanted = await self._facts(engine, sheet), _wanted(asked)
        runs = list(sheet.runs.values())
        if rows:
            return await self._desk.threads(arrange, runs, wanted, facts, 1, rows)
        return await self._desk.threads(arrange, runs, wanted, facts, asked.page)

    async def printed_rows(self, request: Request, press: Press, asked: RowsAsked) -> bytes:
        """Return the rows of some runs, printed: the same for everybody of one role who asks for them."""
        page = await press.page(request, "board_rows.html", "/", **await self._changed(asked))
        return bytes(page.body)

    async def _changed(self, asked: RowsAsked) -> dict[str, Any]:
        """Return the rows of some runs of a day, those that are still there, and the day's counts."""
        engine, ids = self._desk.engine, asked.ids.split(",")
        sheet = await self._sheets.sheet(asked.date)
        facts = await self._facts(engine, sheet)
        runs = [run for run_id in ids[:200] if (run := sheet.runs.get(run_id)) is not None]
        grouped = [(run, self._group(run, facts)) for run in runs]
        return {
            "day": asked.date,
            "rows": await self._rows(grouped, engine),
            "counts": _all_counts(sheet),
            "looks": LOOKS,
        }

    def _group(self, run: Run, facts: Facts) -> Group:
        return group_of(run, facts.jobs.get(run.job), facts.now, facts.paces.get(run.run_id, UNKNOWN))

    async def _facts(self, engine: Engine, sheet: Sheet) -> Facts:
        """Return what decides about the order: the jobs, the time, and how long what runs has taken."""
        now, started = engine.clock.now(), {}
        for run_id in list(engine.admission.holders):
            run, attempt = sheet.runs.get(run_id), engine.desk.latest_attempt(run_id)
            if run is not None and attempt is not None and attempt.ended_at is None:
                started[run_id] = (run.job, attempt.started_at)
        self._durations.listen_to(engine)
        typical = await self._typical(job for job, _ in started.values())
        paces = {
            run_id: Pace((now - began).total_seconds(), typical.get(job)) for run_id, (job, began) in started.items()
        }
        return Facts(engine.config.jobs, now, paces)

    async def _typical(self, jobs: Any) -> dict[str, float]:
        names = set(jobs)
        return await self._desk.threads(self._durations.of, names) if names else {}

    async def _rows(self, grouped: Sequence[tuple[Run, Group]], engine: Engine) -> list[Row]:
        """Return the rows of a page's runs: what the store knows of them, and what the loop does."""
        now, jobs = engine.clock.now(), engine.config.jobs
        self._durations.listen_to(engine)
        rows = await self._desk.ask(lambda store: self._read(store, grouped, jobs, now))
        for index, row in enumerate(rows):
            rows[index] = told(row, self._desk.with_reason(row.run), waiting_for(engine, row.run))
            if index % AT_ONCE == 0:
                await asyncio.sleep(0)  # a chain of blame takes a moment, and the loop has others to serve
        return rows

    def _read(self, store: Reads, grouped: Sequence[tuple[Run, Group]], jobs: Any, now: datetime) -> list[Row]:
        """Make the rows, with latest attempts and typical durations. Blocks: for a helper thread."""
        latest = store.latest_attempts([run.run_id for run, _ in grouped if run.attempt])
        typical = self._durations.of({run.job for run, _ in grouped if run.attempt})
        return [
            row_of(run, group, jobs.get(run.job), latest.get(run.run_id), typical.get(run.job), now)
            for run, group in grouped
        ]


def _wanted(asked: BoardAsked) -> Wanted:
    criticality = Criticality[asked.criticality.upper()] if asked.criticality else None
    return Wanted(frozenset(asked.state), asked.tag, criticality, asked.q.strip())


def _all_counts(sheet: Sheet) -> dict[RunState, int]:
    """Return the counts of the whole day, in the order of the chips, zeros included."""
    return {state: sheet.counts[state] for state in LOOKS}
