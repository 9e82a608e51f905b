"""A database of a test's own on the run's PostgreSQL server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import make_url

from tests.servers.kinds import Place


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection of a test's own to a store on a server."""
    at = make_url(url)
    assert at.host is not None
    return psycopg.connect(
        host=at.host, port=at.port or 5432, user=at.username, password=at.password, dbname=at.database
    )


@contextmanager
def fresh_database(place: Place) -> Iterator[str]:
    """Give the address of a new, empty database; it is dropped at the end."""
    name = f"b_{secrets.token_hex(6)}"
    with psycopg.connect(
        host=place.host,
        port=place.port,
        user=place.username,
        password=place.password,
        dbname=place.db,
        autocommit=True,
    ) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{place.uri.rpartition('/')[0]}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
