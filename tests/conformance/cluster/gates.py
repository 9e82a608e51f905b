"""Writes of a store on PostgreSQL that wait for the test: triggers of the database, and a lock that the test holds.

Whoever makes such a write stands in the middle of its COMMIT, whatever program it is, until the test lets it go.
Where it waits for longer than a scheduler waits for a lock, its step fails and is made again: who uses a gate looks
whether somebody stands at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy import make_url

from tests.conformance.cluster.places import connect

NUMBER: Final = 4711
GATES: Final = {
    "claim": ("UPDATE", "runs", "NEW.owner_inc IS NOT NULL AND OLD.owner_inc IS NULL"),
    "start": ("INSERT", "attempts", "true"),
    "end": ("UPDATE", "runs", "OLD.state = 'running' AND NEW.state <> 'running'"),
}


class Gate:
    """One kind of write, held up while the test wants it."""

    def __init__(self, on: psycopg.Connection[tuple[object, ...]]) -> None:
        self._on = on

    def shut(self) -> None:
        self._on.execute("SELECT pg_advisory_lock(%s)", (NUMBER,))

    def open(self) -> None:
        self._on.execute("SELECT pg_advisory_unlock(%s)", (NUMBER,))

    def is_stood_at(self) -> bool:
        """Whether somebody waits."""
        found = self._on.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted", (NUMBER,)
        )
        return found.fetchone() is not None

    def nobody_writes(self) -> bool:
        """Whether no other transaction is under way in this database."""
        found = self._on.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND xact_start IS NOT NULL"
        )
        return found.fetchone() is None


@contextmanager
def gate(url: str, write: str, run_id: str = "") -> Iterator[Gate]:
    """Put a gate, which is open, before the commit of each write of a kind; only of one run, if it is named."""
    what, table, when = GATES[write]
    only = f" AND NEW.run_id = '{run_id}'" if run_id else ""
    with connect(url) as on:
        on.autocommit = True
        body = f"BEGIN PERFORM pg_advisory_xact_lock_shared({NUMBER}); RETURN NULL; END"
        on.execute(f"CREATE FUNCTION stand_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$".encode())
        on.execute(
            f"CREATE CONSTRAINT TRIGGER gate AFTER {what} ON {table} DEFERRABLE INITIALLY DEFERRED "
            f"FOR EACH ROW WHEN ({when}{only}) EXECUTE FUNCTION stand_at_gate()".encode()
        )
        try:
            yield Gate(on)
        finally:
            on.execute("SELECT pg_advisory_unlock_all()")
            on.execute(f"DROP TRIGGER gate ON {table}".encode())
            on.execute("DROP FUNCTION stand_at_gate()")


def by_way_of(url: str, host: str, port: int) -> str:
    """Return a store's address by another host and port."""
    return make_url(url).set(host=host, port=port).render_as_string(hide_password=False)
