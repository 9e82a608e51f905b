"""Databases for these tests: one server for a module, a fresh database in it for each."""

from __future__ import annotations

import itertools
from typing import Final
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests.faults.cluster.recorder import Connection
from tests.servers.kinds import Place

ROLE: Final = "scheduler"
"""Who owns a cluster's database, and is no superuser: its connections may be counted and refused, as a user's are."""
_numbers = itertools.count(1)


def connect(place: Place, db: str | None = None) -> Connection:
    """Return a connection of the test's own, past every proxy; it commits each statement."""
    return psycopg.connect(
        host=place.host, port=place.port, user=place.username, password=place.password, dbname=db or place.db,
        autocommit=True, connect_timeout=10,
    )  # fmt: skip


def let_in(place: Place) -> None:
    """Make the role that owns databases, if there is none yet; it has the superuser's password."""
    with connect(place) as on:
        if not on.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchall():
            words = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            on.execute(words.format(sql.Identifier(ROLE), sql.Literal(place.password)))


def limit(on: Connection, connections: int) -> None:
    """Let the role have so many connections; -1: as many as it likes. Those that it has are left alone."""
    on.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(sql.Identifier(ROLE), sql.Literal(connections)))


def new_database(place: Place, owner: str | None = None) -> str:
    """Make an empty database and return its name."""
    with connect(place) as on:
        name = f"cluster{next(_numbers)}_{on.info.backend_pid}"
        words = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0")
        on.execute(words.format(sql.Identifier(name), sql.Identifier(owner or place.username)))
    return name


def drop_database(place: Place, name: str) -> None:
    """End a database, whoever is connected to it."""
    with connect(place) as on:
        on.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def address(place: Place, db: str, by: tuple[str, int] | None = None, who: str = "") -> str:
    """Return the store's address as a configuration has it, by another host and port, for another role if given."""
    who = f"{who or place.username}:{quote(place.password, safe='')}"
    host, port = by or (place.host, place.port)
    return f"postgresql+psycopg://{who}@{host}:{port}/{db}"
