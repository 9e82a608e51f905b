"""What was answered to a request that brought an idempotency key. Field case FC-090."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

DONE: Final = 0
"""The status of a request that was done and not answered yet: `body` is a JSON list of the runs it was done to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `fingerprint` is the SHA-256 of the request, `body` the answer's text."""

    actor: str
    key: str
    fingerprint: str
    at: datetime
    status: int
    body: str
