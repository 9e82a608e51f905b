"""A browser that has signed in, as the store remembers it. The cookie's value is nowhere, only its hash is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

SHORT: Final = 12
"""Characters of a hash that people call a session by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session. `session_hash` is the SHA-256 of the cookie's value, in hex.

    `proof` says what it rests on: a digest of the user's password line at sign-in, so that another password, or no such
    user, ends it; empty for a session of a one-time link, which rests on the service's own user.
    """

    session_hash: str
    user: str
    proof: str = field(repr=False)
    csrf: str = field(repr=False)
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    agent: str
    revoked_at: datetime | None = None
    revoked_by: str | None = None

    @property
    def short_id(self) -> str:
        """What people call it by: the beginning of its hash."""
        return self.session_hash[:SHORT]

    def is_live(self, now: datetime) -> bool:
        """Whether it has neither ended nor been revoked."""
        return self.revoked_at is None and now < self.expires_at
