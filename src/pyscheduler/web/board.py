"""The board: one row a run of a run date, worst first, a page of 200 at a time; and the rows that have changed.

`/` is the page, its filters all in the address. `/board/rows` renders single rows anew, for the page to patch in place;
`/board/ids` names the runs that match, for a selection of more than a page. Spec: jobs.md 15.8; the issue, "Board".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from pyscheduler.api.answers import Json
from pyscheduler.api.asking import Asked, Day
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import RunState
from pyscheduler.web.board_reading import BoardReader
from pyscheduler.web.board_rows import ROWS, Arranged, Wanted
from pyscheduler.web.day_sheets import DaySheets, Sheet
from pyscheduler.web.offers import ALL, OFFERS
from pyscheduler.web.packing import takes_gzip
from pyscheduler.web.press import Press
from pyscheduler.web.shared import Shared
from pyscheduler.web.words import LOOKS

IDS: Final = 1000
"""Runs that one selection may hold: what the bulk actions take."""
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
    board, shared = _Board(desk, BoardReader(desk, sheets)), Shared[Response]()

    @routes.get("/")
    async def page(request: Request, asked: Annotated[BoardAsked, Query()]) -> Response:
        """Show the board of a run date, today's unless another is asked for."""
        return await press.page(request, "board.html", "/", **await board.values(asked))

    @routes.get("/board/rows")
    async def rows(request: Request, asked: Annotated[RowsAsked, Query()]) -> Response:
        """Render the rows of some runs, and the day's counts: the same for everybody of one role."""
        sheet = await sheets.sheet(asked.date)
        packs = takes_gzip(request.headers.getlist("accept-encoding"))
        key = (asked.date, asked.ids, caller_of(request.scope).role, sheet.version, packs)

        async def printed() -> Response:
            return await press.page(request, "board_rows.html", "/", **await board.changed(asked))

        answer = await shared.once(key, printed)
        return Response(answer.body, headers=dict(answer.headers))

    @routes.get("/board/ids")
    async def ids(asked: Annotated[BoardAsked, Query()]) -> Json:
        """Name the runs that match, at most 1,000, worst first."""
        arranged = await board.worst(asked)
        return Json({"ids": [place.run.run_id for place in arranged.places], "matching": arranged.matching})

    return routes


class _Board:
    """What the templates of one desk's boards are given."""

    def __init__(self, desk: FrontDesk, reader: BoardReader) -> None:
        self._desk, self._reader = desk, reader
        self._tagged: tuple[Mapping[str, Job] | None, list[str]] = (None, [])

    async def values(self, asked: BoardAsked) -> dict[str, Any]:
        """Return what a page needs."""
        day = self._day(asked)
        sheet, arranged, rows = await self._reader.page(day, _wanted(asked), asked.page)
        return {
            "asked": asked,
            "day": day,
            "before": max(FIRST_DAY, day - timedelta(days=1)),
            "after": min(LAST_DAY, day + timedelta(days=1)),
            "arranged": arranged,
            "rows": rows,
            "counts": _all_counts(sheet),
            "is_partial": not sheet.holds_all,
            "looks": LOOKS,
            "tags": self._tags(),
            "criticalities": [each.word for each in reversed(Criticality)],
            "offers": ALL,
            "menus": OFFERS,
            "jobs": len(self._desk.engine.config.jobs),
        }

    async def worst(self, asked: BoardAsked) -> Arranged:
        """Return the first runs of what is asked for, for a selection."""
        return await self._reader.worst(self._day(asked), _wanted(asked), IDS)

    async def changed(self, asked: RowsAsked) -> dict[str, Any]:
        """Return what the rows of some runs need, those that are still there, and the day's counts."""
        sheet, rows = await self._reader.some(asked.date, asked.ids.split(",")[:ROWS])
        return {"day": asked.date, "rows": rows, "counts": _all_counts(sheet), "looks": LOOKS}

    def _day(self, asked: BoardAsked) -> date:
        """Return the run date that is meant. Raises BadRequest outside the years that jobs can have."""
        day = asked.date or self._desk.today()
        if not FIRST_DAY <= day <= LAST_DAY:
            raise BadRequest(f"{day} lies outside the years 1900 to 2999", mend="choose another date")
        return day

    def _tags(self) -> list[str]:
        """Return every tag there is, worked out once a configuration."""
        jobs = self._desk.engine.config.jobs
        if jobs is not self._tagged[0]:
            self._tagged = jobs, sorted({tag for job in jobs.values() for tag in job.tags})
        return self._tagged[1]


def _wanted(asked: BoardAsked) -> Wanted:
    criticality = Criticality[asked.criticality.upper()] if asked.criticality else None
    return Wanted(frozenset(asked.state), asked.tag, criticality, asked.q.strip())


def _all_counts(sheet: Sheet) -> dict[RunState, int]:
    """Return the counts of the whole day, in the order of the chips, zeros included."""
    return {state: sheet.counts[state] for state in LOOKS}
