"""Databases for these tests: one server for a module, a fresh database in it for each."""

from __future__ import annotations

import itertools
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests.faults.cluster.recorder import Connection
from tests.servers.kinds import Place

_numbers = itertools.count(1)


def connect(place: Place, db: str | None = None) -> Connection:
    """Return a connection of the test's own, past every proxy; it commits each statement."""
    return psycopg.connect(
        host=place.host, port=place.port, user=place.username, password=place.password, dbname=db or place.db,
        autocommit=True, connect_timeout=10,
    )  # fmt: skip


def new_database(place: Place) -> str:
    """Make an empty database and return its name."""
    with connect(place) as on:
        name = f"cluster{next(_numbers)}_{on.info.backend_pid}"
        on.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    return name


def drop_database(place: Place, name: str) -> None:
    """End a database, whoever is connected to it."""
    with connect(place) as on:
        on.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def address(place: Place, db: str, by: tuple[str, int] | None = None) -> str:
    """Return the store's address as a configuration has it, by another host and port if they are given."""
    who = f"{place.username}:{quote(place.password, safe='')}"
    host, port = by or (place.host, place.port)
    return f"postgresql+psycopg://{who}@{host}:{port}/{db}"
