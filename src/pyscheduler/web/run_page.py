"""One run: how it stands and why, what may be done, attempts, the log, the logbook, the definition, its neighbours.

The page is one template; when something happens to the run the browser asks for the page again and takes the parts
that have changed, so there is one way to show each fact. The log is fetched through the API by byte offsets, a window
at a time, whatever its size (FC-046). Spec: jobs.md 15.8; the issue, "Run page".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.api.callers import Role
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.known import known
from pyscheduler.api.views import seconds_between
from pyscheduler.engine.explain import explain
from pyscheduler.model.run import Attempt
from pyscheduler.rules.why import Answer
from pyscheduler.web.definition import definition_of
from pyscheduler.web.logbook_page import detail_text
from pyscheduler.web.neighbours import neighbours_of
from pyscheduler.web.offers import OFFERS
from pyscheduler.web.press import Press
from pyscheduler.web.worst_first import is_late

LINKS: Final = 6
"""Answers of a chain of blame that are shown."""


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/runs/{run_id}")
    async def run(request: Request, run_id: str) -> Response:
        """Show one run."""
        caller = caller_of(request.scope)
        values = await _values(desk, run_id, may_see_text=caller.role.covers(Role.OPERATOR))
        refusal = desk.refusal(caller, values["run"].job)
        return await press.page(request, "run.html", "/", refusal=refusal, **values)

    return routes


async def _values(desk: FrontDesk, run_id: str, *, may_see_text: bool) -> dict[str, Any]:
    """Return what the template needs. Raises NotFound, StoreError, Unavailable."""
    found, attempts, lines, alerts = await desk.ask(lambda store: known(store, run_id))
    run, engine = desk.with_reason(found), desk.engine
    latest, now = (attempts[-1] if attempts else None), engine.clock.now()
    answer = await explain(engine, run_id=run_id)
    version = latest.config_version if latest is not None else run.config_version
    typical = await desk.ask(lambda store: store.recent_durations(run.job))
    job = engine.config.jobs.get(run.job)
    return {
        "run": run,
        "job": job,
        "attempts": attempts,
        "alerts": alerts,
        "latest": latest,
        "took": _took(latest, now),
        "typical": sorted(typical)[len(typical) // 2] if typical else None,
        "seconds_between": seconds_between,
        "is_late": is_late(run, job, now),
        "answer": answer,
        "chain": list(chain_of(answer)),
        "offers": OFFERS[run.state],
        "lines": lines.items,
        "has_more_lines": lines.next_cursor is not None,
        "said": detail_text,
        "neighbours": await neighbours_of(desk, run),
        "definition": await definition_of(desk, run, version, may_see_text=may_see_text),
        "streams": _streams(latest),
        "paused": desk.paused(run.job),
    }


def _took(latest: Attempt | None, now: datetime) -> float | None:
    return None if latest is None else max(0.0, ((latest.ended_at or now) - latest.started_at).total_seconds())


def chain_of(answer: Answer) -> Iterator[Answer]:
    """Yield the answers that an answer rests on, nearest first."""
    link = answer.because
    for _ in range(LINKS):
        if link is None:
            return
        yield link
        link = link.because


def _streams(latest: Attempt | None) -> tuple[str, ...]:
    """Return the streams that have a log of their own."""
    if latest is None or not latest.stdout_path:
        return ()
    return ("stdout",) if latest.stderr_path in ("", latest.stdout_path) else ("stdout", "stderr")
