"""Asking another scheduler of the same cluster: one HTTP request, its answer streamed, and a word that vouches for it.

A scheduler that has found out who its caller is passes that on, signed with the cluster's secret: name, role and teams,
for this method and target, now, once. What must always hold: a word that is not signed, too old, for something else or
heard before is refused; the secret itself is never sent. What is sent is readable on the wire, unless the other's
address begins with https://: then TLS is spoken to it (to the proxy in front of it), and its certificate must be one
that this machine trusts.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

import h11

from pyscheduler.api.callers import Caller, Via
from pyscheduler.errors import Forbidden, Unavailable
from pyscheduler.model.person import Role

TLS: Final = "https://"
HEADER: Final = b"x-pysched-vouched"
GOOD_FOR_S: Final = 60.0
"""How far the clocks of two nodes may lie apart."""
CONNECT_S: Final = 5.0
ANSWER_S: Final = 40.0
"""How long an answer's head may take: an action waits for the disk, a stream for nothing."""
PIECE: Final = 64 * 1024
HOP: Final = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"upgrade", b"proxy-connection", b"content-length"}
)
"""Headers that speak of one connection only."""
Headers = list[tuple[bytes, bytes]]


class Vouching:
    """Signs and checks. `secret` is the cluster's, `now` the wall clock."""

    def __init__(self, secret: str, now: Callable[[], datetime]) -> None:
        self._now = now
        self._key = hashlib.sha256(b"pysched cluster\0" + secret.encode()).digest()
        self._heard: dict[str, float] = {}

    def word(self, caller: Caller, method: str, target: bytes) -> bytes:
        """Return the header's value for one request."""
        said = {
            "name": caller.name,
            "role": caller.role.value,
            "via": caller.via.value,
            "address": caller.address,
            "teams": sorted(caller.teams),
            "at": self._now().timestamp(),
            "once": secrets.token_hex(12),
            "what": f"{method} {target.decode('latin-1')}",
        }
        text = base64.urlsafe_b64encode(json.dumps(said).encode())
        return text + b"." + self._sign(text)

    def caller(self, scope: Mapping[str, Any]) -> Caller | None:
        """Return who is vouched for, None where nobody is. Raises Forbidden for a word that does not hold."""
        words = [value for name, value in scope["headers"] if name == HEADER]
        if not words:
            return None
        said = self._said(words[0]) if len(words) == 1 else None
        what = f"{scope['method']} {target_of(scope).decode('latin-1')}"
        if said is None or said["what"] != what or not self._is_new(str(said["once"]), float(said["at"])):
            raise Forbidden(
                "this word of another scheduler does not hold", mend="the same secret, and clocks that agree"
            )
        return Caller(
            str(said["name"]),
            Role(said["role"]),
            Via(said["via"]),
            str(said["address"]),
            frozenset(map(str, said["teams"])),
        )

    def _said(self, word: bytes) -> dict[str, Any] | None:
        text, _, signature = word.rpartition(b".")
        if not hmac.compare_digest(self._sign(text), signature):
            return None
        found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
        return found

    def _is_new(self, once: str, at: float) -> bool:
        now = self._now().timestamp()
        self._heard = {each: until for each, until in self._heard.items() if until > now}
        if abs(now - at) > GOOD_FOR_S or once in self._heard:
            return False
        self._heard[once] = now + 2 * GOOD_FOR_S
        return True

    def _sign(self, text: bytes) -> bytes:
        return hmac.new(self._key, text, hashlib.sha256).hexdigest().encode()


@cache
def _trust() -> ssl.SSLContext:
    """Return whom this machine trusts: its certificates, or those of SSL_CERT_FILE. Read once."""
    return ssl.create_default_context()


def target_of(scope: Mapping[str, Any]) -> bytes:
    """Return a request's path and query as they were sent."""
    query: bytes = scope["query_string"]
    path: bytes = scope["raw_path"]
    return path + b"?" + query if query else path


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer whose body is still coming; `close` it in any case."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes]
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Let the connection go."""
        self.writer.close()


async def ask(
    address: str,
    method: str,
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    body: bytes,
    *,
    answer_s: float = ANSWER_S,
) -> Reply:
    """Send one request and return its answer's head. Raises Unavailable where nobody answers in time."""
    host, _, port = address.removeprefix(TLS).rpartition(":")
    trust = _trust() if address.startswith(TLS) else None
    try:
        async with asyncio.timeout(min(CONNECT_S, answer_s)):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=trust)
    except ssl.SSLCertVerificationError as error:
        what = f"the scheduler at {address} shows a certificate that is not trusted here: {error.verify_message}"
        raise Unavailable(what, mend="SSL_CERT_FILE names the file with those that are") from error
    except (OSError, ValueError, TimeoutError) as error:
        raise Unavailable(f"the scheduler at {address} cannot be reached", mend="ask again in a moment") from error
    try:
        async with asyncio.timeout(answer_s):
            return await _converse(reader, writer, address, method, target, headers, body)
    except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
        writer.close()
        raise Unavailable(f"the scheduler at {address} does not answer", mend="ask again in a moment") from error
    except BaseException:
        writer.close()
        raise


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    address: str,
    method: str,
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    body: bytes,
) -> Reply:
    wire = h11.Connection(h11.CLIENT)
    sent: Headers = [(name, value) for name, value in headers if name not in HOP]
    if not any(name == b"host" for name, _ in sent):
        sent.append((b"host", address.removeprefix(TLS).encode()))
    sent += [(b"connection", b"close"), (b"content-length", str(len(body)).encode())]
    for event in (h11.Request(method=method, target=target, headers=sent), h11.Data(data=body), h11.EndOfMessage()):
        writer.write(wire.send(event) or b"")
    await writer.drain()
    head = await _next(wire, reader)
    while isinstance(head, h11.InformationalResponse):
        head = await _next(wire, reader)
    if not isinstance(head, h11.Response):
        raise h11.RemoteProtocolError("the connection ended before the answer")
    kept: Headers = [(bytes(name), bytes(value)) for name, value in head.headers if bytes(name) not in HOP]
    return Reply(head.status_code, kept, _body(wire, reader), writer)


async def _body(wire: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while isinstance(event := await _next(wire, reader), h11.Data):
        yield bytes(event.data)


async def _next(wire: h11.Connection, reader: asyncio.StreamReader) -> Any:
    while (event := wire.next_event()) is h11.NEED_DATA:
        wire.receive_data(await reader.read(PIECE))
    return event
