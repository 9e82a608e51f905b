"""The discrete settings that a server's store takes instead of a uri, checked in one place. Spec: pipeline.md 13."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_NEEDED: Final = ("username", "password", "host", "db")


@dataclass(frozen=True)
class Server:
    """Where a server is and who asks; all four texts are there."""

    username: str
    password: str
    host: str
    db: str
    port: int


def server_settings(
    backend: str,
    *,
    default_port: int,
    host: Any = None,
    port: Any = None,
    username: Any = None,
    user: Any = None,
    password: Any = None,
    db: Any = None,
) -> Server:
    """Return the settings, `user` standing for `username`; ValueError names what is missing or is no text.

    A password of digits that nobody quoted reaches us from YAML as a number, its leading zeros gone: it is refused
    rather than guessed.
    """
    given = {"username": username or user, "password": password, "host": host, "db": db}
    missing = [name for name in _NEEDED if given[name] is None or given[name] == ""]
    if missing:
        raise ValueError(
            f"{backend} job store requires a uri, or username (or user), password, host and db; "
            f"missing: {', '.join(missing)}"
        )
    wrong = [name for name in _NEEDED if not isinstance(given[name], str)]
    if wrong:
        raise ValueError(f"{backend} job store: {', '.join(wrong)} must be text: put the value in quotes")
    try:
        number = int(port) if port not in (None, "") else default_port
    except (TypeError, ValueError):
        raise ValueError(f"{backend} job store: the port is {port!r}, and ports are whole numbers") from None
    return Server(**given, port=number)
