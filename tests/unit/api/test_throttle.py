"""How often a sign-in may fail."""

from __future__ import annotations

import pytest

from pyscheduler.api.throttle import FAILURES, LOCK_S, WINDOW_S, Table, Throttle, network_of

HERE = "192.0.2.1"


def test_five_failures_lock_a_name_for_thirty_seconds() -> None:
    """From wherever they come; then one more may be tried, and locks again."""
    throttle = Throttle()
    for number in range(FAILURES):
        assert throttle.begin("ann", f"192.0.2.{number}", float(number)) == 0
    assert throttle.begin("ann", "192.0.2.99", 5.0) == LOCK_S - 1.0
    assert throttle.begin("ann", "192.0.2.99", 34.0) == 0
    assert throttle.begin("ann", "192.0.2.99", 34.0) == LOCK_S


def test_five_failures_lock_an_address_for_thirty_seconds() -> None:
    """Whatever names are tried; another address is not concerned."""
    throttle = Throttle()
    for number in range(FAILURES):
        assert throttle.begin(f"name{number}", HERE, 0.0) == 0
    assert throttle.begin("ann", HERE, 0.0) == LOCK_S
    assert throttle.begin("ann", "192.0.2.2", 0.0) == 0


def test_what_is_refused_does_not_count() -> None:
    """Knocking at a locked door does not keep it locked."""
    throttle = Throttle()
    for at_s in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 20.0, 33.0):
        throttle.begin("ann", HERE, at_s)
    assert throttle.begin("ann", HERE, 34.0) == 0


def test_failures_are_forgotten_after_the_window() -> None:
    """Four of them, five minutes ago, and one now lock nothing."""
    throttle = Throttle()
    for at_s in (0.0, 0.0, 0.0, 0.0, WINDOW_S):
        assert throttle.begin("ann", HERE, at_s) == 0
    assert throttle.begin("ann", HERE, WINDOW_S) == 0


def test_a_success_clears_the_name_but_not_the_address() -> None:
    """Who has an account of their own could else try others' for ever."""
    throttle = Throttle()
    for number in range(FAILURES - 1):
        throttle.begin(f"victim{number}", HERE, 0.0)
    assert throttle.begin("eve", HERE, 1.0) == 0
    throttle.succeeded("eve", HERE, 1.0)
    assert throttle.begin("victim", HERE, 2.0) == 0
    assert throttle.begin("victim", HERE, 3.0) > 0


def test_many_at_once_are_no_way_round() -> None:
    """A try counts from its beginning, before anybody knows how it ends."""
    throttle = Throttle()
    assert sum(throttle.begin("ann", HERE, 0.0) == 0 for _ in range(1000)) == FAILURES


def test_the_tables_are_bounded() -> None:
    """The key tried longest ago makes room."""
    table = Table(keys=3)
    for key in "abcad":
        table.note(key, 0.0)
    assert len(table) == 3
    for _ in range(FAILURES - 2):
        table.note("a", 0.0)
    assert table.wait_s("a", 0.0) == LOCK_S


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("", ""),
        ("x" * 99, "x" * 64),
    ],
)
def test_an_ipv6_network_is_one_place(address: str, place: str) -> None:
    """Who has one address of it has all of them."""
    assert network_of(address) == place


def test_a_lock_is_news_once() -> None:
    """For the name and for the address, and again when it has locked anew."""
    throttle = Throttle()
    for number in range(FAILURES):
        assert not throttle.is_news("ann", HERE, float(number))
        throttle.begin("ann", HERE, float(number))
    assert [throttle.is_news("ann", HERE, 5.0) for _ in range(3)] == [True, False, False]
    assert throttle.is_news("ann", "192.0.2.2", 5.0) is False, "the name's lock is known"
    assert throttle.is_news("bob", HERE, 5.0) is False, "and so is the address's"
    assert throttle.begin("ann", HERE, 4.0 + LOCK_S) == 0
    assert [throttle.is_news("ann", HERE, 5.0 + LOCK_S) for _ in range(2)] == [True, False]


def test_what_is_remembered_of_locks_is_bounded() -> None:
    """With the tries that they rest on."""
    table = Table(keys=3)
    for number in range(10):
        for _ in range(FAILURES):
            table.note(str(number), 0.0)
        assert table.is_news(str(number), 0.0)
    assert len(table._told) == len(table) == 3
    table.forget("9")
    assert len(table._told) == 2
