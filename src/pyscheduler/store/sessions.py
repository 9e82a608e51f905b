"""The sessions that a start reads back. Who asks for a page is looked up in memory, never here."""

from __future__ import annotations

from functools import cache
from typing import Final

from sqlalchemy import bindparam, select

from pyscheduler.model.session import Session
from pyscheduler.store import columns, people_rows, schema
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.statements import Statement, compiled, on_index

_sessions: Final = schema.sessions.c


def sessions(snapshot: Snapshot, limit: int) -> list[Session]:
    """Return up to `limit` sessions, those that last longest first."""
    return [people_rows.session_of(row) for row in snapshot.rows(_latest(), count=limit)]


@cache
def _latest() -> Statement:
    found = select(*(_sessions[name] for name in columns.SESSION)).order_by(_sessions.expires_at.desc())
    return compiled(on_index(found.limit(bindparam("count")), schema.sessions, "sessions_by_end"))
