"""The configuration: put what stands on disk in force, check it, compare it with what is in force.

It is read in a process of its own, so none of this holds the loop up; a change is all or nothing. Spec: jobs.md 11.2.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.asking import Act, DiffAsked
from pyscheduler.api.coming import refuse_too_many
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.problems import problem_view
from pyscheduler.api.views import instant
from pyscheduler.config import Config, config_diff, firing_diff
from pyscheduler.config.diff import ConfigDiff, FiringChange


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api", tags=["configuration"], responses=shapes.REFUSALS)

    @routes.post("/reload", response_model=shapes.Reload)
    async def reload(request: Request, act: Act | None = None) -> Json:
        """Put the files' present text in force, or leave everything as it is and list what is wrong."""
        done = await desk.host.reload(caller_of(request.scope).name, act.reason if act else "")
        warnings = [problem_view(problem) for problem in done.warnings]
        called_off = list(done.called_off)
        answer = {"ok": True, "changed": done.changed, "version": done.version, "cancelled": called_off}
        return Json({**answer, "warnings": warnings})

    @routes.get("/config/validate", response_model=shapes.Validation)
    async def validate() -> Json:
        """Check the files' present text; nothing is put in force."""
        config = await desk.host.load()
        return Json({"ok": True, "warnings": [problem_view(problem) for problem in config.warnings]})

    @routes.get("/diff", response_model=shapes.Diff)
    async def diff(asked: Annotated[DiffAsked, Query()]) -> Json:
        """Compare the files' present text with what is in force; with `days` what will happen too."""
        old, now = desk.engine.config, desk.engine.clock.now()
        new = await desk.host.load()
        until = now + timedelta(days=asked.days)
        return Json(await desk.threads(_compared, old, new, now, until))

    return routes


def _compared(old: Config, new: Config, now: datetime, until: datetime) -> dict[str, Any]:
    """Compare: seconds where much has changed. For a helper thread."""
    found = config_diff(old, new)
    for config in (old, new) if until > now else ():
        refuse_too_many(config, _moved(found, config), now, until)
    return _diff_view(found) | {
        "same": old.digest == new.digest,
        "firings": [_change_view(change) for change in firing_diff(old, new, now, until)] if until > now else [],
    }


def _moved(found: ConfigDiff, config: Config) -> set[str]:
    """Return the jobs whose own firings a change may move."""
    by_calendar = {job.name for job in config.jobs.values() if job.calendar in found.calendars}
    return by_calendar.union(found.added, found.removed, found.changed)


def _diff_view(found: ConfigDiff) -> dict[str, Any]:
    return {
        "added": list(found.added),
        "removed": list(found.removed),
        "changed": {name: list(keys) for name, keys in found.changed.items()},
        "settings": {name: [_text(old), _text(new)] for name, (old, new) in found.settings.items()},
        "pools": {name: list(pair) for name, pair in found.pools.items()},
        "calendars": list(found.calendars),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _change_view(change: FiringChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "job": change.job,
        "text": change.text,
        "run_date": None if change.run_date is None else change.run_date.isoformat(),
        "before": instant(change.before),
        "after": instant(change.after),
    }
