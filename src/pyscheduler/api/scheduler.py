"""The scheduler as a whole: is it well, what does it hold, pause and resume, and a catch-up that waits for a word.

`/api/health` says in one word whether the engine runs; who watches services asks it. `/api/scheduler` says all else.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.__about__ import __version__
from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.asking import Act, CatchUpAct, ResumeAct
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of, visitor_of
from pyscheduler.api.host import Phase, ReloadFailure, Standing
from pyscheduler.api.problems import problem_view
from pyscheduler.api.views import View, instant, pause_view
from pyscheduler.engine.controls import HeldCatchUp
from pyscheduler.rules.recovery import CaughtUp
from pyscheduler.timetable.zone import TZDATA_VERSION

STRANGERS_SHOWN: Final = 100
NEXT_SHOWN: Final = 20


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["scheduler"], responses=shapes.REFUSALS)

    @routes.get("/health", response_model=shapes.Health, responses={503: {"model": shapes.Failed}})
    async def health(request: Request) -> Response:
        """Say whether the engine runs."""
        standing = desk.host.standing
        if standing.phase is Phase.FAILED:
            return Json(_failed(standing, to_nobody=visitor_of(request.scope) is None), 503, {"Retry-After": "1"})
        timezone = desk.engine.config.settings.timezone
        return Json({"status": "ok", "timezone": timezone, "today": desk.today().isoformat()})

    @routes.get("/scheduler", response_model=shapes.Scheduler)
    async def scheduler() -> Json:
        """Show everything about the scheduler itself."""
        values = await desk.ask(lambda store: store.engine_values())
        return Json(scheduler_view(desk, values))

    @routes.post("/scheduler/pause", response_model=shapes.Paused)
    async def pause(request: Request, act: Act | None = None) -> Json:
        """Pause everything: firings are dropped and no queued run starts; what runs goes on."""
        await desk.engine.pause(actor=_actor(desk, request), reason=act.reason if act else "")
        return Json({"pauses": pauses_of(desk)})

    @routes.post("/scheduler/resume", response_model=shapes.Paused)
    async def resume(request: Request, act: ResumeAct | None = None) -> Json:
        """Go on from now; with `catch_up` each job's rule is applied to what it missed."""
        act, actor = act or ResumeAct(), _actor(desk, request)
        await desk.engine.resume(actor=actor, catch_up=act.catch_up, reason=act.reason)
        return Json({"pauses": pauses_of(desk)})

    @routes.get("/catch-up", response_model=shapes.CatchUp)
    async def catch_up() -> Json:
        """Show what accepting a held catch-up would run, and what it would drop."""
        if desk.engine.catch_up_held is None:
            return Json({"held": False, "since": None, "until": None, "jobs": []})
        return Json(_held(await desk.engine.preview_catch_up()))

    @routes.post("/catch-up", response_model=shapes.CatchUp)
    async def settle(request: Request, act: CatchUpAct) -> Json:
        """Run what a restored store missed (`accept`), or drop it (`skip`)."""
        engine, actor = desk.engine, _actor(desk, request)
        shown = _held(await engine.preview_catch_up())
        await engine.settle_catch_up(accept=act.decision == "accept", actor=actor, reason=act.reason)
        return Json(shown | {"held": False})

    return routes


def _actor(desk: FrontDesk, request: Request) -> str:
    """Return who acts on everything, if they may. Raises Forbidden."""
    caller = caller_of(request.scope)
    desk.may_all(caller)
    return caller.name


def _failed(standing: Standing, *, to_nobody: bool) -> View:
    """Return how it failed; the cause may name folders, which is nobody's business."""
    return {
        "status": "failed",
        "error": "" if to_nobody else standing.trouble,
        "since": instant(standing.since),
        "failures": standing.failures,
    }


def pauses_of(desk: FrontDesk) -> list[View]:
    """Return the pauses in force."""
    return [pause_view(what, pause) for what, pause in desk.engine.desk.pauses.items()]


def scheduler_view(desk: FrontDesk, values: dict[str, str]) -> dict[str, Any]:
    """Return everything about the scheduler itself; `values` are the store's engine values."""
    engine, standing = desk.engine, desk.host.standing
    config, upcoming = engine.config, engine.firings.next_run()
    held = engine.catch_up_held
    return {
        "name": config.settings.name,
        "version": __version__,
        "tzdata_version": TZDATA_VERSION,
        "timezone": config.settings.timezone,
        "today": desk.today().isoformat(),
        "now": instant(engine.clock.now()),
        "config": {
            "path": str(config.path),
            "version": engine.config_version,
            "digest": config.digest,
            "jobs": len(config.jobs),
            "warnings": [problem_view(problem) for problem in config.warnings],
            "reload_failure": _reload_failure(desk.host.reload_failure),
        },
        "engine": {
            "phase": standing.phase.value,
            "since": instant(standing.since),
            "last_trouble": standing.trouble,
            "failures": standing.failures,
            "generation": values.get("generation"),
            "commits": engine.writer.commits,
        },
        "last_tick": instant(engine.firings.handled),
        "next_firing": instant(upcoming),
        "next_firing_jobs": _firing_at(desk, upcoming),
        "pauses": pauses_of(desk),
        "catch_up_held": None if held is None else {"since": instant(held[0]), "until": instant(held[1])},
        "slots": _slots(desk),
        "pools": _pools(desk),
        "queued": len(engine.ready),
        "open_runs": sum(1 for _ in engine.book.open_ids()),
        "listen": desk.address,
        "state_dir": str(engine.store.state_dir),
        "log_dir": str(config.settings.log_dir),
        "remarks": list(desk.host.remarks),
        "strangers": [str(path) for path in engine.pruner.strangers[:STRANGERS_SHOWN]],
    }


def _firing_at(desk: FrontDesk, at: datetime | None) -> list[str]:
    """Return the first jobs by name that fire at an instant."""
    coming = desk.engine.firings.upcoming()
    return sorted(name for name, instant in coming.items() if instant == at)[:NEXT_SHOWN]


def _reload_failure(failure: ReloadFailure | None) -> View | None:
    if failure is None:
        return None
    problems = [problem_view(problem) for problem in failure.problems]
    return {"at": instant(failure.at), "actor": failure.actor, "problems": problems}


def _slots(desk: FrontDesk) -> View:
    admission = desk.engine.admission
    return {"size": admission.max_running, "in_use": admission.running, "holders": sorted(admission.holders)}


def _pools(desk: FrontDesk) -> list[View]:
    admission = desk.engine.admission
    held: dict[str, list[View]] = {name: [] for name in admission.pools}
    for run_id, needs in admission.holders.items():
        for pool, slots in needs:
            held.setdefault(pool, []).append({"run_id": run_id, "slots": slots})
    return [
        {
            "name": name,
            "size": admission.pools.get(name, 0),
            "in_use": admission.in_use.get(name, 0),
            "holders": holders,
        }
        for name, holders in sorted(held.items())
    ]


def _held(held: HeldCatchUp) -> View:
    jobs = [_caught_up(name, found) for name, found in sorted(held.jobs.items())]
    return {"held": True, "since": instant(held.since), "until": instant(held.until), "jobs": jobs}


def _caught_up(name: str, found: CaughtUp) -> View:
    return {
        "job": name,
        "run": [
            {"scheduled_at": instant(each.scheduled_at), "run_date": each.run_date.isoformat()} for each in found.run
        ],
        "dropped": found.dropped,
        "first_dropped": instant(found.first.scheduled_at) if found.first and found.dropped else None,
        "last_dropped": instant(found.last.scheduled_at) if found.last and found.dropped else None,
    }
