"""A wire between a client and a server that can be cut at the worst moment: after the server has answered, before the
client has heard. What the server did is done, and the client cannot know."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Event, Thread


class Wire:
    """Listens on a port of its own and passes bytes both ways until `cut_at` is seen going to the server.

    The request that holds those bytes still reaches the server, whose answer is awaited and then thrown away with both
    connections. Once only; later connections pass."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut_at: bytes | None = None
        self.was_cut = Event()
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are open end with their clients."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            doomed = Event()
            Thread(target=self._to_server, args=(client, server, doomed), daemon=True).start()
            Thread(target=self._to_client, args=(server, client, doomed), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, doomed: Event) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.cut_at is not None and self.cut_at in data:
                    self.cut_at = None
                    doomed.set()
                server.sendall(data)
        _shut(server)

    def _to_client(self, server: socket.socket, client: socket.socket, doomed: Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if doomed.is_set():
                    self.was_cut.set()
                    break
                client.sendall(data)
        _shut(client)
        _shut(server)
        client.close()
        server.close()


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
