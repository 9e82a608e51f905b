"""The pages beside board and run: jobs, graph, timeline, forecast, logbook, alerts, admin."""

from __future__ import annotations

from fastapi import APIRouter

from pyscheduler.api.desk import FrontDesk
from pyscheduler.web import job_pages
from pyscheduler.web.press import Press


def routers(desk: FrontDesk, press: Press) -> list[APIRouter]:
    """Return the routes of these pages."""
    return [job_pages.router(desk, press)]
