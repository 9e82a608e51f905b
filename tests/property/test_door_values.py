"""What comes to the door from outside, as odd as it can be: no text raises, and none lets anybody in by chance."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api.cookies import values_of
from pyscheduler.api.door import safe_next
from pyscheduler.api.intent import fields_of, is_loopback_host, is_own_origin
from pyscheduler.api.loopback import Address, _mapped, _plain, owners_in
from pyscheduler.api.session_book import SessionBook
from pyscheduler.api.throttle import FAILURES, LOCK_S, WINDOW_S, Table
from pyscheduler.model.batch import Batch
from tests.contract.store_kit import NOON

hosts = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).filter(
    lambda host: host.version == 4 or not host.ipv4_mapped
)
addresses = st.builds(Address, hosts, st.integers(1, 65535))
latin = st.text(st.characters(max_codepoint=255), max_size=200)


def row(local: Address, remote: Address, state: int, uid: int, inode: int, *, mapped: bool) -> str:
    spell = _mapped if mapped else _plain
    ends = f"{spell(local)} {spell(remote)}"
    return f"  12: {ends} {state:02X} 00000000:00000000 00:00000000 00000000 {uid:5d}        0 {inode} 1 0 100\n"


rows = st.tuples(
    addresses, addresses, st.integers(1, 12), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.booleans()
)


@given(table=st.lists(rows, max_size=8), number=st.integers(0, 7))
def test_a_connection_has_the_owner_that_its_own_line_names(
    table: list[tuple[Address, Address, int, int, int, bool]], number: int
) -> None:
    """Among any others, and only where it is established and has an inode."""
    text = "head\n" + "".join(row(*each[:5], mapped=each[5]) for each in table)
    if number >= len(table):
        return
    local, remote = table[number][:2]
    same = [each for each in table if each[:2] == (local, remote) and each[2] == 1]
    allowed = {each[3] if each[4] else None for each in same} or {None}
    assert owners_in(text, [(local, remote)]).get((local, remote)) in allowed


@given(text=st.text(max_size=400), client=addresses, server=addresses)
def test_no_text_is_taken_for_a_table_by_chance(text: str, client: Address, server: Address) -> None:
    """And none raises."""
    assert not owners_in(text, [(client, server)])


@given(host=st.text(max_size=40) | st.from_regex(r"[0-9.:\[\]a-z]{1,30}", fullmatch=True))
def test_a_loopback_host_is_nothing_but_this_machine(host: str) -> None:
    """Whatever passes has a name that leads here and nowhere else."""
    if is_loopback_host(host):
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
        assert name.lower() == "localhost" or ip_address(name.strip("[]")).is_loopback


@given(octets=st.tuples(*[st.integers(0, 255)] * 4), port=st.none() | st.integers(0, 65535))
def test_an_ipv4_host_is_loopback_if_it_begins_with_127(octets: tuple[int, ...], port: int | None) -> None:
    """All of 127.0.0.0/8, with any port."""
    host = ".".join(map(str, octets)) + ("" if port is None else f":{port}")
    assert is_loopback_host(host) == (octets[0] == 127)


@given(origin=latin, host=st.none() | latin)
def test_an_origin_is_ours_only_to_the_letter(origin: str, host: str | None) -> None:
    """Nothing is guessed."""
    assert is_own_origin(origin, host) == (host is not None and origin.lower() == f"http://{host.lower()}")


def _book() -> SessionBook:
    async def save(_batch: Batch) -> None: ...

    book = SessionBook(save, lambda: NOON)
    book.load(())
    return book


BOOK = _book()


@given(headers=st.lists(latin | latin.map(lambda text: f"a=b; pysched_session={text}"), max_size=4))
def test_no_cookie_header_raises_or_finds_a_session(headers: list[str]) -> None:
    """However it is written."""
    pairs = [(b"cookie", each.encode("latin-1")) for each in headers]
    for value in values_of({"headers": pairs}):
        assert BOOK.find(value) is None


@given(body=st.binary(max_size=300))
def test_no_form_raises(body: bytes) -> None:
    """What is no form has no fields."""
    assert all(isinstance(value, str) for value in fields_of(body).values())


@given(text=st.text(max_size=80) | st.from_regex(r"[/\\]{1,3}[a-z.:/?\\]{0,20}", fullmatch=True))
def test_what_comes_next_is_never_another_site(text: str) -> None:
    """A path with one slash at its beginning and no backslash or blank anywhere."""
    found = safe_next(text)
    assert found.startswith("/")
    assert not found.startswith("//")
    assert not set(found) & set("\\ \t\r\n")


@given(waits=st.lists(st.floats(0, 400), max_size=40))
def test_a_key_is_never_tried_more_often_than_it_may(waits: list[float]) -> None:
    """At most five in any window of 300 s, and then one for each 30 s of lock."""
    table, now_s, tries = Table(), 0.0, list[float]()
    for wait_s in waits:
        now_s += wait_s
        if table.wait_s("a", now_s) == 0.0:
            table.note("a", now_s)
            tries.append(now_s)
    most = FAILURES + WINDOW_S / LOCK_S
    assert all(sum(each <= at <= each + WINDOW_S for at in tries) <= most + 1 for each in tries)


def test_mapped_and_plain_are_two_spellings_of_one_address() -> None:
    """The strategies above rest on that."""
    assert _plain(Address(IPv6Address("::1"), 1)) == _mapped(Address(IPv6Address("::1"), 1))
    assert _plain(Address(IPv4Address("1.2.3.4"), 1)) != _mapped(Address(IPv4Address("1.2.3.4"), 1))
