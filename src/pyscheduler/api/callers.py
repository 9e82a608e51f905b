"""Who asks. The kernel's word for the peer of the socket decides, never a header (promise P8).

On the Unix socket root and the service's own user get in, as their login names; nobody else does, and a connection of
which the kernel cannot say whose it is counts as nobody's. Whoever comes by TCP is looked at by `door.py`.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from pyscheduler.errors import Forbidden
from pyscheduler.model.person import Role

__all__ = ["Caller", "Identify", "Peer", "Role", "Via", "peer_caller", "user_name"]


class Peer(NamedTuple):
    """The process at the other end of a Unix socket, as it was when it connected."""

    pid: int
    uid: int
    gid: int


class Via(StrEnum):
    """How we know who somebody is."""

    SOCKET = "socket"
    """The kernel's word for the peer of the Unix socket."""
    LOOPBACK = "loopback"
    """The kernel's word for the owner of a connection over loopback."""
    LINK = "link"
    """A one-time link that `pysched open` printed."""
    TOKEN = "token"  # noqa: S105 - a word, no token
    SESSION = "session"
    SIGNAL = "signal"
    """No request: the kernel carried a signal, from this user or root."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may act. `name` is the actor in the logbook; `teams` are what jobs' `allow` lists may name."""

    name: str
    role: Role = Role.ADMIN
    via: Via = Via.SOCKET
    address: str = ""
    teams: frozenset[str] = frozenset()
    csrf: str = field(default="", repr=False)
    """What a page must send back with each unsafe request of a session; empty where no session is."""
    proof: str = field(default="", repr=False)
    """The hash of the token or of the session that let them in; empty where the kernel's word did."""


Identify = Callable[[Mapping[str, Any]], Caller | Awaitable[Caller | None] | None]
"""Returns who sent a request, from its ASGI scope; None for nobody. Raises Forbidden, Unauthorised, Unavailable."""


def peer_caller(scope: Mapping[str, Any]) -> Caller:
    """Return the peer's user. Raises Forbidden for any but root and our own."""
    peer: Peer | None = scope.get("state", {}).get("peer")
    if peer is None:
        raise Forbidden("nobody can tell who you are", mend="connect through the Unix socket in state_dir")
    if peer.uid not in (0, os.geteuid()):
        what = f"{user_name(peer.uid)} may not speak to this scheduler"
        raise Forbidden(what, mend=f"only root and {user_name(os.geteuid())} may")
    return Caller(user_name(peer.uid))


@cache
def user_name(uid: int) -> str:
    """Return a user's login name, or `uid N` where the system does not know the number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
