"""A relay from a TCP port to a scheduler's Unix socket, by TLS if so asked: the way to it from another machine.

What a test wants to see of the requests is kept; what it wants answered instead is answered.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Relay:
    """Where it listens, the requests it has seen, and `instead`: bytes to answer in the scheduler's place."""

    port: int
    scheme: str
    target: Path | int
    requests: list[bytes] = field(default_factory=list)
    instead: bytes | None = None
    cuts: int = 0
    """So many answers more are cut off in the middle: what was asked for is done, and nobody hears of it."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


@contextmanager
def relay(target: Path | int, certificate: tuple[Path, Path] | None = None) -> Iterator[Relay]:
    """Relay every connection to the socket at `target`, or to that port. `certificate` is its file and its key's."""
    listener = socket.create_server(("127.0.0.1", 0))
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    found = Relay(listener.getsockname()[1], "http" if context is None else "https", target)

    def serve() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_carry, args=(near, context, found), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield found
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _carry(near: socket.socket, context: ssl.SSLContext | None, found: Relay) -> None:
    """Carry one request there and its whole answer back: clients close after each."""
    with suppress(OSError), near if context is None else context.wrap_socket(near, server_side=True) as client:
        request = _request(client)
        found.requests.append(request)
        if found.instead is not None:
            client.sendall(found.instead)
            return
        with _there(found.target) as far:
            far.sendall(request)
            if found.cuts:
                found.cuts -= 1
                client.sendall(far.recv(65536)[:20])
                return
            while piece := far.recv(65536):
                client.sendall(piece)


def _there(target: Path | int) -> socket.socket:
    if isinstance(target, int):
        return socket.create_connection(("127.0.0.1", target))
    far = socket.socket(socket.AF_UNIX)
    folder = os.open(target.parent, os.O_PATH)
    far.connect(f"/proc/self/fd/{folder}/{target.name}")
    os.close(folder)
    return far


def _request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(client)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while len(body) < int(lengths[0] if lengths else 0):
        body += _more(client)
    return head + b"\r\n\r\n" + body


def _more(client: socket.socket) -> bytes:
    piece = client.recv(65536)
    if not piece:
        raise ConnectionError("the client has gone in the middle of a request")
    return piece


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for this machine that nobody else trusts; returns its file and its key's."""
    file, key = folder / "cert.pem", folder / "key.pem"
    openssl = shutil.which("openssl")
    assert openssl is not None, "openssl is needed to make a certificate: apt install openssl"
    subject = ["-subj", "/CN=test", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(
        [openssl, "req", "-x509", *curve, *subject, "-keyout", str(key), "-out", str(file)],
        check=True,
        capture_output=True,
    )
    return file, key
