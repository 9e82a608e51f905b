"""Alerts, and those that reached nobody; the page fetches both from the API. Spec: jobs.md 15.1 to 15.3."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.api.desk import FrontDesk
from pyscheduler.model.alert import AlertKind
from pyscheduler.web.press import Press

KINDS: Final = tuple(kind.value for kind in AlertKind)
"""What the filter offers: each kind that there is."""


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/alerts")
    async def alerts(request: Request) -> Response:
        notifiers = sorted(desk.engine.config.notifiers)
        routed = len(desk.engine.config.routes)
        return await press.page(request, "alerts.html", "/alerts", kinds=KINDS, notifiers=notifiers, routed=routed)

    return routes
