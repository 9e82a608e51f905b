"""What is to come, and why not yet: forecast, next firings, why. Spec: jobs.md 12.1; promise P7."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, listing, written
from pyscheduler.api.asking import ForecastAsked, Format, NextAsked, WhyAsked
from pyscheduler.api.deeds import job_of
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.durations import Durations
from pyscheduler.api.views import (
    FIRING_COLUMNS,
    FORECAST_COLUMNS,
    View,
    answer_view,
    firing_view,
    forecast_view,
    instant,
    runs_of_answer,
    schedule_texts,
)
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.explain import explain, say_in
from pyscheduler.engine.foresight import still_to_come
from pyscheduler.engine.offers import show_news
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Job
from pyscheduler.timetable.forecast import ForecastEntry, forecast

FORECAST_DAYS: Final = 31
FORECAST_FIRINGS: Final = 100_000
"""Firings at most that one forecast follows."""
FIRINGS: Final = 5
NEXT_JOBS: Final = 200
"""Firings of one job, and jobs of all, that are told where nobody says how many."""
A_DAY: Final = timedelta(days=1)


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["what is to come"], responses=shapes.REFUSALS)
    durations = Durations()

    @routes.get("/forecast", response_model=shapes.Forecast)
    async def forecast_(asked: Annotated[ForecastAsked, Query()]) -> Response:
        """List what is expected to start in (from, to]: at most 31 days."""
        since, until = _window(asked, desk.engine.clock.now())
        config = desk.engine.config
        jobs = config.jobs if asked.job is None else with_upstreams(config, [desk.job(asked.job).name])
        durations.listen_to(desk.engine)
        entries = await desk.threads(expected, durations, desk.engine, config, jobs, since, until)
        wanted = entries if asked.job is None else [entry for entry in entries if entry.job == asked.job]
        return listing("entries", map(forecast_view, wanted), FORECAST_COLUMNS, form=asked.format)

    @routes.get("/next", response_model=shapes.Firings | shapes.NextOfAll)
    async def next_(asked: Annotated[NextAsked, Query()]) -> Response:
        """List a job's coming firings, local and UTC, with what a clock change does; without `job` all jobs' next."""
        after = asked.after or desk.sight.clock.now()
        if asked.job is None:
            return await _next_of_all(desk, asked, after)
        if asked.limit is not None or asked.cursor is not None:
            raise BadRequest("limit and cursor page through all jobs, and a job is given", mend="give count, and after")
        job = desk.job(asked.job)
        views = _firings(desk.sight.config, job, after, asked.count or FIRINGS)
        beside = {"job": job.name, "timezone": job.timezone, "enabled": job.enabled, "paused": desk.paused(job.name)}
        return listing("firings", views, FIRING_COLUMNS, form=asked.format, beside=beside)

    @routes.get("/why", response_model=shapes.Why)
    async def why(asked: Annotated[WhyAsked, Query()]) -> Json:
        """Say why a run, or a job on a date, is not running, and what would release it."""
        if (asked.run is None) == (asked.job is None):
            raise BadRequest("give either job= (and perhaps run_date=) or run=")
        if asked.run is not None and asked.run_date is not None:
            raise BadRequest("run_date goes with job=, a run has its own")
        engine = desk.engine
        await show_news(engine, asked.job or job_of(str(asked.run)))
        answer = await explain(engine, asked.job, asked.run_date, asked.run)
        upcoming = engine.firings.upcoming().get(answer.job)
        next_firing = instant(upcoming)
        latest = {run.run_id: row for run, row in await desk.with_latest(runs_of_answer(answer)) if row is not None}
        return Json({"why": answer_view(answer, latest), "next_firing": next_firing})

    return routes


async def _next_of_all(desk: FrontDesk, asked: NextAsked, after: datetime) -> Response:
    """Return a page of jobs by name, each with its next firing, worked out on a helper thread."""
    if asked.count is not None:
        raise BadRequest("count goes with job=", mend="without a job each one's next firing is told; limit= pages")
    config, limit = desk.sight.config, asked.limit or NEXT_JOBS
    names = sorted(name for name in config.jobs if asked.cursor is None or name > asked.cursor)
    page = [(config.jobs[name], desk.paused(name)) for name in names[:limit]]
    cursor = names[limit - 1] if len(names) > limit else None
    if asked.format is Format.CSV:
        rows = (_flat(_next_of(config, job, paused, after)) for job, paused in page)
        columns = ("job", *FIRING_COLUMNS)
        return await desk.threads(written, "jobs", rows, columns, form=asked.format, next_cursor=cursor)
    views = (_next_of(config, job, paused, after) for job, paused in page)
    return await desk.threads(written, "jobs", views, (), next_cursor=cursor)


def _next_of(config: Config, job: Job, paused: View | None, after: datetime) -> View:
    """Return a job with its next firing; none where it is disabled."""
    return {
        "job": job.name,
        "timezone": job.timezone,
        "enabled": job.enabled,
        "paused": paused,
        "schedules": schedule_texts(job, config.timetable(job.name)),
        "depends_on": [dependency.job for dependency in job.depends_on],
        "firings": list(_firings(config, job, after, 1)) if job.enabled else [],
    }


def _flat(view: View) -> View:
    return {"job": view["job"], **(view["firings"][0] if view["firings"] else {})}


def _window(asked: ForecastAsked, now: datetime) -> tuple[datetime, datetime]:
    since = asked.from_ or now
    until = asked.to or since + A_DAY
    if until < since:
        raise BadRequest("the window ends before it begins", mend="swap from and to")
    if until - since > FORECAST_DAYS * A_DAY:
        raise BadRequest(f"the window spans more than {FORECAST_DAYS} days", mend="ask for less at a time")
    return since, until


def with_upstreams(config: Config, names: Iterable[str]) -> dict[str, Job]:
    """Return jobs and, where their upstreams create their runs, what decides about when."""
    found: dict[str, Job] = {}
    to_see = list(names)
    while to_see:
        job = config.jobs.get(to_see.pop())
        if job is not None and job.name not in found:
            found[job.name] = job
            to_see += [edge.job for edge in job.depends_on] if job.dependency_only else []
    return found


def expected(
    durations: Durations, engine: Engine, config: Config, jobs: Mapping[str, Job], since: datetime, until: datetime
) -> list[ForecastEntry]:
    """Work a forecast of a configuration's jobs out: seconds where it is long. For a helper thread."""
    refuse_too_many(config, jobs, since, until)
    entries = forecast(jobs, config.timetable, config.calendar_for, since, until, durations.of(jobs))
    return still_to_come(entries, engine.store, engine.clock.now())


def refuse_too_many(config: Config, names: Iterable[str], since: datetime, until: datetime) -> None:
    """Raise BadRequest where more firings of these jobs lie in (since, until] than one answer follows."""
    count = 0
    for name in names:
        job = config.jobs.get(name)
        if job is not None and job.enabled and job.schedules:
            count += config.timetable(name).missed(since, until, 0).count
        if count > FORECAST_FIRINGS:
            what = f"more than {FORECAST_FIRINGS:,} firings lie in the window"
            raise BadRequest(what, mend="ask for a shorter one, or for one job")


def _firings(config: Config, job: Job, after: datetime, count: int) -> Iterator[View]:
    timetable = config.timetable(job.name)
    local = say_in(job.timezone)
    for _ in range(count):
        firing = timetable.next(after)
        if firing is None:
            return
        yield firing_view(firing, local(firing.scheduled_at), timetable.rule_at(firing))
        after = firing.scheduled_at
