"""Runs and their attempts: lists in pages with filters, and one run with all that is known of it."""

from __future__ import annotations

from collections.abc import Collection
from itertools import starmap
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, written
from pyscheduler.api.asking import RunsAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.known import known, known_view, page_with_latest
from pyscheduler.api.questions import runs_asked
from pyscheduler.api.views import (
    ATTEMPT_COLUMNS,
    RUN_COLUMNS,
    attempt_view,
    run_view,
)
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt
from pyscheduler.store.questions import Page, RunQuery
from pyscheduler.store.reads import Reads

EVENTS_SHOWN: Final = 1000


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["runs"], responses=shapes.REFUSALS)

    @routes.get("/runs", response_model=shapes.Runs)
    async def runs(asked: Annotated[RunsAsked, Query()]) -> Response:
        """List runs, newest `scheduled_at` first, a page at a time."""
        jobs = _jobs(desk)
        page = await desk.ask(lambda store: page_with_latest(store, runs_asked(jobs, asked)))
        shown = [(desk.with_reason(run), latest) for run, latest in page.items]
        views = starmap(run_view, shown)
        return await desk.threads(written, "runs", views, RUN_COLUMNS, form=asked.format, next_cursor=page.next_cursor)

    @routes.get("/attempts", response_model=shapes.Attempts)
    async def attempts(asked: Annotated[RunsAsked, Query()]) -> Response:
        """List the attempts of the runs that match; a page is that of `limit` runs, each run's attempts in order."""
        jobs = _jobs(desk)
        page = await desk.ask(lambda store: _page_of_attempts(store, runs_asked(jobs, asked)))
        views = map(attempt_view, page.items)
        return await desk.threads(
            written, "attempts", views, ATTEMPT_COLUMNS, form=asked.format, next_cursor=page.next_cursor
        )

    @routes.get("/runs/{run_id}", response_model=shapes.RunDetail)
    async def run(run_id: str) -> Json:
        """Show one run, its attempts, and its first 1,000 logbook lines."""
        found, attempts, lines, alerts = await desk.ask(lambda store: known(store, run_id))
        name = desk.sight.config.settings.name
        return Json(known_view(desk.with_reason(found), attempts, lines, alerts, scheduler=name))

    return routes


def _jobs(desk: FrontDesk) -> Collection[Job]:
    return desk.sight.config.jobs.values()


def _page_of_attempts(store: Reads, query: RunQuery) -> Page[Attempt]:
    page = store.runs(query)
    found = store.attempts_of([run.run_id for run in page.items if run.attempt])
    return Page(tuple(row for run in page.items for row in found.get(run.run_id, ())), page.next_cursor)
