"""What the tests add to a store on PostgreSQL: a memory of every commit, and a clock that they may set.

`install` adds a schema `faults`. Its triggers are deferred constraints: they run while the transaction commits and
still holds its locks, so the numbers that they give put transactions that touched the same rows in the order of their
commits, and `epoch` is the one in force at that moment. They lock nothing of the scheduler's and change none of its
rows. Heartbeats, which say nothing, are left out.

`clock_timestamp()` of that schema stands before the server's own on the search path of every new connection to this
database; it is the server's plus an offset in a table, which `set_offset` sets.
"""

from __future__ import annotations

import time
from typing import Any, Final

import psycopg
from psycopg import sql

from tests.faults.cluster.history import Change

Connection = psycopg.Connection[tuple[Any, ...]]

TABLES: Final = ("runs", "attempts", "leases", "events", "engine")

SCHEMA: Final = """
CREATE SCHEMA faults;
GRANT USAGE ON SCHEMA faults TO PUBLIC;
CREATE SEQUENCE faults.commits;
CREATE TABLE faults.history (
    seq bigint PRIMARY KEY, xid bigint NOT NULL, app text NOT NULL, tab text NOT NULL,
    old jsonb, new jsonb, epoch bigint, holder text, at double precision NOT NULL
);
CREATE FUNCTION faults.keep() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    lease record;
BEGIN
    SELECT l.epoch, l.holder_inc INTO lease FROM public.leases l WHERE l.name = 'authority';
    INSERT INTO faults.history VALUES (
        nextval('faults.commits'), pg_current_xact_id()::text::bigint, current_setting('application_name'),
        TG_TABLE_NAME,
        CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END,
        lease.epoch, lease.holder_inc, extract(epoch FROM pg_catalog.clock_timestamp())
    );
    RETURN NULL;
END $$;
CREATE TABLE faults.clock (seconds double precision NOT NULL);
GRANT SELECT ON faults.clock TO PUBLIC;
INSERT INTO faults.clock VALUES (0);
CREATE FUNCTION faults.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT seconds FROM faults.clock))';
"""

TRIGGER: Final = """
CREATE CONSTRAINT TRIGGER faults_keep_{event} AFTER {event} ON public.{table} DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW {when} EXECUTE FUNCTION faults.keep()
"""
NEWS: Final = "WHEN ((OLD.epoch, OLD.holder_inc, OLD.released, OLD.fenced_at, OLD.stopping) IS DISTINCT FROM (NEW.epoch, NEW.holder_inc, NEW.released, NEW.fenced_at, NEW.stopping))"  # fmt: skip # noqa: E501
"""What of a lease is more than a heartbeat."""


def install(on: Connection) -> None:
    """Add all of it to the store that `on` (autocommit) is connected to, whose tables must be there."""
    on.execute(SCHEMA)
    for table in TABLES:
        for event in ("INSERT", "UPDATE", "DELETE"):
            when = NEWS if (table, event) == ("leases", "UPDATE") else ""
            on.execute(TRIGGER.format(event=event, table=table, when=when).encode())
    path = sql.SQL("ALTER DATABASE {} SET search_path = public, faults, pg_catalog")
    on.execute(path.format(sql.Identifier(on.info.dbname)))


def set_offset(on: Connection, seconds: float) -> None:
    """Let the store's clock be so much ahead (or, negative, behind)."""
    on.execute("UPDATE faults.clock SET seconds = %s", (seconds,))


def changes(on: Connection) -> tuple[Change, ...]:
    """Return every change that was committed since `install`, in the order of their numbers."""
    rows = on.execute("SELECT seq, xid, app, tab, old, new, epoch, holder, at FROM faults.history ORDER BY seq")
    booted_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)  # noqa: TID251 - the server is on this machine
    seconds_up: list[tuple[Any, ...]] = [(*row[:-1], row[-1] - booted_at) for row in rows]
    return tuple(Change(*row) for row in seconds_up)
