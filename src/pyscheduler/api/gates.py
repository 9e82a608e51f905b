"""What every request passes before a handler sees it, outermost first: log, limits, who, is there anybody, what kind.

1. one log line for each answer: who, what, status, milliseconds (never the query: it may hold what was typed). What
   was only looked at, successfully, is for debugging: whoever asks for a board must not find it written over;
2. no write waits longer than 30 s: a client that stops reading is cut off, and nothing else ever waits for it;
3. a head of at most 16 KiB in 100 headers; a body of at most 1 MiB that is there within 30 s, whole: nothing is done
   for one that was cut off or is JSON nested more than 100 deep;
4. the caller is identified (`callers.py`) before anything is told, the phase included;
5. while the service starts every path but `/healthz` answers 503;
6. what is posted to `/api/` is `application/json`, even without a body: no form of a web page can send that unasked.

Plain ASGI, because a response may be a stream. Spec: jobs.md 13.1, 13.3, 13.7.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyscheduler.api.answers import Json
from pyscheduler.api.bodies import check_depth
from pyscheduler.api.callers import Caller, Identify
from pyscheduler.api.host import Host, Phase
from pyscheduler.api.problems import answer_to
from pyscheduler.errors import CutShort, HeadTooLarge, PyschedError, TooLarge, TooSlow, WrongType

log = logging.getLogger("pyscheduler.api.access")

BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
ALWAYS_QUIET: Final = frozenset({"/api/health", "/healthz", "/readyz", "/metrics"})
"""Paths whose answer is for debugging only, good or bad: who watches services asks all the time."""


WHILE_STARTING: Final = "/healthz"
"""The one path that is answered while the service starts: it says that the process lives, and it does."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may cost."""

    head_bytes: int = 16 * 1024
    headers: int = 100
    body_bytes: int = 1024 * 1024
    body_s: float = 30.0
    write_s: float = 30.0


class ClientTooSlow(OSError):
    """The client does not read what it asked for: it was cut off."""


class Gates:
    """The gates in front of an application."""

    def __init__(self, app: ASGIApp, host: Host, identify: Identify, limits: Limits = Limits()) -> None:
        self._app, self._host, self._identify, self._limits = app, host, identify, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            return
        started = time.monotonic()
        line = _Line()
        try:
            await self._pass(scope, receive, self._watched(scope, send, line), line)
        except ClientTooSlow as error:
            line.remark = f" ({error})"
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not line.is_answered:
                _abort_of(scope)()  # an answer that was begun cannot be ended any other way
        finally:
            took_ms = (time.monotonic() - started) * 1000
            what = (line.actor, scope["method"], scope["path"], line.status, took_ms, line.remark)
            log.log(_level(scope, line), "%s %s %s %d %.0fms%s", *what)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, line: _Line) -> None:
        try:
            caller = self._identify(scope)
            scope.setdefault("state", {})["caller"] = caller
            line.actor = caller.name
            self._check_head(scope)
            refusal = self._refusal() if scope["path"] != WHILE_STARTING else None
            if scope["method"] not in BODILESS:
                receive = await self._whole_body(receive)
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

    def _check_head(self, scope: Scope) -> None:
        headers, limits = scope["headers"], self._limits
        if len(headers) > limits.headers:
            raise HeadTooLarge(f"the request has {len(headers)} headers and {limits.headers} are allowed")
        target = len(scope["raw_path"]) + len(scope["query_string"])
        if target + sum(len(name) + len(value) for name, value in headers) > limits.head_bytes:
            raise HeadTooLarge(f"the head of the request has more than {limits.head_bytes} bytes")
        if scope["method"] == "POST" and scope["path"].startswith("/api/"):
            kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
            if kind.partition(b";")[0].strip().lower() != b"application/json":
                mend = "send `Content-Type: application/json`"
                raise WrongType("what is posted must be application/json", mend=mend)

    async def _whole_body(self, receive: Receive) -> Receive:
        """Read a body to its end within its limits; returns what hands it on in one piece."""
        body, limits = bytearray(), self._limits
        try:
            async with asyncio.timeout(limits.body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise CutShort("the connection ended before the body did: nothing was done")
                    body += message.get("body", b"")
                    if len(body) > limits.body_bytes:
                        raise TooLarge(f"the body is larger than {limits.body_bytes} bytes")
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise TooSlow(f"the body did not come within {limits.body_s:g} s") from None
        check_depth(bytes(body))
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def handed_on() -> Message:
            return whole.pop() if whole else await receive()

        return handed_on

    def _watched(self, scope: Scope, send: Send, line: _Line) -> Send:
        """Return a send that notes the status and gives no client longer than it may take."""
        abort, write_s = _abort_of(scope), self._limits.write_s

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                line.status = message["status"]
            try:
                async with asyncio.timeout(write_s):
                    await send(message)
                line.is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            except TimeoutError:
                abort()
                raise ClientTooSlow(f"cut off: nothing was read for {write_s:g} s") from None

        return watched


class _Line:
    """What is known of a request for its line in the log."""

    __slots__ = ("actor", "is_answered", "remark", "status")

    def __init__(self) -> None:
        self.actor, self.remark, self.status, self.is_answered = "-", "", 0, False


def _level(scope: Scope, line: _Line) -> int:
    """Return how important a request's line is."""
    heard = 200 <= line.status < 400 or line.status == 503  # "not yet", which is asked again and again
    looked = scope["method"] in BODILESS and heard and not line.remark
    return logging.DEBUG if looked or scope["path"] in ALWAYS_QUIET else logging.INFO


def caller_of(scope: Scope) -> Caller:
    """Return who sent a request that has passed the gates."""
    caller: Caller = scope["state"]["caller"]
    return caller


def _abort_of(scope: Scope) -> Callable[[], Any]:
    """Return what cuts the connection."""
    abort: Callable[[], Any] = scope.get("state", {}).get("abort", lambda: None)
    return abort
