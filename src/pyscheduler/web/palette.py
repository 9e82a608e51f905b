"""What Ctrl-K finds: pages, jobs and runs by a few letters, and the ways to the board's states. At most FOUND of each.

Jobs are looked through in memory, runs by the beginning of their id through an index of the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from pyscheduler.api.asking import Asked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.web.frame import PLACES, Place
from pyscheduler.web.press import Press
from pyscheduler.web.words import LOOKS

FOUND: Final = 8


class Find(NamedTuple):
    """One line of the palette: its words, where it leads, what it is, and its mark."""

    words: str
    href: str
    kind: str
    mark: str


class PaletteAsked(Asked):
    """A few letters."""

    q: Annotated[str, Field(max_length=100)] = ""


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/palette")
    async def palette(request: Request, asked: Annotated[PaletteAsked, Query()]) -> Response:
        """Render what was found, as the items of a list."""
        needle = asked.q.strip()
        jobs = matching_jobs(desk.engine.config.jobs, needle)
        found = [*pages(PLACES, needle), *jobs, *states(needle)]
        if needle:
            ids = await desk.ask(lambda store: store.existing_run_ids(needle, FOUND))
            found += [Find(run_id, f"/runs/{quote(run_id)}", "run", "running") for run_id in ids]
        return await press.page(request, "palette.html", found=found)

    return routes


def pages(places: Iterable[Place], needle: str) -> list[Find]:
    """Return the pages whose names contain the letters."""
    return [
        Find(place.name, place.path, f"page, g {place.key}", "right")
        for place in places
        if needle.casefold() in place.name.casefold()
    ]


def states(needle: str) -> list[Find]:
    """Return the board's states that begin with the letters."""
    folded = needle.casefold()
    return [
        Find(f"{look.word} runs of today", f"/?state={state.value}", "board", look.mark)
        for state, look in LOOKS.items()
        if folded and look.word.startswith(folded)
    ]


def matching_jobs(names: Iterable[str], needle: str) -> list[Find]:
    """Return the first jobs that begin with the letters, then those that contain them."""
    folded = needle.casefold()
    if not folded:
        return []
    near = sorted((not name.casefold().startswith(folded), name) for name in names if folded in name.casefold())
    return [Find(name, f"/jobs/{quote(name)}", "job", "scheduled") for _, name in near[:FOUND]]
