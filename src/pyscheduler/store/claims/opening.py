"""Which door: a store's address on a server, or the folder of a file. psycopg is imported for the first only."""

from __future__ import annotations

from pathlib import Path

from pyscheduler.store.claims.door import Door
from pyscheduler.store.claims.sqlite_door import SqliteDoor


def open_door(store: str, state_dir: Path, *, name: str = "pysched claims", statement_s: float | None = None) -> Door:
    """Return the door to a store: `postgresql+psycopg://…`, or anything else for the SQLite store in `state_dir`.

    Each door has connections of its own. `statement_s` bounds one statement of the server; the heartbeat's door has its
    own time-out. Raises StoreError where the address cannot be read; the store itself is met at the first write.
    """
    if "://" not in store:
        return SqliteDoor(state_dir)
    from pyscheduler.store.claims.postgres_door import PostgresDoor

    return PostgresDoor(store, name=name, statement_s=statement_s)
