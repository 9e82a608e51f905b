"""Streams for whoever watches: what changes (`/events`), and a log as it grows (`/events/log/{id}`).

Server-sent events. Each stream says something at least every 15 s, so that who listens knows a dead one; `ping`
asks for a word that scripts in a browser can hear too (they do not hear comments). Spec: jobs.md 13.6.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from pyscheduler.api import shapes
from pyscheduler.api.asking import EventStreamAsked, LogStreamAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.hub import Filter
from pyscheduler.api.logpart import attempts_of, chosen, path_of
from pyscheduler.api.logtail import LogTails
from pyscheduler.api.streams import QUIET_S, EventStream, Reader

BEGIN: Final = b"retry: 2000\n\n"
"""The first words: the head goes out at once, and a browser comes back two seconds after it was cut off."""
STREAM: Final[dict[str, Any]] = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)]


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/events", tags=["streams"], responses={**shapes.REFUSALS, 200: STREAM})
    tails = LogTails(desk)

    @routes.get("", response_class=StreamingResponse)
    async def events(
        request: Request, asked: Annotated[EventStreamAsked, Query()], last: LastEventId = None
    ) -> StreamingResponse:
        """Tell of every change: `run`, `attempt`, `reload`, and `reset` where something was missed."""
        desk.welcome(desk.engine)
        wanted = Filter(asked.run_date, asked.job, asked.run)
        reader = desk.hub.join(last or asked.after, wanted, who=caller_of(request.scope))
        return EventStream(_told(desk, reader, asked.ping), partial(desk.hub.leave, reader))

    @routes.get("/log/{run_id}", response_class=StreamingResponse)
    async def log(request: Request, run_id: str, asked: Annotated[LogStreamAsked, Query()]) -> StreamingResponse:
        """Follow a log: the last 200 whole `lines`, then new ones, `reset` where it was cut, `end` at its end."""
        run, attempts = await desk.ask(lambda store: attempts_of(store, run_id))
        attempt = chosen(run, attempts, asked.attempt)
        path = path_of(attempt, asked.stream)
        reader = tails.join(attempt, asked.stream, path, caller_of(request.scope))
        return EventStream(_read_out(tails, reader), partial(tails.leave, reader))

    return routes


async def _told(desk: FrontDesk, reader: Reader, ping_s: int | None) -> AsyncIterator[bytes]:
    hub, quiet_s = desk.hub, float(ping_s or QUIET_S)
    yield BEGIN + f"id: {hub.newest}\n\n".encode() * reader.is_idle
    while not reader.is_over:
        data = await reader.take(quiet_s)
        if data:
            yield data
        elif reader.is_idle and not reader.ended:
            word = "event: ping\ndata: {}" if ping_s else ": nothing new"
            yield f"id: {hub.newest}\n{word}\n\n".encode()


async def _read_out(tails: LogTails, reader: Reader) -> AsyncIterator[bytes]:
    yield BEGIN
    yield await tails.beginning(reader)
    while not reader.is_over:
        yield await reader.take(QUIET_S) or b": nothing new\n\n"
