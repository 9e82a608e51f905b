"""What a browser gets to see where the API answers with a refusal: the same words, as a page.

Stands around the whole application, gates included, so that "the scheduler is starting" and "you may not" look like
the rest of the house. Only navigation is dressed: a GET that accepts `text/html`, outside `/api/` and `/events`, whose
answer is a JSON refusal. Status and every header but those of the body stay.

Here a page also learns, before anything is read for it, which event was the newest: it asks the stream for what came
after that one, and misses nothing of what happens while it is on its way.
"""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyscheduler.web.press import Press

BARE: Final = ("/api/", "/events", "/static/", "/metrics", "/healthz", "/readyz")
"""Where programs ask: what begins so is never dressed."""
LONGEST: Final = 64 * 1024
"""A refusal with a longer body is left as it is."""
TITLES: Final = {
    401: "Who are you?",
    403: "Not for you",
    404: "There is no such page",
    429: "Too many at once",
    500: "That went wrong, and it is our fault",
    503: "Not just now",
}


class Dressed:
    """An application whose refusals are pages to browsers."""

    def __init__(self, app: ASGIApp, press: Press) -> None:
        self._app, self._press = app, press

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and dress the answer where it is a refusal."""
        if not _is_navigation(scope):
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["newest"] = self._press.newest
        await self._app(scope, receive, _Wardrobe(self._press, scope, receive, send).send)


class _Wardrobe:
    """Holds back the answer to one request until it is clear whether it is a refusal."""

    def __init__(self, press: Press, scope: Scope, receive: Receive, send: Send) -> None:
        self._press, self._scope, self._receive, self._send = press, scope, receive, send
        self._head: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        """Pass a message on, or keep it."""
        if message["type"] == "http.response.start" and _is_refusal(message):
            self._head = message
        elif self._head is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._answer(self._head)
            elif len(self._body) > LONGEST:
                head, self._head = self._head, None
                await self._send(head)
                await self._send({"type": "http.response.body", "body": bytes(self._body), "more_body": True})

    async def _answer(self, head: Message) -> None:
        status: int = head["status"]
        said = _said(bytes(self._body))
        title = TITLES.get(status, "That cannot be done")
        page = self._press.small_page(
            HTTPConnection(self._scope), "refusal.html", status=status, code=status, title=title, said=said
        )
        for name, value in head["headers"]:
            if name.lower() not in (b"content-type", b"content-length"):
                page.headers[name.decode("latin-1")] = value.decode("latin-1")
        await page(self._scope, self._receive, self._send)


def _is_navigation(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(BARE):
        return False
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted


def _is_refusal(head: Message) -> bool:
    kind = next((value for name, value in head["headers"] if name.lower() == b"content-type"), b"")
    return head["status"] >= 400 and kind.startswith(b"application/json")


def _said(body: bytes) -> dict[str, str]:
    """Return what a refusal says, each part a text."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        found = {}
    parts = found if isinstance(found, dict) else {}
    return {name: str(parts.get(name) or "") for name in ("error", "message", "where", "mend")}
