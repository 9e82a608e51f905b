"""Runs and their attempts: lists in pages with filters, and one run with all that is known of it."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, starmap
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, written
from pyscheduler.api.asking import Order, RunsAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.jobs import jobs_tagged
from pyscheduler.api.told_views import alert_view
from pyscheduler.api.views import (
    ATTEMPT_COLUMNS,
    RUN_COLUMNS,
    View,
    attempt_view,
    event_view,
    run_view,
)
from pyscheduler.errors import NotFound
from pyscheduler.model.alert import Told
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, LogbookLine, Run
from pyscheduler.store.questions import LineQuery, Page, RunQuery
from pyscheduler.store.reads import Reads

EVENTS_SHOWN: Final = 1000


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["runs"], responses=shapes.REFUSALS)

    @routes.get("/runs", response_model=shapes.Runs)
    async def runs(asked: Annotated[RunsAsked, Query()]) -> Response:
        """List runs, newest `scheduled_at` first, a page at a time."""
        jobs = _jobs(desk)
        page = await desk.ask(lambda store: page_with_latest(store, query_of(jobs, asked)))
        shown = [(desk.with_reason(run), latest) for run, latest in page.items]
        views = starmap(run_view, shown)
        return await desk.threads(written, "runs", views, RUN_COLUMNS, form=asked.format, next_cursor=page.next_cursor)

    @routes.get("/attempts", response_model=shapes.Attempts)
    async def attempts(asked: Annotated[RunsAsked, Query()]) -> Response:
        """List the attempts of the runs that match; a page is that of `limit` runs, each run's attempts in order."""
        jobs = _jobs(desk)
        page = await desk.ask(lambda store: _page_of_attempts(store, query_of(jobs, asked)))
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


def query_of(jobs: Collection[Job], asked: RunsAsked) -> RunQuery:
    """Return the store's question; what a tag or a text means among the jobs the store does not know."""
    return RunQuery(
        job=asked.job,
        jobs=None if asked.tag is None else jobs_tagged(jobs, asked.tag),
        states=asked.state,
        run_date=asked.run_date,
        since=asked.since,
        until=asked.until,
        trigger=asked.trigger,
        text=asked.q,
        text_jobs=_named(jobs, asked.q.casefold()) if asked.q else (),
        limit=asked.limit,
        cursor=asked.cursor,
        newest_first=asked.order is Order.NEWEST,
    )


def _named(jobs: Collection[Job], needle: str) -> list[str]:
    """Return the jobs in whose name or tags a text stands: of ten thousand, which share their tags."""
    tags = {tag for tag in set(chain.from_iterable(job.tags for job in jobs)) if needle in tag.casefold()}
    return [job.name for job in jobs if needle in job.name.casefold() or not tags.isdisjoint(job.tags)]


def page_with_latest(store: Reads, query: RunQuery) -> Page[tuple[Run, Attempt | None]]:
    """Return a page of runs, each with its latest attempt."""
    page = store.runs(query)
    latest = store.latest_attempts([run.run_id for run in page.items if run.attempt])
    return Page(tuple((run, latest.get(run.run_id)) for run in page.items), page.next_cursor)


def _page_of_attempts(store: Reads, query: RunQuery) -> Page[Attempt]:
    page = store.runs(query)
    found = store.attempts_of([run.run_id for run in page.items if run.attempt])
    return Page(tuple(row for run in page.items for row in found.get(run.run_id, ())), page.next_cursor)


Known = tuple[Run, list[Attempt], Page[LogbookLine], list[Told]]


def one_run(store: Reads, run_id: str, scheduler: str) -> View:
    """Return all that the store knows of one run. Raises NotFound."""
    return known_view(*known(store, run_id), scheduler=scheduler)


def known(store: Reads, run_id: str) -> Known:
    """Return a run, its attempts, the first page of its logbook lines, and its alerts. Raises NotFound."""
    run = store.get_run(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id[:100]}", mend="`pysched runs` lists them")
    lines = store.lines(LineQuery(run_id=run_id, limit=EVENTS_SHOWN, newest_first=False))
    return run, list(store.attempts(run_id)), lines, store.alerts_of_run(run_id)


def known_view(
    run: Run, attempts: list[Attempt], lines: Page[LogbookLine], alerts: list[Told], *, scheduler: str
) -> View:
    """Return the same as the API shows it."""
    return {
        "run": run_view(run, attempts[-1] if attempts else None),
        "attempts": [attempt_view(attempt) for attempt in attempts],
        "events": [event_view(line) for line in lines.items],
        "next_events_cursor": lines.next_cursor,
        "alerts": [alert_view(told, scheduler) for told in alerts],
    }
