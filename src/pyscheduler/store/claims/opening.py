"""Which door, which ear: a store's address on a server, or a folder. psycopg is imported for the first only."""

from __future__ import annotations

from pathlib import Path

from pyscheduler.store.claims.door import Door
from pyscheduler.store.claims.sqlite_door import SqliteDoor
from pyscheduler.store.faults import on_server
from pyscheduler.store.hints import Hints, NoHints


def open_door(store: str, state_dir: Path, *, name: str = "pysched claims", statement_s: float | None = None) -> Door:
    """Return the door to a store: `postgresql+psycopg://…`, or anything else for the SQLite store in `state_dir`.

    Each door has connections of its own. `statement_s` bounds one statement of the server; the heartbeat's door has its
    own time-out. Raises StoreError where the address cannot be read, or the driver is not installed; the store itself
    is met at the first write.
    """
    if "://" not in store:
        return SqliteDoor(state_dir)
    with on_server():
        from pyscheduler.store.claims.postgres_door import PostgresDoor
    return PostgresDoor(store, name=name, statement_s=statement_s)


def open_hints(store: str) -> Hints:
    """Return the ear on a store; a file's says nothing. Raises StoreError as `open_door` does."""
    if "://" not in store:
        return NoHints()
    with on_server():
        from pyscheduler.store.postgres.listener import Listener
    return Listener(store)


def need_driver(store: str) -> None:
    """Look whether the driver for a store is there, and connect to nothing. Raises StoreError."""
    if "://" in store:
        with on_server():
            import psycopg  # noqa: F401
