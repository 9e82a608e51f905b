"""The proxies do to a connection what a bad network does, and nothing else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.faults.cluster.proxy import Network, Proxy, network

WHILE_S = 0.15
"""How long nothing must come; every wait for something that must come has READY_S."""
READY_S = 10


@pytest.fixture
def net() -> Iterator[Network]:
    with network() as made:
        yield made


@pytest.fixture
def wire(net: Network) -> Iterator[Proxy]:
    """A proxy to a server that sends back what it is sent."""
    listener = socket.create_server(("127.0.0.1", 0))

    def echo(near: socket.socket) -> None:
        with near:
            try:
                while piece := near.recv(100):
                    near.sendall(piece)
            except OSError:
                return

    def serve() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(near,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield net.proxy("127.0.0.1", listener.getsockname()[1])
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def call(wire: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wire.port), timeout=READY_S)


def ask(line: socket.socket, words: bytes) -> bytes:
    line.sendall(words)
    return line.recv(100)


def silent(line: socket.socket) -> bool:
    """Whether nothing comes for a while."""
    line.settimeout(WHILE_S)
    try:
        return line.recv(100) is None
    except TimeoutError:
        return True
    finally:
        line.settimeout(READY_S)


def broken(wire: Proxy) -> bool:
    """Whether a new call is ended by the other side before it is answered."""
    try:
        with call(wire) as line:
            return not ask(line, b"a")
    except ConnectionResetError:
        return True


def test_a_plain_wire_carries_both_ways(wire: Proxy) -> None:
    """What is said comes back whole, on each of several lines."""
    with call(wire) as one, call(wire) as two:
        assert ask(one, b"one") == b"one"
        assert ask(two, b"two") == b"two"
    assert wire.accepted == 2


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_was_cut_off_arrives_when_the_cut_heals(wire: Proxy, direction: str) -> None:
    """TCP loses nothing in a cut that heals: it comes late."""
    with call(wire) as line:
        assert ask(line, b"a") == b"a"
        wire.cut(direction)  # type: ignore[arg-type]
        line.sendall(b"b")
        assert silent(line)
        wire.heal()
        assert line.recv(100) == b"b"


def test_an_answer_that_was_cut_off_and_reset_is_lost(wire: Proxy) -> None:
    """The server did it and nobody hears of it: an unknown COMMIT."""
    with call(wire) as line:
        assert ask(line, b"a") == b"a"
        wire.cut("down")
        line.sendall(b"b")
        assert silent(line)
        wire.reset()
        with pytest.raises(ConnectionResetError):
            line.recv(100)
    wire.heal()
    with call(wire) as line:
        assert ask(line, b"c") == b"c"


def test_a_black_hole_takes_new_calls_and_never_answers(wire: Proxy) -> None:
    """A silent host does not refuse: who calls it must have a deadline."""
    wire.black_hole()
    with call(wire) as line:
        line.sendall(b"a")
        assert silent(line)
        wire.heal()
        assert line.recv(100) == b"a"


def test_a_slow_wire_is_slow(wire: Proxy) -> None:
    """Nothing comes before twice its delay; then all of it."""
    wire.delay(WHILE_S)
    with call(wire) as line:
        began = time.monotonic()
        assert ask(line, b"a") == b"a"
        assert time.monotonic() - began >= 2 * WHILE_S


def test_a_refusing_host_breaks_every_call(wire: Proxy) -> None:
    """Old and new lines alike, until it heals."""
    with call(wire) as old:
        assert ask(old, b"a") == b"a"
        wire.refuse()
        with pytest.raises(ConnectionResetError):
            old.recv(100)
    assert broken(wire)
    wire.heal()
    with call(wire) as line:
        assert ask(line, b"c") == b"c"


def test_a_server_that_is_away_breaks_the_call(net: Network) -> None:
    """As if the wire were not there: the client sees its connection end."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert broken(net.proxy("127.0.0.1", port))
