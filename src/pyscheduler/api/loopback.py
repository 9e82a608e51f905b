"""Whose connection is it? The kernel's word for the owner of the other end, where both ends are on this machine.

`/proc/net/tcp` and `tcp6` list every TCP socket of this network namespace; the one whose local address is our remote
one, and the reverse, is the caller's, and its line names the user who made it. What must hold for a line to count:

- it is ESTABLISHED: the kernel shows sockets that nobody owns any more (closing, TIME_WAIT) as root's;
- it has an inode, for the same reason.

A line may be missed while the table changes under the reading, so a look that finds nothing is taken again, TRIES
times. And the connection must still be there afterwards: who sends a request, breaks the connection off and leaves its
port to somebody else would otherwise be taken for them. An IPv4 connection may be listed as IPv6 (`::ffff:127.0.0.1`),
whichever family the caller's program chose.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
TRIES: Final = 3
_ESTABLISHED: Final = "01"
_FIELDS: Final = 10
_MAPPED: Final = bytes(10) + b"\xff\xff"
"""What an IPv4 address begins with where it is written as an IPv6 one."""


class Address(NamedTuple):
    """One end of a connection. An IPv4 address never comes in its IPv6 spelling."""

    host: IPv4Address | IPv6Address
    port: int

    @classmethod
    def of(cls, name: tuple[str | int, ...]) -> Address:
        """Return the address that the socket module gives as (host, port, ...)."""
        host = ip_address(str(name[0]).partition("%")[0])
        mapped = host.ipv4_mapped if isinstance(host, IPv6Address) else None
        return cls(mapped or host, int(name[1]))


@dataclass(slots=True)
class Wire:
    """One TCP connection, shared by all its requests: both ends, and whose the other one is once somebody looked."""

    server: Address
    client: Address
    owner: int | None = None
    is_known: bool = field(default=False)
    is_open: Callable[[], bool] = lambda: True
    """Whether the kernel still has the connection. For the loop."""

    @property
    def address(self) -> str:
        """The caller's address, as logs and throttles name it."""
        return str(self.client.host)


Pair = tuple[Address, Address]
"""The client's end and the server's."""
Look = Callable[[Sequence[Pair]], Awaitable[list[int | None]]]
"""Looks for the owners of many connections, off the loop. Raises Unavailable."""


class Lookout:
    """Finds out whose connections are, one look at a time: all who ask while one is under way share the next.

    A look costs as much as there are sockets on this machine, and anybody may ask for one. Lives on the loop.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._wanted: dict[Pair, None] = {}
        self._next: asyncio.Task[dict[Pair, int | None]] | None = None
        self._turn = asyncio.Lock()

    async def owner(self, wire: Wire) -> int | None:
        """Return the user id of the other end's owner, None where nobody can tell. Raises Unavailable."""
        if not wire.is_known:
            pair = (wire.client, wire.server)
            self._wanted[pair] = None
            if self._next is None:
                self._next = asyncio.create_task(self._look_around())
            found = (await asyncio.shield(self._next))[pair]
            wire.owner, wire.is_known = (found if wire.is_open() else None), True
        return wire.owner

    async def _look_around(self) -> dict[Pair, int | None]:
        async with self._turn:
            wanted, self._wanted, self._next = list(self._wanted), {}, None
            return dict(zip(wanted, await self._look(wanted), strict=True))


def owners_of(pairs: Sequence[Pair], read: Callable[[str], str] | None = None) -> list[int | None]:
    """Return the user ids that own the clients' ends, None where no table lists one. Reads files: not for the loop."""
    found: dict[Pair, int | None] = dict.fromkeys(pairs)
    for table in TABLES * TRIES:
        missing = [pair for pair, owner in found.items() if owner is None]
        if not missing:
            break
        try:
            text = (read or _text)(table)
        except OSError:  # a kernel without IPv6 has no tcp6
            continue
        found.update(owners_in(text, missing))
    return list(found.values())


def owners_in(text: str, pairs: Sequence[Pair]) -> dict[Pair, int]:
    """Return the owners of those connections that a table lists as established, and with an owner."""
    wanted = {f"{spell(client)} {spell(server)}": (client, server) for client, server in pairs for spell in _SPELLINGS}
    found: dict[Pair, int] = {}
    for line in text.splitlines():
        parts = line.split(None, _FIELDS)  # number local remote state queues timer retransmits uid timeout inode ...
        pair = wanted.get(f"{parts[1]} {parts[2]}") if len(parts) >= _FIELDS and parts[3] == _ESTABLISHED else None
        owner = _owner(parts) if pair is not None else None
        if pair is not None and owner is not None:
            found.setdefault(pair, owner)
    return found


def _owner(parts: Sequence[str]) -> int | None:
    """Return the user id of a line in its parts, None for a socket that nobody owns."""
    uid, inode = parts[7], parts[9]
    return int(uid) if uid.isdecimal() and inode.isdecimal() and inode != "0" else None


def _plain(address: Address) -> str:
    return f"{_words(address.host.packed)}:{address.port:04X}"


def _mapped(address: Address) -> str:
    packed = address.host.packed
    return f"{_words(_MAPPED + packed if len(packed) == 4 else packed)}:{address.port:04X}"


_SPELLINGS: Final = (_plain, _mapped)


def _words(packed: bytes) -> str:
    """Return an address as the kernel prints it: words of 32 bits, each a number of this machine's byte order."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _text(table: str) -> str:
    with open(table, encoding="ascii", errors="replace") as file:
        return file.read()
