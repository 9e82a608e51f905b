"""The pages beside board and run: jobs, graph, timeline, forecast, logbook, alerts, admin."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from pyscheduler.api.desk import FrontDesk
from pyscheduler.web import admin_pages, alerts_page, forecast_page, graph_page, job_pages, logbook_page, timeline_page
from pyscheduler.web.press import Press

ROOMS: Final = (job_pages, graph_page, timeline_page, forecast_page, logbook_page, alerts_page, admin_pages)


def routers(desk: FrontDesk, press: Press) -> list[APIRouter]:
    """Return the routes of these pages."""
    return [room.router(desk, press) for room in ROOMS]
