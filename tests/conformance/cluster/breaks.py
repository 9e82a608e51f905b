"""Writes of a store that fail, for as long as a test wants: triggers of the database itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyscheduler.store.claims import Door
from tests.conformance.cluster.rows import do

STEPS = {
    "claim": ("UPDATE", "runs", "NEW.owner_inc IS NOT NULL AND OLD.owner_inc IS NULL"),
    "start": ("INSERT", "attempts", "1 = 1"),
    "outcome": ("UPDATE", "attempts", "NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL"),
}


@contextmanager
def broken(door: Door, step: str) -> Iterator[None]:
    """Let each write of one kind fail while the block runs."""
    what, table, when = STEPS[step]
    if door.dialect == "sqlite":
        raising = "SELECT RAISE(ABORT, 'disk I/O error: the test broke it')"
        do(door, f"CREATE TRIGGER broken BEFORE {what} ON {table} WHEN {when} BEGIN {raising}; END")
    else:
        body = "BEGIN RAISE EXCEPTION 'the test broke it' USING ERRCODE = '53100'; END"
        do(door, f"CREATE FUNCTION break_it() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
        calls = "FOR EACH ROW WHEN" if what == "UPDATE" else "FOR EACH ROW"
        condition = f"({when})" if what == "UPDATE" else ""
        do(door, f"CREATE TRIGGER broken BEFORE {what} ON {table} {calls} {condition} EXECUTE FUNCTION break_it()")
    try:
        yield
    finally:
        on = "" if door.dialect == "sqlite" else f" ON {table}"
        do(door, f"DROP TRIGGER broken{on}")
