"""What the coming days are expected to bring, as a table. Spec: jobs.md 12.1, 15.8."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api.coming import FORECAST_DAYS, expected, with_upstreams
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.durations import Durations
from pyscheduler.api.views import instant
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Job
from pyscheduler.timetable.zone import zone
from pyscheduler.web.asked import ForecastPage, Paged, link
from pyscheduler.web.press import Press
from pyscheduler.web.timescale import day_start


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)
    durations = Durations()

    @routes.get("/forecast")
    async def forecast(request: Request, asked: Annotated[ForecastPage, Query()]) -> Response:
        engine, config = desk.engine, desk.engine.config
        since, until = _window(desk, asked)
        names = [job.name for job in config.jobs.values() if _matches(job, asked)]
        jobs = with_upstreams(config, names)
        durations.listen_to(engine)
        too_much, entries = "", []
        try:
            entries = await desk.threads(expected, durations, engine, config, jobs, since, until)
        except BadRequest as error:
            too_much = f"{error.what}: {error.mend}"
        among = frozenset(names)
        shown = Paged([entry for entry in entries if entry.job in among], asked.page)
        paused = {what for what, _ in engine.desk.pauses.items()}
        where = {"start": asked.start, "days": asked.days, "q": asked.q, "job": asked.job, "tag": asked.tag}
        return await press.page(
            request,
            "forecast.html",
            "/forecast",
            asked=asked,
            since=since,
            until=until,
            start=asked.start or desk.today(),
            shown=shown,
            paused=paused,
            everything=engine.desk.pauses.get(EVERYTHING) is not None,
            too_much=too_much,
            tags=sorted({tag for job in config.jobs.values() for tag in job.tags}),
            base=link("/forecast", **where),
            csv=link("/api/forecast", **{"from": instant(since), "to": instant(until)}, job=asked.job, format="csv"),
            jobs=config.jobs,
        )

    return routes


def _window(desk: FrontDesk, asked: ForecastPage) -> tuple[datetime, datetime]:
    """Return (from, to]: whole local days, the first one from now on where it is today."""
    there, now = zone(desk.engine.config.settings.timezone), desk.engine.clock.now()
    first = asked.start or there.today(now)
    try:
        begin = day_start(there, first)
        end = day_start(there, first + timedelta(days=asked.days))
    except (ValueError, OverflowError):
        raise BadRequest(f"{first} is too far away", mend="choose a nearer date") from None
    since = now if begin <= now < end else begin - timedelta(microseconds=1)
    return since, min(end - timedelta(microseconds=1), since + timedelta(days=FORECAST_DAYS))


def _matches(job: Job, asked: ForecastPage) -> bool:
    needle = asked.q.casefold()
    if asked.job is not None and job.name != asked.job:
        return False
    if asked.tag is not None and asked.tag not in job.tags:
        return False
    return not needle or any(needle in text.casefold() for text in (job.name, job.owner, *job.tags))
