"""The session's cookie, there and back. Nobody vouches for the header, and nothing in it can raise. jobs.md 13.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyscheduler.api.session_book import LIFE

COOKIE: Final = "pysched_session"
MOST_TRIED: Final = 4
"""Cookies of one name that a browser may send: hosts share theirs between ports, paths may have their own."""


def values_of(scope: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of our cookie, the most particular first, as browsers order them."""
    left = MOST_TRIED
    for name, text in scope["headers"]:
        if name != b"cookie":
            continue
        for part in text.decode("latin-1").split(";"):
            key, _, value = part.strip().partition("=")
            if key == COOKIE and left > 0:
                left -= 1
                yield value


def setting(value: str, *, secure: bool) -> str:
    """Return the header that gives a browser its cookie."""
    return _cookie(value, int(LIFE.total_seconds()), secure=secure)


def clearing(*, secure: bool) -> str:
    """Return the header that takes it away."""
    return _cookie("", 0, secure=secure)


def _cookie(value: str, seconds: int, *, secure: bool) -> str:
    text = f"{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax"
    return f"{text}; Secure" if secure else text
