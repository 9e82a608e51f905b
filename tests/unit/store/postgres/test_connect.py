"""Addresses: what they mean to the driver, and what of them is shown."""

from __future__ import annotations

import pytest

from pyscheduler.errors import StoreError
from pyscheduler.store.postgres.connect import address_of


def test_an_address_has_everything_for_the_driver_and_no_password_for_people() -> None:
    """In no text and no repr."""
    address = address_of("postgresql+psycopg://u:s%40cret%2F@h:5433/d?sslmode=require")
    assert address.arguments == {
        "user": "u",
        "password": "s@cret/",
        "host": "h",
        "port": 5433,
        "dbname": "d",
        "sslmode": "require",
    }
    assert str(address) == address.shown == "postgresql://u@h:5433/d"
    assert "cret" not in repr(address)


def test_several_servers_are_asked_in_turn() -> None:
    """Libpq's own lists."""
    found = address_of("postgresql://u@/d?host=a:1&host=b:2").arguments
    assert (found["host"], found["port"]) == ("a,b", "1,2")


@pytest.mark.parametrize(
    "url", ["mysql://u:s3cret@h/d", "postgresql+asyncpg://u:s3cret@h/d", "s3cret", "postgresql://u:s3cret@h:port/d"]
)
def test_what_is_no_address_is_not_quoted(url: str) -> None:
    """It may hold a password."""
    with pytest.raises(StoreError) as refused:
        address_of(url)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None
