"""What may be done to one run: `POST /api/runs/{id}/{action}`. Spec: jobs.md 11 and 13.4."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, listing
from pyscheduler.api.asking import Act, RerunAct
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.views import run_view
from pyscheduler.engine.core import Engine
from pyscheduler.model.run import Run

Deed = Callable[..., Awaitable[Run]]

DEEDS: Final[dict[str, Callable[[Engine], Deed]]] = {
    "hold": lambda engine: engine.hold,
    "release": lambda engine: engine.release,
    "kill": lambda engine: engine.kill,
    "force-start": lambda engine: engine.force_start,
    "skip": lambda engine: engine.skip,
    "cancel": lambda engine: engine.cancel,
    "mark-success": lambda engine: engine.mark_success,
    "mark-failed": lambda engine: engine.mark_failed,
}


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes: one a deed, so that an unknown one is an unknown path."""
    routes = APIRouter(prefix="/api/runs/{run_id}", tags=["run actions"], responses=shapes.REFUSALS)

    @routes.post("/rerun", response_model=shapes.Runs)
    async def rerun(request: Request, run_id: str, act: RerunAct | None = None) -> Response:
        """Open an ended run again; with `downstream` the ended runs that depend on it too."""
        act, caller = act or RerunAct(), caller_of(request.scope)
        desk.may_run(caller, run_id, downstream=act.downstream)
        actor = caller.name
        runs = await desk.engine.rerun(run_id, downstream=act.downstream, actor=actor, reason=act.reason)
        return listing("runs", (run_view(*pair) for pair in await desk.with_latest(runs)), ())

    for name, deed in DEEDS.items():
        handler = _handler(desk, deed)
        summary = f"{name.replace('-', ' ').capitalize()} a run"
        routes.post(f"/{name}", response_model=shapes.OneRun, name=name, summary=summary)(handler)
    return routes


def _handler(desk: FrontDesk, deed: Callable[[Engine], Deed]) -> Callable[..., Awaitable[Json]]:
    async def handler(request: Request, run_id: str, act: Act | None = None) -> Json:
        caller, reason = caller_of(request.scope), act.reason if act else ""
        desk.may_run(caller, run_id)
        actor = caller.name
        run = await deed(desk.engine)(run_id, actor=actor, reason=reason)
        (pair,) = await desk.with_latest([run])
        return Json({"run": run_view(*pair)})

    return handler
