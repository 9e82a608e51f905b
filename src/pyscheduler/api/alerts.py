"""Alerts: the list, what was given up, and what is done about it. Spec: jobs.md 13.4.

Reading asks the store; replaying and testing ask whoever sends, through the host.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, written
from pyscheduler.api.asking import Act, AlertsAsked, DeadAsked, ReplayAct
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.questions import alerts_asked
from pyscheduler.api.told_views import ALERT_COLUMNS, alert_view, dead_view, delivery_view


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/alerts", tags=["alerts"], responses=shapes.REFUSALS)

    @routes.get("", response_model=shapes.Alerts)
    async def alerts(asked: Annotated[AlertsAsked, Query()]) -> Response:
        """List alerts, newest first, a page at a time, each with its deliveries."""
        name = desk.sight.config.settings.name
        page = await desk.ask(lambda store: store.alerts(alerts_asked(asked)))
        views = (alert_view(told, name) for told in page.items)
        return await desk.threads(
            written, "alerts", views, ALERT_COLUMNS, form=asked.format, next_cursor=page.next_cursor
        )

    @routes.get("/dead", response_model=shapes.DeadDeliveries)
    async def dead(asked: Annotated[DeadAsked, Query()]) -> Json:
        """List deliveries that were given up, oldest first, each with its alert."""
        name = desk.sight.config.settings.name
        found = await desk.ask(lambda store: store.dead_deliveries(asked.limit))
        return Json({"deliveries": [dead_view(each, told, name) for each, told in found]})

    @routes.post("/{alert_id}/replay", response_model=shapes.Replayed)
    async def replay(alert_id: str, act: ReplayAct | None = None) -> Json:
        """Try dead deliveries of an alert again, with a fresh budget of tries."""
        notifier = act.notifier if act else None
        again = await desk.host.alerts.replay(alert_id, notifier)
        return Json({"deliveries": [delivery_view(each) for each in again]})

    @routes.post("/test/{notifier}", response_model=shapes.Tested)
    async def test(request: Request, notifier: str, act: Act | None = None) -> Json:
        """Send a message that says it is a test, once; nothing is stored."""
        del act
        error = await desk.host.alerts.test(notifier, caller_of(request.scope).name)
        return Json({"notifier": notifier, "sent": error is None, "error": error})

    return routes
