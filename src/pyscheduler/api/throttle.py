"""How fast anybody may act: a bucket of tokens for each caller and address, one token for each request that changes.

A bucket holds `burst` tokens and fills at `rate` a second. An empty one is answered 429 with the seconds to wait, and
nothing else happens. Whoever sits at the machine itself (the Unix socket) has ten times as much: scripts of its
operators work through thousands of runs, and they could do worse to it than ask. Looking costs no token: reads are
bounded by the threads they run on (`threads.py`) and streams by their number (`streams.py`).
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from pyscheduler.api.callers import Caller, Via
from pyscheduler.api.gates import BODILESS, caller_of
from pyscheduler.api.problems import answer_to
from pyscheduler.errors import TooMany

RATE: Final = 50.0
BURST: Final = 200.0
AT_HOME: Final = 10.0
REMEMBERED: Final = 10_000
"""Buckets at most; the one that was used longest ago is forgotten, which only ever gives tokens back."""


class Buckets:
    """The buckets; `now` is any clock's seconds."""

    def __init__(self, rate: float = RATE, burst: float = BURST, most: int = REMEMBERED) -> None:
        self._rate, self._burst, self._most = rate, burst, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str, now: float, share: float = 1.0) -> float:
        """Take a token; returns 0, or the seconds until there is one again, and then none was taken.

        `share` is how many times the usual rate and burst this one has.
        """
        rate, burst = self._rate * share, self._burst * share
        left, at = self._left.pop(who, (burst, now))
        left = min(burst, left + max(0.0, now - at) * rate)
        wait = 0.0 if left >= 1 else (1 - left) / rate
        self._left[who] = (left if wait else left - 1, now)
        while len(self._left) > self._most:
            self._left.popitem(last=False)
        return wait


class Throttled:
    """An application that nobody can ask faster than that; behind the gates, which know the caller."""

    def __init__(self, app: ASGIApp, buckets: Buckets | None = None) -> None:
        self._app, self._buckets = app, buckets or Buckets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer 429."""
        if scope["method"] not in BODILESS and (wait := self._wait(caller_of(scope))):
            wait_s = math.ceil(wait)
            what = "too many actions within a short time"
            mend = "wait as long as Retry-After says; POST /api/runs/bulk takes up to 1,000 runs at once"
            await answer_to(TooMany(what, mend=mend, wait_s=wait_s))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _wait(self, caller: Caller) -> float:
        share = AT_HOME if caller.via is Via.SOCKET else 1.0
        return self._buckets.take(
            f"{caller.via} {caller.name} {caller.address}", asyncio.get_running_loop().time(), share
        )
