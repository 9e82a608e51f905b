"""A port that nobody else gets, though nobody listens there yet: for servers that come later, go, and come back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


def port_keeper() -> socket.socket:
    """Return a socket that keeps a free port of 127.0.0.1 until it is closed.

    Who connects is refused, as if it were not there; a server that says SO_REUSEADDR may listen at the port beside it.
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper


@contextmanager
def kept_port() -> Iterator[int]:
    """Give the number of a port that is kept meanwhile."""
    with port_keeper() as keeper:
        yield keeper.getsockname()[1]
