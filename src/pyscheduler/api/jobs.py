"""Jobs: the list, one with its next firings and recent runs, trigger, backfill, pause, resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, listing
from pyscheduler.api.asking import Act, BackfillAct, JobsAsked, ResumeAct, TriggerAct
from pyscheduler.api.callers import Role
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.views import HIDDEN, JOB_COLUMNS, View, definition_view, instant, job_view, run_view
from pyscheduler.model.job import Job
from pyscheduler.store.questions import RunQuery

NEXT_FIRINGS: Final = 5
RECENT_RUNS: Final = 20


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=shapes.REFUSALS)

    @routes.get("", response_model=shapes.Jobs)
    async def jobs(asked: Annotated[JobsAsked, Query()]) -> Response:
        """List the jobs by name."""
        chosen = [job for job in desk.sight.config.jobs.values() if _matches(job, asked)]
        if asked.cursor is not None:
            chosen = [job for job in chosen if job.name > asked.cursor]
        page = chosen[: asked.limit]
        next_cursor = page[-1].name if page and len(page) < len(chosen) else None
        return listing("jobs", _views(desk, page), JOB_COLUMNS, form=asked.format, next_cursor=next_cursor)

    @routes.get("/{name}", response_model=shapes.JobDetail)
    async def job(request: Request, name: str) -> Json:
        """Show one job: its definition, its next 5 firings, its latest 20 runs. Who only looks sees no `alerts` key."""
        found = await _detail(desk, name)
        if caller_of(request.scope).role is Role.VIEWER:
            found["definition"]["alerts"] = HIDDEN
        return Json(found)

    @routes.post("/{name}/trigger", response_model=shapes.Triggered)
    async def trigger(request: Request, name: str, act: TriggerAct | None = None) -> Json:
        """Create a run that is due now, for any date; without one for the job's default run date."""
        act = act or TriggerAct()
        actor = _admitted(desk, request, name, act)
        engine, job = desk.engine, desk.job(name)
        run = await engine.trigger(name, run_date=act.run_date, actor=actor, reason=act.reason)
        remark = engine.remark_on(job, run.run_date)
        return Json({"run": run_view(desk.with_reason(run)), "remark": remark})

    @routes.post("/{name}/backfill", response_model=shapes.Runs)
    async def backfill(request: Request, name: str, act: BackfillAct) -> Response:
        """Create one run for each working day of the range that has none at all."""
        actor = _admitted(desk, request, name, act)
        runs = await desk.engine.backfill(name, start=act.from_, end=act.to, actor=actor, reason=act.reason)
        return listing("runs", map(run_view, runs), ())

    @routes.post("/{name}/pause", response_model=shapes.OneJob)
    async def pause(request: Request, name: str, act: Act | None = None) -> Json:
        """Drop the job's firings and start none of its queued runs, until it is resumed."""
        act = act or Act()
        actor, answer = _admitted(desk, request, name, act), _answer_on(desk, name)
        await desk.engine.pause(name, actor=actor, reason=act.reason)
        return Json(answer())

    @routes.post("/{name}/resume", response_model=shapes.OneJob)
    async def resume(request: Request, name: str, act: ResumeAct | None = None) -> Json:
        """Go on from now; with `catch_up` the job's rule is applied to what it missed."""
        act = act or ResumeAct()
        actor, answer = _admitted(desk, request, name, act), _answer_on(desk, name)
        await desk.engine.resume(name, actor=actor, catch_up=act.catch_up, reason=act.reason)
        return Json(answer())

    return routes


def _admitted(desk: FrontDesk, request: Request, name: str, act: Act) -> str:
    """Return the actor's name where the caller and the job allow an action. Raises ActionError."""
    caller = caller_of(request.scope)
    desk.admit(caller, name, act.reason)
    return caller.name


def _matches(job: Job, asked: JobsAsked) -> bool:
    if asked.tag is not None and asked.tag not in job.tags:
        return False
    needle = asked.q.casefold()
    return not needle or any(needle in text.casefold() for text in (job.name, job.owner, job.description, *job.tags))


def _views(desk: FrontDesk, jobs: list[Job]) -> Iterator[View]:
    sight = desk.sight
    timetable, next_firing = sight.config.timetable, sight.next_firings()
    for job in jobs:
        yield job_view(job, timetable(job.name), next_firing(job.name), desk.paused(job.name))


def job_answer(desk: FrontDesk, name: str) -> View:
    """Return what an action on a job answers. Raises NotFound."""
    return _answer_on(desk, name)()


def _answer_on(desk: FrontDesk, name: str) -> Callable[[], View]:
    """Return what makes the answer once the action is done, whatever a reload has made of the job by then.

    Raises NotFound.
    """
    job, timetable = desk.job(name), desk.sight.config.timetable(name)
    return lambda: {"job": job_view(job, timetable, desk.sight.next_firings()(name), desk.paused(name))}


def _view(desk: FrontDesk, job: Job) -> View:
    return next(_views(desk, [job]))


async def _detail(desk: FrontDesk, name: str) -> dict[str, Any]:
    job = desk.job(name)
    view, timetable, now = _view(desk, job), desk.sight.config.timetable(name), desk.sight.clock.now()
    firings: list[str | None] = []
    after = now
    while job.enabled and len(firings) < NEXT_FIRINGS and (firing := timetable.next(after)) is not None:
        firings.append(instant(firing.scheduled_at))
        after = firing.scheduled_at
    page = await desk.ask(lambda store: store.runs(RunQuery(job=name, limit=RECENT_RUNS)))
    recent = [run_view(*pair) for pair in await desk.with_latest(page.items)]
    beside = {"definition": definition_view(job, timetable), "next_firings": firings, "recent_runs": recent}
    return view | beside
