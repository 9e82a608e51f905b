"""The pages beside board and run: jobs, graph, timeline, forecast, logbook, alerts, admin."""

from __future__ import annotations

from fastapi import APIRouter

from pyscheduler.api.desk import FrontDesk
from pyscheduler.web import graph_page, job_pages, timeline_page
from pyscheduler.web.press import Press


def routers(desk: FrontDesk, press: Press) -> list[APIRouter]:
    """Return the routes of these pages."""
    return [room.router(desk, press) for room in (job_pages, graph_page, timeline_page)]
