"""The HTTP server in our loop: its clocks for slow clients, and who is at the other end. Spec: jobs.md 13.7."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Caller, Peer
from pyscheduler.api.gates import Gates, Limits
from pyscheduler.api.host import Phase, Standing
from pyscheduler.api.loopback import Lookout, Pair, Wire, owners_of
from pyscheduler.service import listener as listening
from pyscheduler.service.listener import Listener
from tests.builders import NOON

App = Callable[[Any, Any, Any], Awaitable[None]]

NOBODY_ELSE = "127.73.29.5"
"""A loopback address whose ports no other test takes: one that was closed here stays free until it is opened again."""


class Host:
    """A host that stands where it is told."""

    def __init__(self, phase: Phase = Phase.RUNNING, trouble: str = "") -> None:
        self.standing = Standing(phase, NOON, trouble)


@asynccontextmanager
async def serving(app: App, path: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Serve an application on a socket; gives a connection to it."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen()
        listener = Listener(app, bound)
        running = asyncio.create_task(listener.run())
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            yield reader, writer
        finally:
            writer.close()
            listener.hurry()
            await running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


async def says_peer(scope: Any, receive: Any, send: Any) -> None:
    peer: Peer = scope["state"]["peer"]
    await Json(list(peer))(scope, receive, send)


async def test_the_peer_is_what_the_kernel_says(path: Path) -> None:
    """Process, user and group of the other end, for every request of the connection."""
    async with serving(says_peer, path) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            assert await reader.readexactly(size) == f"[{os.getpid()},{os.getuid()},{os.getgid()}]".encode()


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo"])
async def test_a_head_must_come_in_time(path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """Whoever connects and does not ask, or stops in the middle of a head, is cut off."""
    monkeypatch.setattr(listening, "HEAD_S", 0.2)
    monkeypatch.setattr(listening, "KEEP_ALIVE_S", 1)
    async with serving(says_peer, path) as (reader, writer):
        writer.write(sent)
        rest = await asyncio.wait_for(reader.read(), 20)
        assert rest.startswith(b"HTTP/1.1 200") == (b"\r\n\r\n" in sent)


async def test_a_long_answer_is_no_late_head(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock for heads does not run while an answer is made."""
    monkeypatch.setattr(listening, "HEAD_S", 0.05)
    slow_answers = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await slow_answers.wait()
        await Json("done")(scope, receive, send)

    async with serving(slow, path) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        asyncio.get_running_loop().call_later(0.3, slow_answers.set)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_who_does_not_read_is_cut_off(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """FC-046: a stream whose client has stopped reading ends; nobody waits for it."""
    caplog.set_level("INFO")

    transports: list[asyncio.WriteTransport] = []

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        transports.append(scope["state"]["abort"].__self__)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})

    gates = Gates(endless, Host(), lambda _scope: Caller("ann"), Limits(write_s=0.2))  # type: ignore[arg-type]
    async with serving(gates, path) as (reader, writer):
        writer.write(b"GET /log HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readline()
        while "cut off" not in caplog.text:
            await asyncio.sleep(0.01)
        assert transports[0].get_write_buffer_size() == 0  # thrown away, not kept for whenever it is read
    assert "ann GET /log 200" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_body_must_come_in_time(path: Path) -> None:
    """408, and no handler has seen anything of it."""
    gates = Gates(says_peer, Host(), lambda _scope: Caller("ann"), Limits(body_s=0.1))  # type: ignore[arg-type]
    async with serving(gates, path) as (reader, writer):
        head = b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
        writer.write(head + b"{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"Content-Length: 10", b""),
        (b"Content-Length: 10", b"{}"),
        (b"Transfer-Encoding: chunked", b"2\r\n{}\r\n"),
        (b"Transfer-Encoding: chunked", b"2\r\n{}\r\nno chunk\r\n"),
    ],
)
async def test_a_body_that_breaks_off_is_no_body(
    path: Path, caplog: pytest.LogCaptureFixture, head: bytes, body: bytes
) -> None:
    """Nobody acts on what was begun: the client's next try would be the second time."""
    caplog.set_level("INFO")
    acted = []

    async def acts(scope: Any, receive: Any, send: Any) -> None:
        acted.append(scope["path"])
        await Json("done")(scope, receive, send)

    gates = Gates(acts, Host(), lambda _scope: Caller("ann"))  # type: ignore[arg-type]
    async with serving(gates, path) as (_, writer):
        writer.write(
            b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n" + body
        )
        await writer.drain()
        writer.close()
        async with asyncio.timeout(20):
            while "ann POST /api/x" not in caplog.text:
                await asyncio.sleep(0.01)
    assert "ann POST /api/x 400" in caplog.text
    assert acted == []


async def test_a_bug_is_a_500_that_says_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What nobody foresaw is in the log, not in the answer; an answer that was begun is cut."""

    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("s3cret")

    gates = Gates(breaks, Host(), lambda _scope: Caller("ann"))  # type: ignore[arg-type]
    async with serving(gates, path) as (reader, writer):
        writer.write(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"s3cret" not in await reader.read()
    assert "s3cret" in caplog.text


async def test_while_it_starts_everybody_is_told_to_wait(path: Path) -> None:
    """503 on every path, with what is in the way."""
    gates = Gates(says_peer, Host(Phase.STARTING, "the disk is full"), lambda _scope: Caller("ann"))  # type: ignore[arg-type]
    async with serving(gates, path) as (reader, writer):
        writer.write(b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in head.lower()
        assert body == b'{"error":"scheduler is starting","message":"the disk is full"}'


async def test_who_breaks_off_is_not_taken_for_who_has_the_port_next() -> None:
    """A request, a broken connection, and the port is another user's: the table names them, and they asked nothing."""
    wires: list[Wire] = []

    async def notes(scope: Any, receive: Any, send: Any) -> None:
        wires.append(scope["state"]["wire"])
        await Response("noted")(scope, receive, send)

    async def noted(count: int) -> None:
        async with asyncio.timeout(10):
            while len(wires) < count:
                await asyncio.sleep(0.01)

    async def look(pairs: Sequence[Pair]) -> list[int | None]:
        return await asyncio.to_thread(owners_of, pairs)

    bound = socket.create_server(("127.0.0.1", 0))
    listener = Listener(notes, bound)
    running = asyncio.create_task(listener.run())
    first = socket.create_connection(bound.getsockname(), source_address=(NOBODY_ELSE, 0))
    place = first.getsockname()
    first.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await noted(1)
    first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    first.close()
    with socket.create_connection(bound.getsockname(), source_address=place) as second:
        second.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await noted(2)
        assert [await Lookout(look).owner(wire) for wire in wires] == [None, os.geteuid()]
    listener.hurry()
    await running
