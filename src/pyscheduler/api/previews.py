"""What an action would start, skip or delay, before anybody takes it. Nothing is changed.

The action is rehearsed on a copy by the engine's own rules (`engine/rehearsal.py`); what is answered is true of the
instant at which it was asked. A reason is not asked for, and who may not act may still look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.asking import BulkAsked, JobPreviewAsked, RunPreviewAsked
from pyscheduler.api.bulk import chosen
from pyscheduler.api.deeds import act, job_of
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.recording import only_looks
from pyscheduler.api.views import View
from pyscheduler.engine.actions import BACKFILL_DAYS
from pyscheduler.engine.book import Day
from pyscheduler.engine.rehearsal import Deed, Effect, Rehearsed, gather, is_delayed, rehearse
from pyscheduler.errors import ActionError, BadRequest
from pyscheduler.model.ids import parse_run_id
from pyscheduler.timetable.firings import default_run_date

SHOWN: Final = 1000
"""Effects at most that one answer lists; all are counted."""


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["previews"], responses=shapes.REFUSALS)

    @routes.get("/runs/{run_id}/preview", response_model=shapes.Preview)
    async def run_preview(request: Request, run_id: str, asked: Annotated[RunPreviewAsked, Query()]) -> Json:
        """Show what an action on one run would do; refused where the action would be."""
        deed = _on_run(asked.action, run_id, caller_of(request.scope).name, downstream=asked.downstream)
        return await _alone(desk, asked.action, [_day_of(run_id)], deed)

    @routes.post("/runs/bulk/preview", response_model=shapes.Preview)
    async def bulk_preview(request: Request, asked: BulkAsked) -> Response:
        """Show what an action on many runs would do, and which of them it does not apply to."""
        only_looks(request.scope)
        actor, run_ids = caller_of(request.scope).name, await chosen(desk, asked)
        days = [_day_of(run_id) for run_id in run_ids if _is_name(run_id)]
        deeds = [_on_run(asked.action, run_id, actor, downstream=asked.downstream) for run_id in run_ids]
        found = await _rehearsed(desk, days, deeds)
        return Json(_view(asked.action, found, run_ids))

    @routes.get("/jobs/{name}/preview", response_model=shapes.Preview)
    async def job_preview(request: Request, name: str, asked: Annotated[JobPreviewAsked, Query()]) -> Json:
        """Show which runs a trigger or a backfill would create, and what becomes of each."""
        actor = caller_of(request.scope).name
        if asked.action == "trigger":
            job = desk.job(name)
            calendar = desk.engine.config.calendar_for(job)
            day = asked.run_date or default_run_date(job, calendar, desk.engine.clock.now())
            deed: Deed = lambda actions: actions.trigger(name, run_date=day, actor=actor)  # noqa: E731 - it is short
            return await _alone(desk, "trigger", [(name, day)], deed)
        if asked.from_ is None or asked.to is None:
            raise BadRequest("a backfill needs from and to", mend="give both dates; they are included")
        start, end = asked.from_, asked.to
        return await _alone(
            desk,
            "backfill",
            [(desk.job(name).name, day) for day in _dates(start, end)],
            lambda actions: actions.backfill(name, start=start, end=end, actor=actor),
        )

    return routes


def _on_run(action: str, run_id: str, actor: str, *, downstream: bool) -> Deed:
    return partial(act, action=action, run_id=run_id, actor=actor, reason="", downstream=downstream)


def _day_of(run_id: str) -> Day:
    job_of(run_id)  # refuses what is no run id
    job, run_date, _ = parse_run_id(run_id)
    return job, run_date


def _is_name(run_id: str) -> bool:
    try:
        return bool(job_of(run_id))
    except ActionError:
        return False


def _dates(start: date, end: date) -> Iterable[date]:
    """Yield the dates of a range; too long a one is refused by the action itself."""
    return (start + timedelta(days=n) for n in range(min((end - start).days, BACKFILL_DAYS) + 1))


async def _rehearsed(desk: FrontDesk, days: Iterable[Day], deeds: Iterable[Deed]) -> Rehearsed:
    stage = await gather(desk.engine, days)
    return await desk.threads(rehearse, stage, deeds, desk.local)


async def _alone(desk: FrontDesk, action: str, days: Iterable[Day], deed: Deed) -> Json:
    """Answer for one action; raises what it would raise."""
    found = await _rehearsed(desk, days, [deed])
    (answer,) = found.answers
    if isinstance(answer, ActionError):
        raise answer
    return Json(_view(action, found))


def _view(action: str, found: Rehearsed, run_ids: Iterable[str] = ()) -> View:
    counts = Counter(effect.what.value for effect in found.effects)
    results = zip(run_ids, found.answers, strict=False)
    return {
        "action": action,
        "counts": dict(counts),
        "delayed": sum(map(is_delayed, found.effects)),
        "effects": [_effect_view(effect) for effect in found.effects[:SHOWN]],
        "has_more": found.has_more or len(found.effects) > SHOWN,
        "results": [_result_view(run_id, answer) for run_id, answer in results],
    }


def _effect_view(effect: Effect) -> View:
    run = effect.run
    return {
        "run_id": run.run_id,
        "job": run.job,
        "run_date": run.run_date.isoformat(),
        "before": None if effect.before is None else effect.before.value,
        "after": run.state.value,
        "what": effect.what.value,
        "reason": run.reason,
    }


def _result_view(run_id: str, answer: object) -> dict[str, Any]:
    refused = answer if isinstance(answer, ActionError) else None
    return {
        "run_id": run_id,
        "ok": refused is None,
        "error": refused.what if refused else "",
        "mend": refused.mend if refused else "",
    }
