"""A database of a test's own on the run's PostgreSQL server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import make_url

from tests.servers.kinds import Place


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
            yield make_url(place.uri).set(database=name).render_as_string(hide_password=False)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
