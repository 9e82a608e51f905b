"""What every request passes before a handler sees it, outermost first: log, limits, who, is there anybody, what kind.

1. one log line for each answer: who, what, status, milliseconds (never the query: it may hold what was typed). What
   was only looked at, successfully, is for debugging: whoever asks for a board must not find it written over;
2. no write waits longer than 30 s: a client that stops reading is cut off, and nothing else ever waits for it;
3. a head of at most 16 KiB in 100 headers; a body of at most 1 MiB that is there within 30 s, whole: nothing is done
   for one that was cut off or is JSON nested more than 100 deep;
4. the caller is identified (`callers.py`, `door.py`) before anything is told, the phase included, does not act faster
   than anybody may (`rates.py`), has the role that the path needs (`needs.py`), and means what is asked (`intent.py`);
   nobody gets no further than what is public;
5. while the service starts every path but `/healthz` answers 503, but for what a glance at the store answers;
6. what an unsafe request came to is in the audit log before it is answered (`recording.py`);
7. what is posted to `/api/` is `application/json`, even without a body: no form of a web page can send that unasked.

Plain ASGI, because a response may be a stream. Spec: jobs.md 13.1, 13.3, 13.7.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyscheduler.api import intent, needs
from pyscheduler.api.answers import Json
from pyscheduler.api.bodies import check_depth
from pyscheduler.api.callers import Caller, Identify
from pyscheduler.api.host import Host, Phase
from pyscheduler.api.ledger import Ledger
from pyscheduler.api.problems import answer_to
from pyscheduler.api.rates import Rates
from pyscheduler.api.recording import OWN, Recorder
from pyscheduler.api.sight import GLANCE
from pyscheduler.errors import (
    CutShort,
    Forbidden,
    HeadTooLarge,
    PyschedError,
    TooLarge,
    TooMany,
    TooSlow,
    Unauthorised,
    WrongType,
)

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


TurnAway = Callable[[Scope, Forbidden | Unauthorised | None], Response]
"""Returns the answer for a request of nobody, or of somebody who may not come in."""


def turn_away(_scope: Scope, error: Forbidden | Unauthorised | None) -> Response:
    """Say no more than that."""
    return answer_to(error or Unauthorised("unauthorised"))


class Gates:
    """The gates in front of an application."""

    def __init__(
        self,
        app: ASGIApp,
        host: Host,
        identify: Identify,
        limits: Limits = Limits(),
        turn_away: TurnAway = turn_away,
        ledger: Ledger | None = None,
    ) -> None:
        self._app, self._host, self._identify, self._limits = app, host, identify, limits
        self._turn_away, self._ledger = turn_away, ledger
        self._rates = Rates()

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
            what = (line.actor, scope["method"], _shown_path(scope), line.status, took_ms, line.remark)
            log.log(_level(scope, line), "%s %s %s %d %.0fms%s", *what)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, line: _Line) -> None:
        try:
            caller = await self._who(scope)
        except (Forbidden, Unauthorised) as error:
            await self._turn_away(scope, error)(scope, receive, send)
            return
        except PyschedError as error:
            await answer_to(error)(scope, receive, send)
            return
        if caller is None and not needs.is_public(scope):
            await self._turn_away(scope, None)(scope, receive, send)
            return
        line.actor = "-" if caller is None else caller.name
        try:
            if caller is not None and scope["method"] not in BODILESS:
                self._rates.check(caller, time.monotonic())
        except TooMany as error:
            await answer_to(error)(scope, receive, send)
            return
        recorder = None if caller is None else self._recorder(scope, caller)
        if recorder is None:
            await self._hand_on(scope, receive, send, caller, None)
            return
        try:
            await self._hand_on(scope, receive, recorder.watching(send), caller, recorder)
        finally:
            await recorder.close()

    async def _hand_on(
        self, scope: Scope, receive: Receive, send: Send, caller: Caller | None, recorder: Recorder | None
    ) -> None:
        try:
            if caller is not None:
                needs.check(caller, scope)
            self._check_head(scope)
            refusal = self._refusal(caller) if scope["path"] != WHILE_STARTING else None
            if scope["method"] not in BODILESS:
                body = await self._whole_body(receive)
                receive = _handed_on(body, receive)
                intent.check(caller, scope, body)
                if recorder is not None:
                    recorder.begin(body)
        except PyschedError as error:
            await answer_to(error)(scope, receive, send)
            return
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _recorder(self, scope: Scope, caller: Caller) -> Recorder | None:
        """Return what watches a request that may change something."""
        if self._ledger is None or scope["method"] in BODILESS or scope["path"] in OWN:
            return None
        return Recorder(self._ledger, scope, caller)

    async def _who(self, scope: Scope) -> Caller | None:
        """Return who sent a request, and let handlers know. Raises Forbidden, Unauthorised, Unavailable."""
        found = self._identify(scope)
        caller: Caller | None = await found if inspect.isawaitable(found) else found
        scope.setdefault("state", {})["caller"] = caller
        return caller

    def _refusal(self, caller: Caller | None) -> Json | None:
        standing = self._host.standing
        if standing.phase is not Phase.STARTING or GLANCE.get() is not None:
            return None
        is_told = standing.trouble and caller is not None
        body = {"error": "scheduler is starting"} | ({"message": standing.trouble} if is_told else {})
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

    async def _whole_body(self, receive: Receive) -> bytes:
        """Read a body to its end within its limits."""
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
        return bytes(body)

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


def _handed_on(body: bytes, receive: Receive) -> Receive:
    """Return a receive that hands a body on in one piece."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def handed_on() -> Message:
        return whole.pop() if whole else await receive()

    return handed_on


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


def _shown_path(scope: Scope) -> str:
    """Return a request's path for the log, without the code of a one-time link."""
    path: str = scope["path"]
    return "/enter/…" if path.startswith("/enter/") else path


def caller_of(scope: Scope) -> Caller:
    """Return who sent a request that has passed the gates, for a route that is not public."""
    caller: Caller | None = scope["state"]["caller"]
    assert caller is not None, "what nobody may ask for is turned away at the gates"
    return caller


def visitor_of(scope: Scope) -> Caller | None:
    """Return who sent a request, None for nobody: for routes that are public."""
    caller: Caller | None = scope["state"]["caller"]
    return caller


def _abort_of(scope: Scope) -> Callable[[], Any]:
    """Return what cuts the connection."""
    abort: Callable[[], Any] = scope.get("state", {}).get("abort", lambda: None)
    return abort
