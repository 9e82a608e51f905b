"""The list of jobs, and all about one: when it fires, how it has done, what it waits for, how it is defined.

The previews of trigger and backfill are fragments that the forms fetch before anything is done. Spec: jobs.md 15.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.known import page_with_latest
from pyscheduler.api.views import definition_view, schedule_texts
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.explain import explain, say_in
from pyscheduler.engine.pauses import Pause
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import DependsOn, Job, SourceRef
from pyscheduler.model.run import Attempt, Run
from pyscheduler.store import Store
from pyscheduler.store.questions import RunQuery
from pyscheduler.timetable.firings import default_run_date
from pyscheduler.web.ahead import backfill, followers
from pyscheduler.web.asked import BackfillAsked, JobsPage, Paged, PreviewAsked, WhyAsked, link
from pyscheduler.web.press import Press
from pyscheduler.web.record import record, strip
from pyscheduler.web.run_page import chain_of
from pyscheduler.web.standing import standing_runs

NEXT: Final = 10
LOOKED_AT: Final = 100
"""Runs that the numbers of a job are made of."""
DAYS_NAMED: Final = 12


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job in the list."""

    job: Job
    schedules: list[str]
    next_firing: datetime | None
    pause: Pause | None
    last: Run | None
    attempt: Attempt | None


@dataclass(frozen=True, slots=True)
class Coming:
    """One firing to come: local time in the job's zone, and what a clock change does to it."""

    firing: Firing
    local: str
    rule: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A job that this one waits for, or that waits for it, with the run that stands for the day in question."""

    job: str
    on: DependsOn
    offset: int
    run_date: date | None
    run: Run | None = None
    is_known: bool = True


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/jobs")
    async def jobs(request: Request, asked: Annotated[JobsPage, Query()]) -> Response:
        engine, config = desk.engine, desk.engine.config
        chosen = [job for job in config.jobs.values() if _matches(engine, job, asked)]
        shown = Paged(chosen, asked.page)
        upcoming, pauses = engine.firings.upcoming(), dict(engine.desk.pauses.items())
        rows = await desk.ask(lambda store: list(_rows(config, store, shown.rows, upcoming, pauses)))
        tags = sorted({tag for job in config.jobs.values() for tag in job.tags})
        here = link("/jobs", q=asked.q, tag=asked.tag, show=asked.show)
        counts = {"all": len(config.jobs), "shown": len(chosen)}
        return await press.page(
            request, "jobs.html", "/jobs", asked=asked, rows=rows, shown=shown, tags=tags, base=here, counts=counts
        )

    @routes.get("/jobs/{name}")
    async def job(request: Request, name: str) -> Response:
        engine, config, found = desk.engine, desk.engine.config, desk.job(name)
        now, day = engine.clock.now(), _default_date(engine, found)
        values = await desk.ask(lambda store: _one(config, store, found, now, day))
        sides = await _with_runs(desk, list(_upstream(config, found, day)), list(_downstream(config, found, day)))
        values |= {"upstream": sides[0], "downstream": sides[1]}
        values["pairs"] = [(desk.with_reason(run), attempt) for run, attempt in values["pairs"]]
        pauses = engine.desk.pauses
        return await press.page(
            request,
            "job.html",
            "/jobs",
            pause=pauses.covers(name),
            own_pause=pauses.get(name),
            refusal=desk.refusal(caller_of(request.scope), name),
            **values,
        )

    @routes.get("/jobs/{name}/preview")
    async def preview(request: Request, name: str, asked: Annotated[PreviewAsked, Query()]) -> Response:
        engine, config, found = desk.engine, desk.engine.config, desk.job(name)
        day = asked.run_date or _default_date(engine, found)
        remark = engine.remark_on(found, day)
        ahead = await desk.ask(lambda store: followers(config, store, name, day))
        pause = engine.desk.pauses.covers(name)
        return await press.page(request, "_trigger.html", job=found, day=day, ahead=ahead, remark=remark, pause=pause)

    @routes.get("/jobs/{name}/why")
    async def why(request: Request, name: str, asked: Annotated[WhyAsked, Query()]) -> Response:
        answer = await explain(desk.engine, job=desk.job(name).name, run_date=asked.run_date)
        return await press.page(request, "_why.html", answer=answer, chain=list(chain_of(answer)))

    @routes.get("/jobs/{name}/backfill")
    async def backfill_(request: Request, name: str, asked: Annotated[BackfillAsked, Query()]) -> Response:
        engine, config, found = desk.engine, desk.engine.config, desk.job(name)
        now = engine.clock.now()
        plan = await desk.ask(lambda store: backfill(config, store, found, asked.from_, asked.to, now))
        return await press.page(request, "_backfill.html", job=found, plan=plan, named=plan.days[:DAYS_NAMED])

    return routes


# --------------------------------------------------------------------------- the list


def _matches(engine: Engine, job: Job, asked: JobsPage) -> bool:
    needle = asked.q.casefold()
    if needle and not any(needle in text.casefold() for text in (job.name, job.owner, job.description, *job.tags)):
        return False
    if asked.tag is not None and asked.tag not in job.tags:
        return False
    match asked.show:
        case "paused":
            return engine.desk.pauses.get(job.name) is not None
        case "disabled":
            return not job.enabled
    return True


def _rows(
    config: Config, store: Store, jobs: list[Job], upcoming: Mapping[str, datetime], pauses: Mapping[str, Pause]
) -> Iterator[JobRow]:
    last = {job.name: next(iter(store.runs(RunQuery(job=job.name, limit=1)).items), None) for job in jobs}
    latest = store.latest_attempts(run.run_id for run in last.values() if run is not None and run.attempt)
    for job in jobs:
        run = last[job.name]
        texts = schedule_texts(job, config.timetable(job.name))
        attempt = None if run is None else latest.get(run.run_id)
        yield JobRow(job, texts, upcoming.get(job.name), pauses.get(job.name), run, attempt)


# --------------------------------------------------------------------------- one job


def _default_date(engine: Engine, job: Job) -> date:
    return default_run_date(job, engine.config.calendar_for(job), engine.clock.now())


def _one(config: Config, store: Store, job: Job, now: datetime, day: date) -> dict[str, Any]:
    """Return what the page of a job shows, but for what only the engine knows. For a helper thread."""
    pairs = list(page_with_latest(store, RunQuery(job=job.name, limit=LOOKED_AT)).items)
    numbers, timetable = record(pairs), config.timetable(job.name)
    told, untold = _definition(job, definition_view(job, timetable))
    return {
        "job": job,
        "schedules": schedule_texts(job, timetable),
        "coming": list(_coming(config, job, now)) if job.enabled else [],
        "day": day,
        "day_text": f"{day:%a} {day.isoformat()}",
        "pairs": pairs,
        "record": numbers,
        "strip": strip(pairs, numbers.median_s, now),
        "told": told,
        "untold": untold,
        "open_runs": [run for run, _ in pairs if not run.is_final],
        "looked_at": LOOKED_AT,
    }


def _coming(config: Config, job: Job, after: datetime) -> Iterator[Coming]:
    timetable, local = config.timetable(job.name), say_in(job.timezone)
    for _ in range(NEXT):
        firing = timetable.next(after)
        if firing is None:
            return
        yield Coming(firing, local(firing.scheduled_at), timetable.rule_at(firing))
        after = firing.scheduled_at


def _upstream(config: Config, job: Job, day: date) -> Iterator[Neighbour]:
    for edge in job.depends_on:
        there = config.calendar_for(job).shift(day, edge.run_date)
        yield Neighbour(edge.job, edge.on, edge.run_date, there, is_known=edge.job in config.jobs)


def _downstream(config: Config, job: Job, day: date) -> Iterator[Neighbour]:
    for name in config.dependents(job.name):
        for edge in config.jobs[name].depends_on:
            if edge.job == job.name:
                days = config.calendar_for(name).unshift(day, edge.run_date)
                yield Neighbour(name, edge.on, edge.run_date, days[-1] if days else None)


async def _with_runs(desk: FrontDesk, *sides: list[Neighbour]) -> list[list[Neighbour]]:
    """Return neighbours with the runs that stand for their dates."""
    days = {(each.job, each.run_date) for side in sides for each in side if each.run_date is not None}
    runs = await standing_runs(desk, days)
    return [
        [replace(each, run=runs.get((each.job, each.run_date)) if each.run_date else None) for each in side]
        for side in sides
    ]


def _definition(job: Job, view: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the keys of a definition that say something, and those left as they are by default."""
    plain = Job(name=job.name, source=SourceRef("", 1))
    default = definition_view(plain, _NoSchedules())  # type: ignore[arg-type]
    view = {name: value for name, value in view.items() if name != "source"}
    told = {name: said(value) for name, value in view.items() if value != default.get(name)}
    return told, {name: said(value) for name, value in view.items() if name not in told}


def said(value: Any) -> str:
    """Return the value of a key as a person would write it down."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float() if value.is_integer():
            return f"{value:.0f}"
        case list():
            return ", ".join(map(said, value)) or "none"
        case dict():
            return ", ".join(f"{name}: {said(each)}" for name, each in value.items()) or "none"
    return str(value)


class _NoSchedules:
    """The timetable of a job that says nothing."""

    schedules: tuple[()] = ()
