"""Receivers of alerts for tests: an HTTP and a mail server on free ports, on threads, that note what they get."""

from __future__ import annotations

import http.server
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Got(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass
class Hook:
    """An HTTP server. `status` is what it answers, `held` keeps it from answering until it is set."""

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    got: list[Got] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def hook(port: int = 0, **given: Any) -> Iterator[Hook]:
    """Serve HTTP on a port (0: any free one) for a while."""
    noted = Hook(**given)
    noted.held.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            noted.got.append(Got(self.command, self.path, dict(self.headers), self.rfile.read(length)))
            noted.held.wait(60)
            self.send_response(noted.status)
            for name, value in noted.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do  # noqa: N815 - the names that http.server looks for

        def log_message(self, *args: object) -> None:
            """Keep the test's output clean."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """A client that has gone is no fault of the test."""

    with Server(("127.0.0.1", port), Handler) as server:
        noted.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield noted
        finally:
            noted.held.set()
            server.shutdown()
            thread.join()


@dataclass
class Post:
    """A mail server. `refuses` is the answer to RCPT, empty where every receiver is welcome.

    With `tls` it speaks TLS: after STARTTLS, or with `smtps` from the first byte. `safe` says which mails came so.
    """

    port: int = 0
    refuses: str = ""
    tls: ssl.SSLContext | None = None
    smtps: bool = False
    safe: list[bool] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)


class _Clerk(socketserver.StreamRequestHandler):
    """Serves one connection to a `Post`."""

    server: _PostOffice

    def say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")

    def encrypt(self) -> None:
        assert self.server.noted.tls is not None
        self.request = self.server.noted.tls.wrap_socket(self.request, server_side=True)
        self.setup()

    @property
    def is_safe(self) -> bool:
        return isinstance(self.request, ssl.SSLSocket)

    def handle(self) -> None:
        with suppress(OSError):  # a client that does not trust us goes in the middle of a word
            if self.server.noted.smtps:
                self.encrypt()
            self.say("220 test")
            while line := self.rfile.readline():
                self.server.noted.said.append(line.decode().strip())
                self.answer(line.split()[0].upper())
        self.request.close()

    def answer(self, verb: bytes) -> None:
        noted = self.server.noted
        match verb:
            case b"EHLO":
                offers = noted.tls is not None and not self.is_safe
                self.say("250-test\r\n250-STARTTLS" if offers else "250-test")
                self.say("250 AUTH PLAIN")
            case b"STARTTLS":
                self.say("220 go on")
                self.encrypt()
            case b"AUTH":
                self.say("235 welcome")
            case b"RCPT" if noted.refuses:
                self.say(noted.refuses)
            case b"DATA":
                self.say("354 go on")
                noted.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                noted.safe.append(self.is_safe)
                self.say("250 taken")
            case b"QUIT":
                self.say("221 bye")
            case _:
                self.say("250 fine")


class _PostOffice(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, noted: Post) -> None:
        super().__init__(("127.0.0.1", 0), _Clerk)
        self.noted = noted


@contextmanager
def post(**given: Any) -> Iterator[Post]:
    """Serve SMTP, as much of it as one mail needs, on a free port for a while."""
    noted = Post(**given)
    with _PostOffice(noted) as server:
        noted.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield noted
        finally:
            server.shutdown()
            thread.join()
