"""Whose connection is it: the kernel's tables, read the way the kernel writes them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, ip_address

import pytest

from pyscheduler.api.loopback import TABLES, TRIES, Address, Lookout, Pair, Wire, owners_in, owners_of

CLIENT, SERVER = Address(ip_address("127.0.0.1"), 40000), Address(ip_address("127.0.0.1"), 8470)
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ONE, MAPPED_ONE = ("0100007F", "0000000000000000FFFF00000100007F")
if sys.byteorder == "big":
    ONE, MAPPED_ONE = ("7F000001", "00000000000000000000FFFF7F000001")


def line(uid: int = 1000, *, state: str = "01", inode: int = 4711, local: str = "", remote: str = "") -> str:
    local, remote = local or f"{ONE}:9C40", remote or f"{ONE}:2116"
    return (
        f"   7: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0 20 4 30\n"
    )


def owner_in(text: str, client: Address, server: Address) -> int | None:
    return owners_in(text, [(client, server)]).get((client, server))


def test_the_line_of_the_other_end_names_its_owner() -> None:
    """Not the line of our own end, which is the same the other way round."""
    ours = line(0, local=f"{ONE}:2116", remote=f"{ONE}:9C40")
    assert owner_in(HEAD + ours + line(1000), CLIENT, SERVER) == 1000


def test_a_program_that_speaks_ipv6_to_an_ipv4_address_is_found() -> None:
    """The kernel lists its socket with mapped addresses, in the other table."""
    assert owner_in(HEAD + line(33, local=f"{MAPPED_ONE}:9C40", remote=f"{MAPPED_ONE}:2116"), CLIENT, SERVER) == 33


def test_an_ipv6_connection_is_found() -> None:
    """Sixteen bytes, as four words of this machine's order."""
    one = "00000000000000000000000001000000" if sys.byteorder == "little" else "00000000000000000000000000000001"
    client, server = Address(ip_address("::1"), 40000), Address(ip_address("::1"), 8470)
    assert owner_in(HEAD + line(5, local=f"{one}:9C40", remote=f"{one}:2116"), client, server) == 5


@pytest.mark.parametrize("state", ["02", "04", "05", "06", "08", "0A", "0B"])
def test_only_an_established_socket_has_an_owner(state: str) -> None:
    """A closing one is shown as root's, whoever had it: that would let anybody in as root."""
    assert owner_in(HEAD + line(0, state=state), CLIENT, SERVER) is None


def test_a_socket_that_nobody_owns_any_more_has_no_owner() -> None:
    """Its inode is 0, and its user id means nothing."""
    assert owner_in(HEAD + line(0, inode=0), CLIENT, SERVER) is None


@pytest.mark.parametrize("text", ["", HEAD, HEAD + line()[:60], HEAD + line().replace("1000", "ten")])
def test_what_cannot_be_read_names_nobody(text: str) -> None:
    """A line cut short is no line."""
    assert owner_in(text, CLIENT, SERVER) is None


def test_a_look_that_finds_nothing_is_taken_again() -> None:
    """The table changes while it is read, and a line may be missed."""
    looks: list[str] = []

    def read(table: str) -> str:
        looks.append(table)
        return HEAD + line(7) if len(looks) == 4 else HEAD

    assert owners_of([(CLIENT, SERVER)], read) == [7]
    assert looks == [*TABLES, *TABLES]


def test_where_nothing_is_ever_found_nobody_owns_it() -> None:
    """And the looking ends; a kernel without IPv6 is no fault."""
    looks: list[str] = []

    def read(table: str) -> str:
        looks.append(table)
        if table == "/proc/net/tcp6":
            raise FileNotFoundError(table)
        return HEAD

    assert owners_of([(CLIENT, SERVER)], read) == [None]
    assert len(looks) == TRIES * len(TABLES)


def test_an_address_has_one_spelling() -> None:
    """A mapped IPv4 address is that IPv4 address; a scope is not part of it."""
    assert Address.of(("::ffff:127.0.0.1", 5, 0, 0)) == Address(IPv4Address("127.0.0.1"), 5)
    assert Address.of(("fe80::1%eth0", 5, 0, 2)).host == ip_address("fe80::1")
    assert Wire(SERVER, CLIENT).address == "127.0.0.1"


# --------------------------------------------------------------------------- many at once


def wire(port: int) -> Wire:
    return Wire(SERVER, Address(CLIENT.host, port))


class Table:
    """A look that takes until it is let go, and finds each client's port as its owner."""

    def __init__(self) -> None:
        self.looks: list[int] = []
        self.go = asyncio.Event()

    async def __call__(self, pairs: Sequence[Pair]) -> list[int | None]:
        self.looks.append(len(pairs))
        await self.go.wait()
        return [client.port for client, _ in pairs]


async def test_a_thousand_who_ask_at_once_cost_two_looks() -> None:
    """Anybody may ask who they are, and a look reads every socket there is: a stranger must not queue up many."""
    table = Table()
    lookout = Lookout(table)
    asking = [asyncio.create_task(lookout.owner(wire(port))) for port in range(1, 3)]
    while not table.looks:
        await asyncio.sleep(0)
    asking += [asyncio.create_task(lookout.owner(wire(port))) for port in range(3, 1001)]
    await asyncio.sleep(0)
    table.go.set()
    assert await asyncio.gather(*asking) == list(range(1, 1001))
    assert table.looks == [2, 998]


async def test_one_who_goes_meanwhile_takes_nobody_along() -> None:
    """The look is everybody's."""
    table = Table()
    lookout = Lookout(table)
    gone, stays = (asyncio.create_task(lookout.owner(wire(port))) for port in (1, 2))
    while not table.looks:
        await asyncio.sleep(0)
    gone.cancel()
    table.go.set()
    assert await stays == 2


async def test_a_connection_that_is_gone_by_then_is_nobodys() -> None:
    """Its port may be another user's already, and the table then names them."""
    table = Table()
    table.go.set()
    broken = Wire(SERVER, Address(CLIENT.host, 7), is_open=lambda: False)
    assert await Lookout(table).owner(broken) is None
