"""Who waits for whom, as a drawing: laid out here, drawn by `static/js/graph.js`, and as a list for who cannot see it.

The layout depends on the configuration alone and is kept for the latest few questions; states are read anew each time.
Spec: jobs.md 15.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api.answers import Json
from pyscheduler.api.desk import FrontDesk
from pyscheduler.config import Config
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run
from pyscheduler.web.asked import GraphPage, Paged, link
from pyscheduler.web.graph_layout import BOX_HEIGHT, BOX_WIDTH, Drawing, Link, lay_out
from pyscheduler.web.press import Press
from pyscheduler.web.standing import standing_runs

KEPT: Final = 8
"""Layouts that are kept."""
NO_RUN: Final = "none"


@dataclass(frozen=True, slots=True)
class GraphRow:
    """One job in the list that stands beside the drawing."""

    job: Job
    run: Run | None
    waiters: tuple[str, ...]


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)
    drawings = Drawings()

    @routes.get("/graph")
    async def graph(request: Request, asked: Annotated[GraphPage, Query()]) -> Response:
        config = desk.engine.config  # of one moment: a reload may come while the runs are looked up
        day, names = asked.run_date or desk.today(), chosen(desk, asked)
        shown = Paged(names, asked.page)
        runs = await _runs(desk, shown.rows, day)
        rows = [_row(config, name, runs) for name in shown.rows]
        where = {"run_date": asked.run_date, "tag": asked.tag, "focus": asked.focus}
        tags = sorted({tag for job in config.jobs.values() for tag in job.tags})
        return await press.page(
            request,
            "graph.html",
            "/graph",
            asked=asked,
            day=day,
            shown=shown,
            rows=rows,
            tags=tags,
            base=link("/graph", **where),
            source=link("/graph/drawing", **where),
        )

    @routes.get("/graph/drawing")
    async def drawing(asked: Annotated[GraphPage, Query()]) -> Response:
        config, day, names = desk.engine.config, asked.run_date or desk.today(), chosen(desk, asked)
        runs = await _runs(desk, names, day)
        return await desk.threads(_answer, drawings, config, tuple(names), runs, day)

    @routes.get("/graph/states")
    async def states(asked: Annotated[GraphPage, Query()]) -> Response:
        day, names = asked.run_date or desk.today(), chosen(desk, asked)
        runs = await _runs(desk, names, day)
        return Json({"states": {name: _state(runs.get(name)) for name in names}})

    return routes


class Drawings:
    """Layouts by configuration and jobs, the latest few."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], Drawing] = {}

    def of(self, config: Config, names: tuple[str, ...]) -> Drawing:
        """Return the layout of these jobs. A hundred milliseconds for two thousand: for a helper thread."""
        key = (config.digest, names)
        found = self._known.pop(key, None) or lay_out(names, links_of(config, names))
        self._known[key] = found
        while len(self._known) > KEPT:
            self._known.pop(next(iter(self._known)), None)
        return found


def links_of(config: Config, names: Iterable[str]) -> list[Link]:
    """Return the edges that lead to these jobs."""
    return [Link(edge.job, name, apart=edge.run_date != 0) for name in names for edge in config.jobs[name].depends_on]


def chosen(desk: FrontDesk, asked: GraphPage) -> list[str]:
    """Return the names of the jobs to draw, by name. Raises NotFound for a focus that is no job."""
    config = desk.engine.config
    names = among(config, desk.job(asked.focus).name) if asked.focus is not None else set(config.jobs)
    return sorted(name for name in names if asked.tag is None or asked.tag in config.jobs[name].tags)


def among(config: Config, name: str) -> set[str]:
    """Return a job with all that it waits for and all that waits for it, however far."""
    above = _reach(name, lambda job: [edge.job for edge in config.jobs[job].depends_on if edge.job in config.jobs])
    return above | _reach(name, config.dependents)


def _reach(name: str, beside: Callable[[str], Iterable[str]]) -> set[str]:
    found, to_see = {name}, [name]
    while to_see:
        for other in beside(to_see.pop()):
            if other not in found:
                found.add(other)
                to_see.append(other)
    return found


async def _runs(desk: FrontDesk, names: Iterable[str], day: date) -> dict[str, Run]:
    found = await standing_runs(desk, [(name, day) for name in names])
    return {name: run for (name, _day), run in found.items()}


def _row(config: Config, name: str, runs: Mapping[str, Run]) -> GraphRow:
    return GraphRow(config.jobs[name], runs.get(name), config.dependents(name))


# --------------------------------------------------------------------------- as JSON, for the module that draws


def _answer(drawings: Drawings, config: Config, names: tuple[str, ...], runs: Mapping[str, Run], day: date) -> Response:
    """Lay out and write down: a tenth of a second for two thousand jobs. For a helper thread."""
    return Json(_view(config, drawings.of(config, names), runs, day))


def _view(config: Config, drawing: Drawing, runs: Mapping[str, Run], day: date) -> dict[str, Any]:
    edges = [
        {
            "from": edge.job,
            "to": name,
            "on": edge.on.value,
            "offset": edge.run_date,
            "via": drawing.passing.get((edge.job, name), ()) if edge.run_date == 0 else (),
        }
        for name in drawing.boxes
        for edge in config.jobs[name].depends_on
        if edge.job in drawing.boxes
    ]
    return {
        "run_date": day.isoformat(),
        "width": drawing.width,
        "height": drawing.height,
        "box": [BOX_WIDTH, BOX_HEIGHT],
        "nodes": [_node(config.jobs[name], box.x, box.y, runs.get(name)) for name, box in drawing.boxes.items()],
        "edges": edges,
    }


def _node(job: Job, x: int, y: int, run: Run | None) -> dict[str, Any]:
    about = {"name": job.name, "x": x, "y": y, "criticality": job.criticality.word, "enabled": job.enabled}
    return about | _state(run)


def _state(run: Run | None) -> dict[str, Any]:
    if run is None:
        return {"state": NO_RUN, "run": None, "reason": ""}
    return {"state": run.state.value, "run": run.run_id, "reason": run.reason}
