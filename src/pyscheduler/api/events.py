"""The logbook: who did what to which run, in pages. Spec: jobs.md 3.4."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import written
from pyscheduler.api.asking import EventsAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.questions import lines_asked
from pyscheduler.api.views import EVENT_COLUMNS, event_view


def router(desk: FrontDesk) -> APIRouter:
    """Return the route."""
    routes = APIRouter(prefix="/api", tags=["logbook"], responses=shapes.REFUSALS)

    @routes.get("/events", response_model=shapes.Events)
    async def events(asked: Annotated[EventsAsked, Query()]) -> Response:
        """List logbook lines, newest first, a page at a time."""
        page = await desk.ask(lambda store: store.lines(lines_asked(asked)))
        views = map(event_view, page.items)
        return await desk.threads(
            written, "events", views, EVENT_COLUMNS, form=asked.format, next_cursor=page.next_cursor
        )

    return routes
