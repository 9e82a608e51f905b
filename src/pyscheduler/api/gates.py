"""What every request passes before a handler sees it, outermost first: log, limits, who, is there anybody, what kind.

1. one log line for each answer: who, what, status, milliseconds (never the query: it may hold what was typed);
2. no write waits longer than WRITE_S: a client that stops reading is cut off, and nothing else ever waits for it;
3. at most HEADERS headers; a body of at most BODY_BYTES that is there within BODY_S;
4. the caller is identified (`callers.py`) before anything is told, the phase included;
5. while the service starts every path answers 503;
6. what is posted to `/api/` is `application/json`, even without a body: no form of a web page can send that unasked.

Plain ASGI, because a response may be a stream. Spec: jobs.md 13.1, 13.3, 13.7.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Caller, Identify
from pyscheduler.api.host import Host, Phase
from pyscheduler.api.problems import answer_to
from pyscheduler.errors import ActionError, PyschedError

log = logging.getLogger("pyscheduler.api.access")

HEADERS: Final = 100
BODY_BYTES: Final = 1024 * 1024
BODY_S: Final = 30.0
WRITE_S: Final = 30.0
QUIET: Final = frozenset({"/api/health"})
"""Paths that are asked for so often that their line is for debugging only."""

Passes = Callable[[Scope, Receive, Send], Awaitable[None]]


class TooLarge(ActionError):
    """The request is larger than it may be."""

    code = "too-large"
    status = 413


class TooSlow(ActionError):
    """The request's body did not come in time."""

    code = "too-slow"
    status = 408


class WrongType(ActionError):
    """What was posted is no JSON."""

    code = "wrong-type"
    status = 415


class ClientTooSlow(OSError):
    """The client does not read what it asked for: it was cut off."""


class Gates:
    """The gates in front of an application."""

    def __init__(self, app: ASGIApp, host: Host, identify: Identify) -> None:
        self._app, self._host, self._identify = app, host, identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            return
        started = time.monotonic()
        line = _Line()
        try:
            await self._pass(scope, receive, _watched(scope, send, line), line)
        except ClientTooSlow as error:
            line.remark = f" ({error})"
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            _abort_of(scope)()  # what was begun cannot be ended; what was not has its 500 by now
        finally:
            took_ms = (time.monotonic() - started) * 1000
            level = logging.DEBUG if scope["path"] in QUIET else logging.INFO
            log.log(
                level,
                "%s %s %s %d %.0fms%s",
                line.actor,
                scope["method"],
                scope["path"],
                line.status,
                took_ms,
                line.remark,
            )

    async def _pass(self, scope: Scope, receive: Receive, send: Send, line: _Line) -> None:
        try:
            caller = self._identify(scope)
            scope.setdefault("state", {})["caller"] = caller
            line.actor = caller.name
            _check_head(scope)
            refusal = self._refusal()
            receive = await _whole_body(receive) if scope["method"] in ("POST", "PUT", "PATCH", "DELETE") else receive
        except PyschedError as error:
            await answer_to(error)(scope, receive, send)
            return
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self) -> Json | None:
        standing = self._host.standing
        if standing.phase is not Phase.STARTING:
            return None
        body = {"error": "scheduler is starting"} | ({"message": standing.trouble} if standing.trouble else {})
        return Json(body, 503, {"Retry-After": "1"})


class _Line:
    """What is known of a request for its line in the log."""

    __slots__ = ("actor", "remark", "status")

    def __init__(self) -> None:
        self.actor, self.remark, self.status = "-", "", 0


def caller_of(scope: Scope) -> Caller:
    """Return who sent a request that has passed the gates."""
    caller: Caller = scope["state"]["caller"]
    return caller


def _check_head(scope: Scope) -> None:
    if len(scope["headers"]) > HEADERS:
        raise TooLarge(f"the request has {len(scope['headers'])} headers and {HEADERS} are allowed")
    if scope["method"] == "POST" and scope["path"].startswith("/api/"):
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        if kind.partition(b";")[0].strip().lower() != b"application/json":
            raise WrongType("what is posted must be application/json", mend="send `Content-Type: application/json`")


async def _whole_body(receive: Receive) -> Receive:
    """Read a body to its end within its limits; returns what hands it on in one piece."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    break
                body += message.get("body", b"")
                if len(body) > BODY_BYTES:
                    raise TooLarge(f"the body is larger than {BODY_BYTES} bytes")
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise TooSlow(f"the body did not come within {BODY_S:.0f} s") from None
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def handed_on() -> Message:
        return whole.pop() if whole else await receive()

    return handed_on


def _abort_of(scope: Scope) -> Callable[[], Any]:
    """Return what cuts the connection."""
    abort: Callable[[], Any] = scope.get("state", {}).get("abort", lambda: None)
    return abort


def _watched(scope: Scope, send: Send, line: _Line) -> Send:
    """Return a send that notes the status and gives no client longer than WRITE_S."""
    abort = _abort_of(scope)

    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            line.status = message["status"]
        try:
            async with asyncio.timeout(WRITE_S):
                await send(message)
        except TimeoutError:
            abort()
            raise ClientTooSlow(f"cut off: nothing was read for {WRITE_S:.0f} s") from None

    return watched
