"""The HTTP server in our loop, on our socket: uvicorn with its signal handling off, and who is at the other end.

The peer of a Unix socket is what the kernel says (SO_PEERCRED), taken once a connection and never from a header; of a
TCP connection both ends are noted, for `api/loopback.py`. Each socket has a server of its own, so that whoever uses up
the connections of one does not shut the other.

Limits of jobs.md 13.7, and who keeps them: head 16 KiB, keep-alive 5 s, 1,000 connections (uvicorn); 10 s for a head
(here); 100 headers, body 1 MiB in 30 s, 30 s for each write (`api/gates.py`). HTTP/1.1 only, through h11: it has a
limit for heads, which httptools has not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pyscheduler.api.callers import Peer
from pyscheduler.api.loopback import Address, Wire

HEAD_BYTES: Final = 16 * 1024
HEAD_S: Final = 10.0
KEEP_ALIVE_S: Final = 5
CONNECTIONS: Final = 1000
REQUESTS_END_S: Final = 5
"""How long requests under way may take once the end has begun."""
_OPEN: Final = frozenset({1, 8})
"""States of `tcp_info`: ESTABLISHED, and CLOSE_WAIT, where only the client has ended its half."""
_CREDENTIALS: Final = struct.Struct("3i")


class PeerProtocol(H11Protocol):
    """One connection. Its requests carry `peer` or `wire`, and `abort`, in their state."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Learn who is there, and give them HEAD_S for a first request."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, **_ends_of(transport), "abort": transport.abort}
        self._late = self.loop.call_later(HEAD_S, self._too_late)

    def data_received(self, data: bytes) -> None:
        """Take bytes in; a head that has begun must come to its end in time."""
        super().data_received(data)
        head_is_open = self.conn.their_state is h11.IDLE
        if not head_is_open and self._late is not None:
            self._late.cancel()
            self._late = None
        elif head_is_open and self._late is None:
            self._late = self.loop.call_later(HEAD_S, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _too_late(self) -> None:
        self._late = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()


class Listener:
    """Serves an ASGI application on its sockets until closed."""

    def __init__(self, app: Any, *listening: socket.socket | None) -> None:
        self._sockets = [each for each in listening if each is not None]
        self._servers = [_Server(_config(app)) for _ in self._sockets]

    async def run(self) -> None:
        """Serve until `close`. Where one of the servers fails all of them end, and its error is raised."""
        pairs = zip(self._servers, self._sockets, strict=True)
        serving = [asyncio.create_task(server.serve(sockets=[bound])) for server, bound in pairs]
        try:
            await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.close()
            await asyncio.wait(serving)
        for each in serving:
            each.result()

    def close(self) -> None:
        """Take no new connections; `run` returns when the requests under way are answered, after 5 s at the latest."""
        for server in self._servers:
            server.should_exit = True

    def hurry(self) -> None:
        """Wait for no request any longer."""
        for server in self._servers:
            server.should_exit = server.force_exit = True


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=PeerProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=REQUESTS_END_S,
        limit_concurrency=CONNECTIONS,
    )


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the process's signals to the service."""
        yield


def _ends_of(transport: asyncio.BaseTransport) -> dict[str, object]:
    """Return what is known of the other end: the peer of a Unix socket, or both ends of a TCP connection."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family == socket.AF_UNIX:
        return {"peer": _peer_of(connection)}
    server, client = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
    if server is None or client is None:
        return {"peer": None}  # it is gone already, and so is its name
    return {"wire": Wire(Address.of(server), Address.of(client), is_open=lambda: _is_open(connection))}


def _is_open(connection: Any) -> bool:
    """Whether the kernel still has a connection: one that was broken off leaves both its ends to others."""
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in _OPEN
    except (OSError, ValueError):  # closed here: asyncio's words for it, and uvloop's
        return False


def _peer_of(connection: Any) -> Peer | None:
    """Return who the kernel says is at the other end, None where it cannot say."""
    try:
        packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except (AttributeError, OSError, ValueError):
        return None
    pid, uid, gid = _CREDENTIALS.unpack(packed)
    return Peer(pid, uid, gid)
