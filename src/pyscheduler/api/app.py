"""The application: all routes behind the gates, errors in the family's words, and its own description.

`/api/openapi.json` is worked out on first request, on a helper thread: it takes longer than the loop may be held.
`/api/docs` is the same for people (`docs_page.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from pyscheduler.__about__ import __version__
from pyscheduler.api import (
    alerts,
    audit,
    bulk,
    coming,
    config,
    docs_page,
    entering,
    events,
    jobs,
    live,
    logs,
    nodes,
    previews,
    probes,
    problems,
    run_actions,
    runs,
    scheduler,
    sessions,
    signin,
)
from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Identify, peer_caller
from pyscheduler.api.description import described
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.door import Door
from pyscheduler.api.gates import Gates, turn_away
from pyscheduler.api.host import Host
from pyscheduler.api.idempotency import Idempotent
from pyscheduler.errors import PyschedError


async def warm_up() -> None:
    """Bring in what the framework imports with its first stream: later that would hold the loop for too long."""
    await run_in_threadpool(lambda: None)


def build_app(
    host: Host,
    *,
    identify: Identify = peer_caller,
    desk: FrontDesk | None = None,
    door: Door | None = None,
    more: Iterable[APIRouter] = (),
) -> ASGIApp:
    """Return the API of a host as an ASGI application.

    `identify` says who sent a request, or refuses; a `door` does that too, and has routes for coming in and going out.
    `more` are routes of rooms above this one (the pages).
    """
    desk = desk or FrontDesk(host)
    app = FastAPI(
        title="pyscheduler",
        version=__version__,
        summary="A crash-safe job scheduler",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            PyschedError: problems.on_family,
            HTTPException: problems.on_http,
            RequestValidationError: problems.on_bad_request,
            OverflowError: problems.on_overflow,
            Exception: problems.on_bug,
        },
    )
    rooms = (
        scheduler,
        jobs,
        bulk,
        previews,
        runs,
        run_actions,
        logs,
        events,
        live,
        alerts,
        coming,
        config,
        audit,
        nodes,
        probes,
    )
    for room in rooms:
        # Not include_router: that would build every route a second time, on the loop, at the first request for it.
        app.router.routes.extend(room.router(desk).routes)
    for way in (signin, entering, sessions) if door is not None else ():
        app.router.routes.extend(way.router(desk, door).routes)
    for routes in more:
        app.router.routes.extend(routes.routes)

    @app.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> Json:
        return Json(await desk.threads(described, app))

    app.router.routes.extend(docs_page.router(desk, lambda: described(app)).routes)

    guarded = Idempotent(app, desk)
    if door is None:
        return Gates(guarded, host, identify, turn_away=turn_away, ledger=desk.ledger)
    return Gates(guarded, host, door, turn_away=door.turn_away, ledger=desk.ledger)
