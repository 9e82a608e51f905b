"""TCP proxies between fake hosts and their store: each host has its own, and each can be made to misbehave.

What a cut network does to TCP is done here: bytes that cannot pass are not lost, they wait, and arrive when the cut
heals, unless somebody resets the connection first. So a COMMIT can reach the server while its answer never comes back
(`cut("down")`, then `reset()`), a host can be deaf, dumb or both (`black_hole()`), slow (`delay(seconds)`), or refused.

All proxies of a test live on one event loop in one thread; every method may be called from any thread and returns when
it has taken effect. A new connection through a cut proxy is taken and then hangs, as one to a silent host does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

Direction = Literal["up", "down"]
"""`up` is from the client to the server."""
CHUNK: Final = 65536
LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: closing sends a reset instead of a goodbye."""


class Proxy:
    """One port of 127.0.0.1 that leads to `host:port`; made by `Network.proxy`."""

    def __init__(self, network: Network, host: str, port: int) -> None:
        self._network = network
        self._target = (host, port)
        self._open = {"up": asyncio.Event(), "down": asyncio.Event()}
        self._delay_s = 0.0
        self._refusing = False
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter | None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.accepted = 0
        """Connections taken so far."""

    # ---- faults, from any thread

    def delay(self, seconds: float) -> None:
        """Let every piece wait so long, in both directions; 0 ends it."""
        self._network.do(lambda: setattr(self, "_delay_s", seconds))

    def cut(self, direction: Direction) -> None:
        """Let nothing pass that way; what was sent waits."""
        self._network.do(self._open[direction].clear)

    def black_hole(self) -> None:
        """Let nothing pass either way."""
        self.cut("up")
        self.cut("down")

    def reset(self) -> None:
        """Break every connection at once; what waited is lost."""
        self._network.do(self._break_all)

    def refuse(self) -> None:
        """Break every connection, and each new one."""

        def refuse() -> None:
            self._refusing = True
            self._break_all()

        self._network.do(refuse)

    def heal(self) -> None:
        """Be a plain wire again; what waited arrives."""

        def heal() -> None:
            self._delay_s, self._refusing = 0.0, False
            for gate in self._open.values():
                gate.set()

        self._network.do(heal)

    # ---- on the loop

    async def listen(self) -> None:
        for gate in self._open.values():
            gate.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK)
        self._network.servers.append(server)
        self.port = server.sockets[0].getsockname()[1]

    async def _serve(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(asyncio.CancelledError):  # by `_break_all`, and nobody waits for this task
            await self._join(near_in, near_out)
        self._tasks.discard(task)

    async def _join(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        """Hold one connection and its other half, until either end is gone."""
        pair: tuple[asyncio.StreamWriter, asyncio.StreamWriter | None] = (near_out, None)
        self._pairs.add(pair)
        try:
            if self._refusing:
                return
            far_in, far_out = await asyncio.open_connection(*self._target, limit=CHUNK)
            self._pairs.discard(pair)
            pair = (near_out, far_out)
            self._pairs.add(pair)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(near_in, far_out, "up"))
                group.create_task(self._pump(far_in, near_out, "down"))
        except* (OSError, asyncio.IncompleteReadError):
            pass  # either end is gone: so is the other, below
        finally:
            self._pairs.discard(pair)
            _break(*pair)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, direction: Direction) -> None:
        """Carry bytes one way until their source ends; the end of a held stream is held as well."""
        while piece := await source.read(CHUNK):
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            await self._open[direction].wait()
            sink.write(piece)
            await sink.drain()
        await self._open[direction].wait()
        raise ConnectionResetError  # one side said goodbye: end the pair

    def _break_all(self) -> None:
        for pair in list(self._pairs):
            _break(*pair)
        for task in list(self._tasks):
            task.cancel()


class Network:
    """The loop on which the proxies of one test live."""

    def __init__(self) -> None:
        self.servers: list[asyncio.Server] = []
        self._proxies: list[Proxy] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()

    def proxy(self, host: str, port: int) -> Proxy:
        """Return a new proxy to that address, listening."""
        made = Proxy(self, host, port)
        asyncio.run_coroutine_threadsafe(made.listen(), self._loop).result(10)
        self._proxies.append(made)
        return made

    def do(self, deed: Callable[[], Any]) -> None:
        """Do something on the loop and wait until it is done."""

        async def now() -> None:
            deed()

        asyncio.run_coroutine_threadsafe(now(), self._loop).result(10)

    def close(self) -> None:
        """End all connections, and the loop."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        for server in self.servers:
            server.close()
        ending = [task for proxy in self._proxies for task in proxy._tasks]
        for proxy in self._proxies:
            proxy._break_all()
        await asyncio.gather(*ending, return_exceptions=True)


@contextmanager
def network() -> Iterator[Network]:
    """Give a place for proxies, and end it."""
    made = Network()
    try:
        yield made
    finally:
        made.close()


def _break(*writers: asyncio.StreamWriter | None) -> None:
    for writer in writers:
        if writer is None or writer.transport.is_closing():
            continue
        found = writer.get_extra_info("socket")
        with contextlib.suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        writer.transport.abort()
