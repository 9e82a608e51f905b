"""Whose connection is it? The kernel's word for the owner of the other end, where both ends are on this machine.

`/proc/net/tcp` and `tcp6` list every TCP socket of this network namespace; the one whose local address is our remote
one, and the reverse, is the caller's, and its line names the user who made it. What must hold for a line to count:

- it is ESTABLISHED: the kernel shows sockets that nobody owns any more (closing, TIME_WAIT) as root's;
- it has an inode, for the same reason.

A line may be missed while the table changes under the reading, so a look that finds nothing is taken again, TRIES
times. An IPv4 connection may be listed as IPv6 (`::ffff:127.0.0.1`), whichever family the caller's program chose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
TRIES: Final = 3
_ESTABLISHED: Final = "01"
_FIELDS: Final = 9
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

    @property
    def address(self) -> str:
        """The caller's address, as logs and throttles name it."""
        return str(self.client.host)

    def look(self) -> int | None:
        """Return the user id of the other end's owner, None where nobody can tell. Reads files: not for the loop."""
        if not self.is_known:
            self.owner, self.is_known = owner_of(self.client, self.server), True
        return self.owner


def owner_of(client: Address, server: Address, read: Callable[[str], str] | None = None) -> int | None:
    """Return the user id that owns the client's end of a connection, None where no table lists it."""
    for _ in range(TRIES):
        for table in TABLES:
            try:
                text = (read or _text)(table)
            except OSError:  # a kernel without IPv6 has no tcp6
                continue
            owner = owner_in(text, client, server)
            if owner is not None:
                return owner
    return None


def owner_in(text: str, client: Address, server: Address) -> int | None:
    """Return the owner of the established connection from client to server that a table lists, else None."""
    for spell in (_plain, _mapped):
        needle = f" {spell(client)} {spell(server)} {_ESTABLISHED} "
        at = text.find(needle)
        if at >= 0:
            end = text.find("\n", at)
            return _owner(text[at : end if end >= 0 else len(text)])
    return None


def _owner(rest: str) -> int | None:
    """Return the user id of a line from its local address on, None for a socket that nobody owns."""
    parts = rest.split()  # local remote state queues timer retransmits uid timeout inode ...
    if len(parts) < _FIELDS or not (parts[6].isdecimal() and parts[8].isdecimal()):
        return None
    return int(parts[6]) if parts[8] != "0" else None


def _plain(address: Address) -> str:
    return f"{_words(address.host.packed)}:{address.port:04X}"


def _mapped(address: Address) -> str:
    packed = address.host.packed
    return f"{_words(_MAPPED + packed if len(packed) == 4 else packed)}:{address.port:04X}"


def _words(packed: bytes) -> str:
    """Return an address as the kernel prints it: words of 32 bits, each a number of this machine's byte order."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _text(table: str) -> str:
    with open(table, encoding="ascii", errors="replace") as file:
        return file.read()
