"""What may be done to one run: `POST /api/runs/{id}/{action}`. Spec: jobs.md 11 and 13.4."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, listing
from pyscheduler.api.asking import Act, RerunAct
from pyscheduler.api.deeds import METHODS, RERUN, perform
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.views import run_view


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes: one a deed, so that an unknown one is an unknown path."""
    routes = APIRouter(prefix="/api/runs/{run_id}", tags=["run actions"], responses=shapes.REFUSALS)

    @routes.post("/rerun", response_model=shapes.Runs)
    async def rerun(request: Request, run_id: str, act: RerunAct | None = None) -> Response:
        """Open an ended run again; with `downstream` the ended runs that depend on it too."""
        act, caller = act or RerunAct(), caller_of(request.scope)
        runs = await perform(desk, caller, RERUN, run_id, reason=act.reason, downstream=act.downstream)
        return listing("runs", (run_view(*pair) for pair in await desk.with_latest(runs)), ())

    for name in METHODS:
        summary = f"{name.replace('-', ' ').capitalize()} a run"
        routes.post(f"/{name}", response_model=shapes.OneRun, name=name, summary=summary)(_handler(desk, name))
    return routes


def _handler(desk: FrontDesk, action: str) -> Callable[..., Awaitable[Json]]:
    async def handler(request: Request, run_id: str, act: Act | None = None) -> Json:
        reason = act.reason if act else ""
        runs = await perform(desk, caller_of(request.scope), action, run_id, reason=reason)
        (pair,) = await desk.with_latest(runs)
        return Json({"run": run_view(*pair)})

    return handler
