"""For those who watch services: does the process live, may work be sent to it, and its numbers.

`/healthz` answers as long as the loop turns, also while the service starts: whoever restarts what does not answer must
not restart a scheduler that recovers. `/readyz` says whether an action would be taken now, and why not. Both say
nothing that a stranger may not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.host import Phase
from pyscheduler.errors import StoreError, Unavailable
from pyscheduler.model.alert import DeliveryStatus

STUCK_S: Final = 10.0
"""A commit that takes longer is no commit to count on."""
STALE_S: Final = 180.0
"""Firings are looked at once a minute at least."""
UNREADY: Final[dict[int | str, dict[str, Any]]] = {503: {"model": shapes.Refusal}}


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["monitoring"])

    @routes.get("/healthz", response_model=shapes.Alive)
    async def healthz() -> Json:
        """Say that the process lives."""
        return Json({"status": "alive"}, headers={"Cache-Control": "no-store"})

    @routes.get("/readyz", response_model=shapes.Ready, responses=UNREADY)
    async def readyz() -> Json:
        """Say whether actions are taken: an engine runs, and its store answers."""
        if why := _hindrance(desk):
            raise Unavailable(why, mend="it tries again by itself; the scheduler's log says more")
        return Json({"status": "ready"}, headers={"Cache-Control": "no-store"})

    @routes.get(
        "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **shapes.REFUSALS}
    )
    async def metrics(request: Request) -> Response:
        """Give the numbers, in Prometheus' text or OpenMetrics'."""
        standing = desk.host.standing
        engine = desk.engine if standing.phase is Phase.RUNNING else None
        desk.metrics.look(engine, failures=standing.failures, streams=len(desk.streams))
        desk.metrics.look_at_deliveries(await _delivery_counts(desk) if engine is not None else None)
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        body = await desk.threads(encode, desk.metrics.registry)
        return Response(body, headers={"Content-Type": kind, "Cache-Control": "no-store"})

    return routes


async def _delivery_counts(desk: FrontDesk) -> Mapping[DeliveryStatus, int] | None:
    """Return how many deliveries are not sent; None where the store does not say: the other numbers matter then."""
    try:
        return await desk.ask(lambda store: store.delivery_counts())
    except (StoreError, Unavailable):
        return None


def _hindrance(desk: FrontDesk) -> str:
    """Return why no action would be taken now, empty where nothing is in the way."""
    standing = desk.host.standing
    if standing.phase is not Phase.RUNNING:
        return f"the scheduler is {standing.phase}"
    engine = desk.engine
    if engine.error is not None or engine.writer.failed is not None:
        return "the engine has failed and is being opened again"
    if (waited_s := engine.writer.waited_s()) > STUCK_S:
        return f"the store has not answered for {waited_s:.0f} s"
    if (age_s := (engine.clock.now() - engine.firings.handled).total_seconds()) > STALE_S:
        return f"firings were last looked at {age_s:.0f} s ago"
    return ""
