"""The log of a run's attempt: its last lines, a page of bytes as text, or the bytes themselves. Spec: jobs.md 13.4.

A follower reads the tail once, then goes on with `offset` from `size`; `ended` says that the attempt writes no more,
`attempt` and `latest_attempt` that another has begun.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from pyscheduler.api import logfile, shapes
from pyscheduler.api.answers import json_of, of_slices, text_slices
from pyscheduler.api.asking import LogAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.logpart import attempts_of, chosen, path_of, size_of, standing_of, text_of
from pyscheduler.api.logs_afar import of_another_node
from pyscheduler.errors import BadRequest
from pyscheduler.model.run import Attempt

RAW_BLOCK: Final = 256 * 1024


def router(desk: FrontDesk) -> APIRouter:
    """Return the route."""
    routes = APIRouter(prefix="/api/runs/{run_id}", tags=["runs"], responses=shapes.REFUSALS)

    @routes.get("/log", response_model=shapes.LogTail | shapes.LogPiece)
    async def log(request: Request, run_id: str, asked: Annotated[LogAsked, Query()]) -> Response:
        """Show the last `tail` lines (200), or with `offset` up to `limit` bytes from there; `raw=1` sends bytes."""
        if asked.tail is not None and (asked.offset is not None or asked.raw == "1"):
            raise BadRequest("tail goes with neither offset nor raw", mend="leave one of them out")
        run, attempts = await desk.look(lambda store: attempts_of(store, run_id))
        attempt = chosen(run, attempts, asked.attempt)
        path = path_of(attempt, asked.stream)
        if (elsewhere := await of_another_node(desk, request.scope, attempt, path)) is not None:
            return elsewhere
        if asked.raw == "1":
            return await _raw(desk, path, asked, attempt)
        standing = standing_of(run, attempt, attempts)
        return of_slices(await desk.threads(_shown, path, asked, attempt, standing))

    return routes


def _shown(path: str, asked: LogAsked, attempt: Attempt, standing: dict[str, Any]) -> list[bytes]:
    """Return the answer in slices: megabytes of text are not to be written on the loop. Raises like `text_of`."""
    found = text_of(path, asked, attempt) | standing
    if "lines" not in found:
        return [json_of(found)]
    return text_slices("lines", found.pop("lines"), found)


async def _raw(desk: FrontDesk, path: str, asked: LogAsked, attempt: Attempt) -> Response:
    """Send bytes as they are: `limit` of them where an offset is given, else all there are now."""
    size = await desk.threads(size_of, path, attempt)
    start = min(asked.offset or 0, size)
    end = size if asked.offset is None else min(size, start + asked.limit)
    headers = {"X-Log-Size": str(size), "X-Content-Type-Options": "nosniff"}
    blocks = _blocks(desk, path, start, end)
    return StreamingResponse(blocks, media_type="application/octet-stream", headers=headers)


async def _blocks(desk: FrontDesk, path: str, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end and (block := await desk.threads(logfile.block, path, start, min(RAW_BLOCK, end - start))):
        start += len(block)
        yield block
