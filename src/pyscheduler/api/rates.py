"""How fast anybody may act: a bucket of tokens for each caller and address, one token for each request that changes.

A bucket holds `burst` tokens and fills at `rate` a second. An empty one is answered 429 with the seconds to wait, and
nothing else happens: it is not even written into the audit log, where a flood would be a flood of rows. Whoever sits at
the machine itself (the Unix socket) has ten times as much: scripts of its operators work through thousands of runs, and
they could do worse to it than ask. Looking costs no token: reads are bounded by the threads they run on (`threads.py`)
and streams by their number (`streams.py`).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final

from pyscheduler.api.callers import Caller, Via
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


class Rates:
    """The buckets at the gates."""

    def __init__(self, buckets: Buckets | None = None) -> None:
        self._buckets = buckets or Buckets()

    def check(self, caller: Caller, now_s: float) -> None:
        """Take a token of this caller's. Raises TooMany."""
        share = AT_HOME if caller.via is Via.SOCKET else 1.0
        wait_s = self._buckets.take(f"{caller.via} {caller.name} {caller.address}", now_s, share)
        if wait_s:
            what = "too many actions within a short time"
            mend = "wait as long as Retry-After says; POST /api/runs/bulk takes up to 1,000 runs at once"
            raise TooMany(what, mend=mend, wait_s=math.ceil(wait_s))
