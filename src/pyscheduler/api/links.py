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
        self._gone: OrderedDict[str, bool] = OrderedDict()
        """The latest that were used, or had to make room, and whether anybody has tried them since."""

    def __len__(self) -> int:
        return len(self._until)

    def make(self, now_s: float) -> str:
        """Return a new code."""
        code = secrets.token_urlsafe(32)
        self._until[_hash(code)] = now_s + LIFE_S
        while len(self._until) > MOST:
            oldest, _ = self._until.popitem(last=False)
            self._note_gone(oldest)
        return code

    def use(self, code: str, now_s: float) -> bool:
        """Whether the code is one of ours and still fresh; after that it is neither."""
        key = _hash(code) if len(code) <= LONGEST_CODE else ""
        until = self._until.pop(key, None)
        if until is not None:
            self._note_gone(key)
        return until is not None and now_s < until

    def is_news(self, code: str) -> bool:
        """Whether a code that was refused was once ours, and nobody has tried it before since it was no good."""
        key = _hash(code) if len(code) <= LONGEST_CODE else ""
        if self._gone.get(key, True):
            return False
        self._gone[key] = True
        return True

    def _note_gone(self, key: str) -> None:
        self._gone[key] = False
        while len(self._gone) > MOST:
            self._gone.popitem(last=False)


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
