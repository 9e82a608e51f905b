"""The logbook: who did what to which run, to be filtered, searched, and followed. Spec: jobs.md 3.4.

Filters are the store's and have indexes. A text is looked for here, in the lines that the filters leave, at most
`LOOKED_AT` of them for one page; the page says how far it has looked and goes on from there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.views import instant
from pyscheduler.errors import BadRequest
from pyscheduler.model.run import LogbookLine
from pyscheduler.store import Store
from pyscheduler.store.questions import LineQuery, cursor_at
from pyscheduler.store.rows import micros
from pyscheduler.timetable.zone import zone
from pyscheduler.web.asked import LogbookPage, link
from pyscheduler.web.press import Press
from pyscheduler.web.timescale import day_start
from pyscheduler.web.words import Times

LINES: Final = 100
LOOKED_AT: Final = 10_000
A_PIECE: Final = 1000
_INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?[+-]\d{2}:\d{2}")


@dataclass(frozen=True, slots=True)
class Found:
    """One page: the lines, where the next one begins, and how many lines were looked at for a text."""

    lines: tuple[LogbookLine, ...]
    next_cursor: str | None
    looked_at: int


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/logbook")
    async def logbook(request: Request, asked: Annotated[LogbookPage, Query()]) -> Response:
        since, until = _window(desk, asked)
        query = LineQuery(
            run_id=asked.run,
            job=asked.job,
            actor=asked.actor,
            action=asked.action,
            since=since,
            until=until,
            limit=A_PIECE if asked.q else LINES,
            cursor=asked.cursor,
        )
        found = await desk.ask(lambda store: search(store, query, asked.q))
        chosen = {name: value for name, value in asked.model_dump(exclude={"cursor"}).items() if value}
        csv = {"run": asked.run, "job": asked.job, "actor": asked.actor, "action": asked.action}
        return await press.page(
            request,
            "logbook.html",
            "/logbook",
            asked=asked,
            found=found,
            chosen=chosen,
            older=found.next_cursor and link("/logbook", **chosen, cursor=found.next_cursor),
            newest=link("/logbook", **chosen),
            csv=link("/api/events", **csv, since=instant(since), until=instant(until), limit=1000, format="csv"),
            detail=detail_text,
        )

    return routes


def _window(desk: FrontDesk, asked: LogbookPage) -> tuple[datetime | None, datetime | None]:
    """Return the instants that whole local days begin and end with."""
    there = zone(desk.engine.config.settings.timezone)
    try:
        since = day_start(there, asked.since) if asked.since else None
        return since, day_start(there, asked.until + timedelta(days=1)) if asked.until else None
    except (ValueError, OverflowError):
        raise BadRequest("the dates are too far away", mend="choose nearer ones") from None


def search(store: Store, query: LineQuery, text: str) -> Found:
    """Return a page of lines, those that contain a text where one is given. Raises BadRequest, StoreError."""
    page = store.lines(query)
    if not text:
        return Found(page.items, page.next_cursor, 0)
    needle, looked, hits = text.casefold(), 0, list[LogbookLine]()
    while True:
        for line in page.items:
            looked += 1
            if needle in _searched(line):
                hits.append(line)
                if len(hits) == LINES:
                    assert line.id is not None
                    return Found(tuple(hits), cursor_at(micros(line.at), line.id), looked)
        if page.next_cursor is None or looked >= LOOKED_AT:
            return Found(tuple(hits), page.next_cursor, looked)
        page = store.lines(replace(query, cursor=page.next_cursor))


def _searched(line: LogbookLine) -> str:
    return " ".join((line.actor, line.action, line.run_id or "", line.job or "", detail_text(line))).casefold()


def detail_text(line: LogbookLine, times: Times | None = None) -> str:
    """Return what a line tells beside its action, in words where its parts are words; instants as `times` has them."""
    parts = ((name.replace("_", " "), value) for name, value in line.detail.items())
    return ", ".join(f"{name} {_word(value, times)}" for name, value in parts if value not in (None, "", [], {}))


def _word(value: object, times: Times | None) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return times.full(datetime.fromisoformat(value)) if times is not None and _INSTANT.fullmatch(value) else value
