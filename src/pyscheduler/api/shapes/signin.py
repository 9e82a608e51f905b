"""Coming in: one-time links, sessions."""

from __future__ import annotations

from datetime import datetime

from pyscheduler.api.shapes.base import Shape


class Link(Shape):
    """A link that lets one browser in, once."""

    url: str
    expires_at: datetime


class Session(Shape):
    """A browser that has signed in, or come by a link. `id` is the beginning of its cookie's hash."""

    id: str
    user: str
    via: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    address: str
    agent: str
    is_yours: bool


class Sessions(Shape):
    """Sessions, newest first."""

    sessions: list[Session]
