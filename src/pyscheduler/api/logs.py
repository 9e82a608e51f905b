"""The log of a run's attempt: its last lines, a page of bytes as text, or the bytes themselves. Spec: jobs.md 13.4.

A follower reads the tail once, then goes on with `offset` from `size`; `ended` says that the attempt writes no more,
`attempt` and `latest_attempt` that another has begun. The path is the one the attempt's row recorded, never a
parameter.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from pyscheduler.api import logfile, shapes
from pyscheduler.api.answers import json_of, of_slices, text_slices
from pyscheduler.api.asking import LogAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.logs_afar import of_another_node
from pyscheduler.errors import BadRequest, NotFound
from pyscheduler.model.run import Attempt, Run
from pyscheduler.store.reads import Reads

TAIL_LINES: Final = 200
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


def attempts_of(store: Reads, run_id: str) -> tuple[Run, list[Attempt]]:
    """Return a run and its attempts. Raises NotFound."""
    run = store.get_run(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id[:100]}", mend="`pysched runs` lists them")
    return run, store.attempts(run_id)


def chosen(run: Run, attempts: list[Attempt], number: int | None) -> Attempt:
    """Return the attempt asked for, the latest unless named. Raises NotFound."""
    if not attempts:
        raise NotFound(f"{run.run_id} has no log: it was never started", mend=f"`pysched why {run.job}` says why")
    found = attempts[-1] if number is None else next((row for row in attempts if row.attempt == number), None)
    if found is None:
        raise NotFound(f"{run.run_id} has no attempt {number}", mend=f"it has had {attempts[-1].attempt}")
    return found


def path_of(attempt: Attempt, stream: str) -> str:
    """Return the path of an attempt's log. Raises NotFound."""
    if stream == "stderr" and attempt.stderr_path in ("", attempt.stdout_path):
        raise NotFound("stderr goes into the log of stdout for this job", mend="ask for stream=stdout")
    path = attempt.stdout_path if stream == "stdout" else attempt.stderr_path
    if not path:
        raise NotFound("this attempt has no log: its command could not be made", mend=attempt.reason)
    return path


def text_of(path: str, asked: LogAsked, attempt: Attempt) -> dict[str, Any]:
    """Return the part of a log that was asked for. For a helper thread. Raises NotFound, Forbidden, OSError."""
    with _absence_of(attempt):
        if asked.offset is None:
            tail = logfile.tail(path, asked.tail or TAIL_LINES)
            return {"lines": tail.lines, "truncated": tail.truncated, "size": tail.size, "path": path}
        piece = logfile.piece(path, asked.offset, asked.limit, ended=attempt.outcome is not None)
    offsets = {"offset": piece.offset, "next_offset": piece.next_offset, "size": piece.size}
    return {"text": piece.text, **offsets, "path": path}


def _shown(path: str, asked: LogAsked, attempt: Attempt, standing: dict[str, Any]) -> list[bytes]:
    """Return the answer in slices: megabytes of text are not to be written on the loop. Raises like `text_of`."""
    found = text_of(path, asked, attempt) | standing
    if "lines" not in found:
        return [json_of(found)]
    return text_slices("lines", found.pop("lines"), found)


def size_of(path: str, attempt: Attempt) -> int:
    """Return how many bytes an attempt's log has. For a helper thread. Raises like `text_of`."""
    with _absence_of(attempt):
        return logfile.size_of(path)


@contextmanager
def _absence_of(attempt: Attempt) -> Iterator[None]:
    """Say of an attempt that has ended that its log is gone: no log will come any more."""
    try:
        yield
    except NotFound as error:
        if attempt.outcome is None:
            raise
        what = "there is no log: the attempt has ended, and its file was removed or never written"
        if attempt.exit_code is not None or attempt.signal is not None:
            what = "the log file is gone: it lay here when the attempt ran, and was removed or moved since"
        raise NotFound(what, where=error.where, mend="look where old logs are moved to, or in a backup") from None


def standing_of(run: Run, attempt: Attempt, attempts: list[Attempt]) -> dict[str, Any]:
    """Return what a follower needs to know when to look again, and when never."""
    return {
        "attempt": attempt.attempt,
        "latest_attempt": attempts[-1].attempt,
        "ended": attempt.outcome is not None,
        "state": run.state.value,
    }


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
