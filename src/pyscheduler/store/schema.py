"""The tables, and the format they give the file. Spec: jobs.md 8.1, claims.md C4, DESIGN 6 and 7.

The file is a SQLite database in WAL mode whose `application_id` is APPLICATION_ID. It is valid if and only if
`alembic_version` names a revision this release knows and `PRAGMA integrity_check` finds nothing. A crash at any
instant leaves what the last COMMIT left: SQLite's log (`-wal`) is replayed by whoever opens the file next, so a copy
of the file without its log is *not* a copy of the store; `backup.py` makes one.

How values are written:

- an instant (`…_at`, `not_before`, `wait_until`, `lease_until`): whole microseconds since 1970 UTC, any year 1 to 9999;
- a date (`run_date`): `YYYY-MM-DD`, so text order is time order;
- a word (`state`, `trigger`, `outcome` …): the enum's word; `''` where there is none and null is not said otherwise;
- `detail`, `sources`, `files`: JSON;
- text is UTF-8; a lone surrogate, which UTF-8 cannot hold, is written as `?`.

What must always hold: a run's id is made of its job, date and number (a CHECK, so the primary key is also the UNIQUE
(job, run_date, seq) of DESIGN 7, without a second index); one run per (job, due instant) among the triggers that a
<<<<<<< HEAD
schedule makes; `token`, `owner_inc` and `inc_id` belong to claims (DESIGN 6) and are never touched by a
batch. Rows of other tables that name a run go when it goes; there are no foreign keys, because `write.py` is the only
writer and each would cost a look-up a row.
=======
schedule makes; `token`, `owner_inc`, `offered_at` and `inc_id` belong to claims (DESIGN 6) and are never touched by a
batch. A run's `token` is odd exactly while it is owned, and only a queued (claimed) or running (started) run is owned;
the database itself refuses anything else, and a token that becomes smaller. Rows of other tables that name a run go
when it goes; there are no foreign keys, because `write.py` is the only writer and each would cost a look-up a row.
>>>>>>> main

Indexes are there for the reads of `queries.py` and `recall.py`, and each says which. Runs that are still open change
often and are few; those that have ended hardly ever change and are many: so the wide indexes are partial, and a run
enters them once, at its end.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    text,
)

from pyscheduler.model.run import FINAL_STATES, Trigger

APPLICATION_ID: Final = 0x50795363
"""`PySc`: what the file header carries, so that no other program's database is taken for a store."""
REVISIONS: Final = ("0001", "0002", "0003")
"""Every revision in `migrations/versions`, oldest first."""
REVISION: Final = REVISIONS[-1]
"""The revision which these tables are."""

DUE_TRIGGERS: Final = (Trigger.BACKFILL, Trigger.CATCH_UP, Trigger.SCHEDULE)
"""The triggers that share one run per due instant. Spec: jobs.md 3.5."""


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


IS_FINAL: Final = f"state IN ({_words(tuple(sorted(FINAL_STATES)))})"
IS_OPEN: Final = f"state NOT IN ({_words(tuple(sorted(FINAL_STATES)))})"
IS_DUE: Final = f'"trigger" IN ({_words(DUE_TRIGGERS)})'
BY_A_PERSON: Final = "actor <> 'scheduler'"
"""A query must repeat these words exactly, or SQLite does not use the index made with them."""

CLAIM_IS_WHOLE: Final = (
    "(owner_inc IS NULL) = (token % 2 = 0) AND (owner_inc IS NULL OR state IN ('queued', 'running'))"
)
"""An odd token is owned, an even one nobody's; nothing that waits or has ended is anybody's. Spec: claims.md C4."""
IS_OFFERED: Final = "state = 'queued' AND offered_at IS NOT NULL AND owner_inc IS NULL"
IS_OWNED: Final = "owner_inc IS NOT NULL"
IS_GRANTED: Final = "inc_id IS NOT NULL"

metadata: Final = MetaData()

BIG: Final = BigInteger().with_variant(Integer, "sqlite")
"""An integer of 64 bits on every database; SQLite numbers rows by themselves only under the name INTEGER."""


def text_of(length: int | None = None) -> String:
    """Return the type of a column of text: compared byte by byte on every database, as SQLite does."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


TEXT: Final = text_of()

runs: Final = Table(
    "runs",
    metadata,
    Column("run_id", TEXT, primary_key=True),
    Column("scheduled_at", BIG, nullable=False),
    Column("state", TEXT, nullable=False),
    Column("trigger", TEXT, nullable=False),
    Column("job", TEXT, nullable=False),
    Column("run_date", text_of(10), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("updated_at", BIG, nullable=False),
    Column("reason", TEXT, nullable=False),
    Column("cause", TEXT, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("attempt_base", Integer, nullable=False),
    Column("reruns", Integer, nullable=False),
    Column("config_version", Integer, nullable=False),
    Column("forced", Integer, nullable=False),
    Column("held_from", TEXT),
    Column("not_before", BIG),
    Column("queued_at", BIG),
    Column("wait_until", BIG),
    Column("token", BIG, nullable=False, server_default=text("0")),
    Column("owner_inc", TEXT),
    Column("offered_at", BIG),
    Column("claimed_at", BIG, CheckConstraint(CLAIM_IS_WHOLE, name="a_claim_is_whole")),
    Column("cancel_requested", Integer, nullable=False, server_default=text("0")),
    Column("on_lost", TEXT, nullable=False, server_default=text("''")),
    Column("lost_count", Integer, nullable=False, server_default=text("0")),
    Column("reclaim_us", BIG, nullable=False, server_default=text("0")),
    Column("node", TEXT, nullable=False, server_default=text("''")),
    Column("node_tags", TEXT, nullable=False, server_default=text("'[]'")),
    CheckConstraint("run_id = job || '.' || run_date || '.' || CAST(seq AS TEXT)", name="run_id_is_made_of_its_parts"),
)


def _partial(name: str, *columns: object, where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))  # type: ignore[arg-type]


_newest_first: Final = runs.c.scheduled_at.desc()

# numbering, "has it any runs", the run that stands for a (job, date), the runs of a job's date
Index("runs_of_date", runs.c.job, runs.c.run_date, runs.c.scheduled_at, runs.c.seq)
# P2, and which firings have a run
_partial("runs_due_once", runs.c.job, runs.c.scheduled_at, where=IS_DUE, unique=True)
# what a start reads back, and the open part of every list; all that a list filters by stands in it
_partial("runs_open", _newest_first, runs.c.run_id, runs.c.state, runs.c.trigger, where=IS_OPEN)
# lists of ended runs: nothing chosen but state and trigger; one job or some; one run date (and pruning)
_partial("runs_ended", runs.c.state, runs.c.trigger, _newest_first, runs.c.run_id, where=IS_FINAL)
_partial("runs_ended_of_job", runs.c.job, runs.c.state, runs.c.trigger, _newest_first, runs.c.run_id, where=IS_FINAL)
_partial(
    "runs_ended_of_date", runs.c.run_date, runs.c.state, runs.c.trigger, _newest_first, runs.c.run_id, where=IS_FINAL
)
# what a node may claim, in the order in which it is offered; what an incarnation owns
_partial("runs_offered", runs.c.offered_at, runs.c.scheduled_at, runs.c.run_id, where=IS_OFFERED)
_partial("runs_owned", runs.c.owner_inc, runs.c.run_id, where=IS_OWNED)

attempts: Final = Table(
    "attempts",
    metadata,
    Column("run_id", TEXT, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("key", TEXT, nullable=False),
    Column("started_at", BIG, nullable=False),
    Column("config_version", Integer, nullable=False),
    Column("boot_id", TEXT, nullable=False),
    Column("pid", Integer),
    Column("ended_at", BIG),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("outcome", TEXT),
    Column("reason", TEXT, nullable=False),
    Column("stdout_path", TEXT, nullable=False),
    Column("stderr_path", TEXT, nullable=False),
    Column("status_path", TEXT, nullable=False),
    Column("kill_by", TEXT),
    Column("cpu_s", Float),
    Column("max_rss_bytes", BIG),
    Column("note", TEXT, nullable=False),
    Column("token", BIG, nullable=False, server_default=text("0")),
    Column("inc_id", TEXT),
    Column("revoked_at", BIG),
    Column("revoke_reason", TEXT),
    Column("reported_at", BIG),
)
"""`reported_at` is when the attempt's end was told (S4), `revoked_at` when it was taken from its owner (S7b): it is
`lost` then, and what is told later stands in the logbook as `superseded`."""
# one start a grant
_partial("attempts_of_grant", attempts.c.run_id, attempts.c.token, where=IS_GRANTED, unique=True)
# whether anything still names an incarnation
_partial("attempts_of_incarnation", attempts.c.inc_id, where=IS_GRANTED)

events: Final = Table(
    "events",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("at", BIG, nullable=False),
    Column("actor", TEXT, nullable=False),
    Column("action", TEXT, nullable=False),
    Column("run_id", TEXT),
    Column("job", TEXT),
    Column("detail", TEXT, nullable=False),
    sqlite_autoincrement=True,
)
# one run's lines; the logbook by action (a list without one merges them); the same within a job; what people did
Index("events_of_run", events.c.run_id)
Index("events_of_action", events.c.action, events.c.at)
Index("events_of_job", events.c.job, events.c.action, events.c.at)
_partial("events_of_person", events.c.actor, events.c.at, where=BY_A_PERSON)

engine: Final = Table(
    "engine",
    metadata,
    Column("key", TEXT, primary_key=True),
    Column("value", TEXT, nullable=False),
)

configs: Final = Table(
    "configs",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("loaded_at", BIG, nullable=False),
    Column("digest", TEXT, nullable=False),
    Column("sources", TEXT, nullable=False),
)

# --------------------------------------- tables that later parts of the product write (jobs.md 15, DESIGN 6)

alerts: Final = Table(
    "alerts",
    metadata,
    Column("alert_id", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("run_id", TEXT),
    Column("job", TEXT),
    Column("run_date", text_of(10)),
    Column("attempt", Integer),
    Column("criticality", TEXT, nullable=False),
    Column("raised_at", BIG, nullable=False),
    Column("message", TEXT, nullable=False),
    Column("detail", TEXT, nullable=False),
)
Index("alerts_of_run", alerts.c.run_id)
Index("alerts_by_time", alerts.c.raised_at)

deliveries: Final = Table(
    "deliveries",
    metadata,
    Column("delivery_id", TEXT, primary_key=True),
    Column("alert_id", TEXT, nullable=False),
    Column("notifier", TEXT, nullable=False),
    Column("status", TEXT, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("last_error", TEXT),
    Column("updated_at", BIG, nullable=False),
)
Index("deliveries_of_alert", deliveries.c.alert_id)
Index("deliveries_by_status", deliveries.c.status)

run_files: Final = Table(
    "run_files",
    metadata,
    Column("run_id", TEXT, primary_key=True),
    Column("files", TEXT, nullable=False),
)

leases: Final = Table(
    "leases",
    metadata,
    Column("name", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("epoch", BIG, nullable=False, server_default=text("0")),
    Column("holder_inc", TEXT),
    Column("hb_seq", BIG, nullable=False, server_default=text("0")),
    Column("started_at", BIG),
    Column("renewed_at", BIG),
    Column("lease_until", BIG),
    Column("released", Integer, nullable=False, server_default=text("0")),
    Column("state_dir", TEXT),
    Column("host_id", TEXT),
    Column("boot_id", TEXT),
    Column("pid_ns", TEXT),
    Column("pid", Integer),
    Column("start_ticks", BIG),
    Column("stopping", Integer, nullable=False, server_default=text("0")),
    Column("fenced_at", BIG),
    Column("fenced_by", TEXT),
    Column("fence_reason", TEXT),
    Column("node", TEXT, nullable=False, server_default=text("''")),
    Column("tags", TEXT, nullable=False, server_default=text("'[]'")),
    Column("capacity", Integer, nullable=False, server_default=text("0")),
    Column("address", TEXT, nullable=False, server_default=text("''")),
    Column("draining", Integer, nullable=False, server_default=text("0")),
    Column("stale_seq", BIG),
    Column("stale_at", BIG),
)
"""One row a node (`kind` node, `name` its incarnation) and one named `authority`: claims.md's two tables in one."""
# those that live, and those that ended lately: `tick` leaves a row a minute
Index("leases_by_end", leases.c.fenced_at)

# --------------------------------------- who may come in, who did what, what was answered (issue: the console)

sessions: Final = Table(
    "sessions",
    metadata,
    Column("session_hash", text_of(64), primary_key=True),
    Column("user", TEXT, nullable=False),
    Column("proof", TEXT, nullable=False),
    Column("csrf", TEXT, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("seen_at", BIG, nullable=False),
    Column("expires_at", BIG, nullable=False),
    Column("address", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("revoked_at", BIG),
    Column("revoked_by", TEXT),
)
"""Browsers that signed in. The cookie's value is nowhere: only its SHA-256 is.

`proof` is what the session rests on (`model/session.py`)."""
Index("sessions_of_user", sessions.c.user)
Index("sessions_by_end", sessions.c.expires_at)

audit: Final = Table(
    "audit",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("at", BIG, nullable=False),
    Column("actor", TEXT, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("via", TEXT, nullable=False),
    Column("address", TEXT, nullable=False),
    Column("action", TEXT, nullable=False),
    Column("subject", TEXT, nullable=False),
    Column("reason", TEXT, nullable=False),
    Column("result", TEXT, nullable=False),
    Column("detail", TEXT, nullable=False),
    Column("previous_hash", text_of(64), nullable=False),
    Column("hash", text_of(64), nullable=False),
    sqlite_autoincrement=True,
)
"""Every action somebody took or was refused; each row's hash covers the row and the hash before it."""
Index("audit_by_time", audit.c.at)
Index("audit_of_actor", audit.c.actor, audit.c.at)

replies: Final = Table(
    "replies",
    metadata,
    Column("actor", TEXT, primary_key=True),
    Column("key", TEXT, primary_key=True),
    Column("fingerprint", text_of(64), nullable=False),
    Column("at", BIG, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", TEXT, nullable=False),
)
"""What was answered to a request that brought an idempotency key: the same key gets the same answer, for a day."""
Index("replies_by_time", replies.c.at)

# --------------------------------------- what the tables alone cannot say

MORE: Final = {
    "sqlite": (
        """
CREATE TRIGGER token_never_decreases BEFORE UPDATE OF token ON runs WHEN NEW.token < OLD.token
BEGIN SELECT RAISE(ABORT, 'a token never decreases'); END
""",
    ),
    "postgresql": (
        """
CREATE OR REPLACE FUNCTION db_now() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT $$
""",
        """
CREATE OR REPLACE FUNCTION refuse_token() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'a token never decreases' USING ERRCODE = 'check_violation'; END $$
""",
        """
CREATE OR REPLACE TRIGGER token_never_decreases BEFORE UPDATE OF token ON runs
FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION refuse_token()
""",
    ),
}
"""Run after the tables are made, in this order. `db_now()` is the clock of all claims, microseconds since 1970 UTC: on
SQLite a function of the connection (`claims/sqlite_door.py`), which tests replace as they replace PostgreSQL's."""
