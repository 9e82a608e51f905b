"""Answers kept for idempotency keys: one by its key, and where the newest so many end."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from sqlalchemy import bindparam, select

from pyscheduler.model.reply import Reply
from pyscheduler.store import columns, people_rows, rows, schema
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.statements import Statement, compiled


def reply(snapshot: Snapshot, actor: str, key: str) -> Reply | None:
    """Return what was answered to this actor's request with this key, or None."""
    row = snapshot.row(_reply(), actor=actor, key=key)
    return None if row is None else people_rows.reply_of(row)


def beyond(snapshot: Snapshot, count: int) -> datetime | None:
    """Return the instant of the newest reply that is not among the `count` newest, or None."""
    at = snapshot.value(_beyond(), count=count)
    return None if at is None else rows.instant(at)


@cache
def _reply() -> Statement:
    table = schema.replies.c
    chosen = select(*(table[name] for name in columns.REPLY))
    return compiled(chosen.where(table.actor == bindparam("actor"), table.key == bindparam("key")))


@cache
def _beyond() -> Statement:
    at = schema.replies.c.at
    return compiled(select(at).order_by(at.desc()).limit(1).offset(bindparam("count")))
