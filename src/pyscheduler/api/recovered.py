"""The answer to a request that was done before a crash and never answered: the same form, from what there is now.

All that is known is the runs it was done to (`engine/request.py`); where a run is now is what anybody who had been
answered would see by asking again. Which form belongs to which path stands in `_FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pyscheduler.api.answers import Json
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.jobs import job_answer
from pyscheduler.api.scheduler import pauses_of
from pyscheduler.api.views import run_view
from pyscheduler.errors import Conflict

BULK: Final = "/api/runs/bulk"

_Form = Callable[[FrontDesk, str, Sequence[str]], Awaitable[dict[str, Any]]]


async def answer_from(desk: FrontDesk, path: str, run_ids: Sequence[str]) -> Json | None:
    """Return the answer, None where the request goes on where it ended (many runs). Raises Conflict."""
    if path == BULK:
        return None
    for pattern, form in _FORMS:
        if found := pattern.fullmatch(path):
            return Json(await form(desk, found[1] if found.re.groups else "", list(dict.fromkeys(run_ids))))
    what = "this was done, and the scheduler ended before it could answer"
    raise Conflict(what, mend="look at what there is now; nothing was done a second time")


async def _run(desk: FrontDesk, _name: str, run_ids: Sequence[str]) -> dict[str, Any]:
    return {"run": (await _views(desk, run_ids[:1]))[0]}


async def _triggered(desk: FrontDesk, name: str, run_ids: Sequence[str]) -> dict[str, Any]:
    return {**await _run(desk, name, run_ids), "remark": ""}


async def _runs(desk: FrontDesk, _name: str, run_ids: Sequence[str]) -> dict[str, Any]:
    return {"runs": await _views(desk, run_ids), "next_cursor": None}


async def _rerun(desk: FrontDesk, _name: str, run_ids: Sequence[str]) -> dict[str, Any]:
    """A rerun writes its lines from the last run to the one that was asked for (`Actions.rerun`)."""
    return {"runs": await _views(desk, run_ids[::-1]), "next_cursor": None}


async def _job(desk: FrontDesk, name: str, _run_ids: Sequence[str]) -> dict[str, Any]:
    return job_answer(desk, name)


async def _pauses(desk: FrontDesk, _name: str, _run_ids: Sequence[str]) -> dict[str, Any]:
    return {"pauses": pauses_of(desk)}


async def _views(desk: FrontDesk, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    found = await desk.ask(lambda store: [store.get_run(run_id) for run_id in run_ids])
    runs = [run for run in found if run is not None]
    if not runs:
        raise Conflict("this was done, and its runs are gone from the store since", mend="look in the logbook")
    return [run_view(*pair) for pair in await desk.with_latest(runs)]


_FORMS: Final[tuple[tuple[re.Pattern[str], _Form], ...]] = (
    (re.compile(r"/api/jobs/([^/]+)/trigger"), _triggered),
    (re.compile(r"/api/jobs/[^/]+/backfill"), _runs),
    (re.compile(r"/api/jobs/([^/]+)/(?:pause|resume)"), _job),
    (re.compile(r"/api/runs/[^/]+/rerun"), _rerun),
    (re.compile(r"/api/runs/[^/]+/[a-z-]+"), _run),
    (re.compile(r"/api/scheduler/(?:pause|resume)"), _pauses),
)
