"""One-time links: how the service's own user lets a browser in where no users file says who may sign in.

A code is 32 random bytes, kept as its hash, in memory, for LIFE_S; whoever brings it first has used it up. There are
at most MOST of them, and a new one takes the place of the oldest.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from typing import Final

LIFE_S: Final = 60.0
MOST: Final = 32
LONGEST_CODE: Final = 100


class Links:
    """The links that may still be used, on a clock of seconds."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until)

    def make(self, now_s: float) -> str:
        """Return a new code."""
        code = secrets.token_urlsafe(32)
        self._until[_hash(code)] = now_s + LIFE_S
        while len(self._until) > MOST:
            self._until.popitem(last=False)
        return code

    def use(self, code: str, now_s: float) -> bool:
        """Whether the code is one of ours and still fresh; after that it is neither."""
        until = self._until.pop(_hash(code), None) if len(code) <= LONGEST_CODE else None
        return until is not None and now_s < until


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
