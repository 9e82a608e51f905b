"""A request that is sent twice and done once: the header `Idempotency-Key` on `POST`.

The same caller's same key with the same request gets the answer that was given first, for KEPT; with another request it
is refused. Only answers that something was done (2xx) are kept: after a refusal nothing was done, so asking again is
asking for the first time. Requests with a key that is under way wait for its answer.

What a crash leaves, and why that is safe (field case FC-090):

| killed | on disk | what the repetition does |
|---|---|---|
| before the deed's commit | nothing | it is done now |
| after it, before the answer is kept | the deed, its key in the same commit | told of its runs as they stand now |
| after the answer was kept | deed, key, answer | the same answer |

How the key comes into the deed's commit: `engine/request.py`. An action on many runs makes many commits, and each
carries the key with the runs so far: the repetition goes on where the first one ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.problems import answer_to
from pyscheduler.api.recording import record_of
from pyscheduler.api.recovered import answer_from
from pyscheduler.engine.request import MARK, Mark
from pyscheduler.errors import BadRequest, Conflict, KeyReused, PyschedError
from pyscheduler.model.batch import Batch
from pyscheduler.model.reply import DONE, Reply

log = logging.getLogger(__name__)

HEADER: Final = b"idempotency-key"
OURS: Final = "/api/"
"""Where keys count. Whoever signs in is nobody yet, and what the sign-in answers is not to be kept on disk."""
REPLAYED: Final = {"Idempotent-Replay": "true"}
KEPT: Final = timedelta(hours=24)
MOST_KEPT: Final = 100_000
PRUNE_EVERY_S: Final = 600.0
LARGEST: Final = 2 * 1024 * 1024
"""Bytes of an answer that are kept; of a longer one only the runs it was about."""
PATIENCE_S: Final = 60.0
_KEY: Final = re.compile(rb"[\x21-\x7e]{1,200}")


class Idempotent:
    """An application whose posts can be repeated safely; behind the gates, which know the caller."""

    def __init__(self, app: ASGIApp, desk: FrontDesk) -> None:
        self._app, self._desk = app, desk
        self._under_way: dict[tuple[str, str], asyncio.Event] = {}
        self._pruned_at = float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it from what was answered before."""
        key = next((value for name, value in scope["headers"] if name == HEADER), None)
        if key is None or scope["method"] != "POST" or not scope["path"].startswith(OURS):
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive, key)
        except PyschedError as error:
            answer = answer_to(error)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, key: bytes) -> Response:
        if not _KEY.fullmatch(key):
            what = "an Idempotency-Key has 1 to 200 printable characters and no spaces"
            raise BadRequest(what, mend="take a fresh UUID for each thing you want done once")
        message = await receive()
        mark = Mark(caller_of(scope).name, key.decode(), _fingerprint(scope, message.get("body", b"")))
        async with self._alone(mark):
            known = await self._known(mark)
            if known is None:
                return await self._first(scope, message, receive, mark)
            if known.fingerprint != mark.fingerprint:
                what = f"the key {mark.key} was used for another request"
                raise KeyReused(what, mend="take a fresh key for each thing you want done once")
            if (record := record_of(scope)) is not None:
                record.detail["repeated"] = True
            if known.status != DONE:
                return Response(known.body, known.status, REPLAYED, media_type="application/json")
            mark.runs.extend(json.loads(known.body))
            return await self._again(scope, message, receive, mark)

    @asynccontextmanager
    async def _alone(self, mark: Mark) -> AsyncIterator[None]:
        """Let nobody else work on a key meanwhile. Raises Conflict where another request takes too long."""
        name = (mark.actor, mark.key)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (other := self._under_way.get(name)) is not None:
                    await other.wait()
        except TimeoutError:
            raise Conflict("a request with this key is still under way", mend="ask again in a moment") from None
        mine = self._under_way[name] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[name]
            mine.set()

    async def _known(self, mark: Mark) -> Reply | None:
        known = await self._desk.ask(lambda store: store.reply(mark.actor, mark.key))
        fresh = known is not None and known.at > self._desk.engine.clock.now() - KEPT
        return known if fresh else None

    async def _first(self, scope: Scope, message: Message, receive: Receive, mark: Mark) -> Response:
        """Let it be done, and keep the answer before it is given."""
        answer = await self._done(scope, message, receive, mark)
        if 200 <= answer.status_code < 300:
            await self._keep(mark, answer)
        return answer

    async def _again(self, scope: Scope, message: Message, receive: Receive, mark: Mark) -> Response:
        """Answer a request that was done and whose answer was lost."""
        answer = await answer_from(self._desk, scope["path"], mark.runs)
        if answer is None:  # many runs: the rest is done now
            return await self._first(scope, message, receive, mark)
        await self._keep(mark, answer)
        answer.headers.update(REPLAYED)
        return answer

    async def _done(self, scope: Scope, message: Message, receive: Receive, mark: Mark) -> Response:
        """Return what the application answers, whole."""
        body, start = bytearray(), dict[str, object]()

        async def take(sent: Message) -> None:
            if sent["type"] == "http.response.start":
                start.update(sent)
            else:
                body.extend(sent.get("body", b""))

        async def hand_on() -> Message:
            return pending.pop() if pending else await receive()

        pending = [message]
        token = MARK.set(mark)
        try:
            await self._app(scope, hand_on, take)
        finally:
            MARK.reset(token)
        answer = Response(bytes(body), int(str(start["status"])))
        answer.raw_headers = list(start["headers"])  # type: ignore[call-overload]
        return answer

    async def _keep(self, mark: Mark, answer: Response) -> None:
        """Write an answer down. Where that fails the deed's own row is there, and the answer is given all the same."""
        text = bytes(answer.body).decode("utf-8", "replace")
        try:
            engine = self._desk.engine
            now = engine.clock.now()
            if len(answer.body) > LARGEST:
                kept = Reply(**_names(mark), at=now, status=DONE, body=json.dumps(mark.runs))
            else:
                kept = Reply(**_names(mark), at=now, status=answer.status_code, body=text)
            await engine.writer.save(Batch(replies=(kept,), replies_before=await self._horizon()))
        except PyschedError as error:
            log.warning("the answer for the key %s is not kept: %s", mark.key, error)

    async def _horizon(self) -> datetime | None:
        """Return before when replies are over, None where that was looked at lately."""
        engine = self._desk.engine
        if engine.clock.monotonic() - self._pruned_at < PRUNE_EVERY_S:
            return None
        self._pruned_at = engine.clock.monotonic()
        too_many = await self._desk.ask(lambda store: store.replies_beyond(MOST_KEPT))
        oldest = engine.clock.now() - KEPT
        return oldest if too_many is None else max(oldest, too_many)


def _names(mark: Mark) -> dict[str, str]:
    return {"actor": mark.actor, "key": mark.key, "fingerprint": mark.fingerprint}


def _fingerprint(scope: Scope, body: bytes) -> str:
    """Return what tells one request from another: its path, its parameters, its body."""
    digest = hashlib.sha256()
    for part in (scope["raw_path"], scope["query_string"], body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
