"""Answers that do not end by themselves: how many there may be, what each may owe, and that all of them can be ended.

A reader is one open stream: a short queue of bytes between whoever tells and one connection. It is bounded twice: by
what its teller allows to be unsent (`offer` says no, the teller then replaces the queue by a word that says so), and
there are at most STREAMS of them, and OF_ONE for one caller.

They end when their reader goes, when somebody's right to read has gone (`end_where`: tokens, users or sessions have
changed; who may still read comes back), and at once when the service stops, which would otherwise wait for them. Spec:
jobs.md 13.6.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pyscheduler.api.callers import Caller
from pyscheduler.errors import TooMany, Unavailable

STREAMS: Final = 400
OF_ONE: Final = 100
QUIET_S: Final = 15.0
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


class Reader:
    """One open stream's queue. `most` is how many events, or bytes, may be unsent; `who` opened it."""

    def __init__(self, who: Caller, most: int) -> None:
        self.who = who
        self.ended = False
        self._most = most
        self._queue: deque[bytes] = deque()
        self._unsent = 0
        self._news = asyncio.Event()

    def offer(self, data: bytes, weight: int) -> bool:
        """Queue bytes; False, and nothing is queued, where the reader is too far behind."""
        if self._unsent + weight > self._most:
            return False
        self._queue.append(data)
        self._unsent += weight
        self._news.set()
        return True

    def replace(self, data: bytes) -> None:
        """Throw away what is unsent and queue this instead."""
        self._queue.clear()
        self._queue.append(data)
        self._unsent = 1
        self._news.set()

    def end(self) -> None:
        """Let the stream end once what is queued is sent."""
        self.ended = True
        self._news.set()

    async def take(self, quiet_s: float) -> bytes:
        """Return what is queued, waiting for something; empty after `quiet_s` seconds in which nothing came."""
        if not self._queue and not self.ended:
            self._news.clear()
            try:
                async with asyncio.timeout(quiet_s):
                    await self._news.wait()
            except TimeoutError:
                return b""
        data = b"".join(self._queue)
        self._queue.clear()
        self._unsent = 0
        return data

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued: what was told so far is on its way."""
        return not self._queue

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.ended and not self._queue


class Streams:
    """The open streams of one service."""

    def __init__(self) -> None:
        self._open: set[Reader] = set()
        self._of: Counter[str] = Counter()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    def open(self, who: Caller, most: int) -> Reader:
        """Return a new reader. Raises TooMany where there are as many as may be, Unavailable at the end."""
        if self._closing:
            raise Unavailable("scheduler is stopping", mend="ask again in a moment")
        share = _share(who)
        if len(self._open) >= STREAMS or self._of[share] >= OF_ONE:
            what = f"{self._of[share]} streams are open for {who.name}, {len(self._open)} in all"
            raise TooMany(what, mend=f"close some: {OF_ONE} are allowed, {STREAMS} in all", wait_s=5)
        reader = Reader(who, most)
        self._open.add(reader)
        self._of[share] += 1
        return reader

    def close(self, reader: Reader) -> None:
        """Forget a reader. Harmless when it is gone."""
        if reader in self._open:
            self._open.discard(reader)
            share = _share(reader.who)
            self._of[share] -= 1
            if not self._of[share]:
                del self._of[share]

    def end_where(self, is_gone: Callable[[Caller], bool]) -> None:
        """End the streams of those who would not be let in any more."""
        for reader in list(self._open):
            if is_gone(reader.who):
                reader.end()

    def end_all(self) -> None:
        """End every stream there is; new ones may be opened."""
        for reader in list(self._open):
            reader.end()

    def shut(self) -> None:
        """End every stream and let none begin: the service stops."""
        self._closing = True
        self.end_all()


def _share(who: Caller) -> str:
    """Return under whose name streams are counted."""
    return f"{who.name} {who.address}"


class EventStream(StreamingResponse):
    """An answer of server-sent events; `on_end` is called when it is over, however it ends, begun or not."""

    def __init__(self, pieces: AsyncIterator[bytes], on_end: Callable[[], None]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers=HEADERS)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it until it ends or the client goes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()
