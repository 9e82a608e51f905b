"""Claims: who owns a run and how its attempts were revoked; nodes. `store/schema.py` says what each is for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pyscheduler.store.schema import text_of

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_CLAIM_IS_WHOLE = "(owner_inc IS NULL) = (token % 2 = 0) AND (owner_inc IS NULL OR state IN ('queued', 'running'))"
_MORE = {
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


def upgrade() -> None:
    """Add the columns, then what watches over them."""
    _runs()
    _attempts()
    _leases()
    for more in _MORE[op.get_bind().dialect.name]:
        op.execute(more)


def _text(name: str, default: str = "''") -> sa.Column[str]:
    return sa.Column(name, text_of(), nullable=False, server_default=sa.text(default))


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0"))


def _instant(name: str) -> sa.Column[int]:
    return sa.Column(name, _BIG)


def _runs() -> None:
    big = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    # a column brings its own constraint, because SQLite cannot add one to a table
    op.execute(f"ALTER TABLE runs ADD COLUMN claimed_at {big} CONSTRAINT a_claim_is_whole CHECK ({_CLAIM_IS_WHOLE})")
    for column in (
        _number("cancel_requested"),
        _text("on_lost"),
        _number("lost_count"),
        sa.Column("reclaim_us", _BIG, nullable=False, server_default=sa.text("0")),
        _text("node"),
        _text("node_tags", "'[]'"),
    ):
        op.add_column("runs", column)
    offered = sa.text("state = 'queued' AND offered_at IS NOT NULL AND owner_inc IS NULL")
    op.create_index(
        "runs_offered",
        "runs",
        ["offered_at", "scheduled_at", "run_id"],
        sqlite_where=offered,
        postgresql_where=offered,
    )
    owned = sa.text("owner_inc IS NOT NULL")
    op.create_index("runs_owned", "runs", ["owner_inc", "run_id"], sqlite_where=owned, postgresql_where=owned)


def _attempts() -> None:
    for column in (_instant("revoked_at"), sa.Column("revoke_reason", text_of()), _instant("reported_at")):
        op.add_column("attempts", column)
    granted = sa.text("inc_id IS NOT NULL")
    op.create_index(
        "attempts_of_grant",
        "attempts",
        ["run_id", "token"],
        unique=True,
        sqlite_where=granted,
        postgresql_where=granted,
    )
    op.create_index("attempts_of_incarnation", "attempts", ["inc_id"], sqlite_where=granted, postgresql_where=granted)


def _leases() -> None:
    for column in (
        _text("node"),
        _text("tags", "'[]'"),
        _number("capacity"),
        _text("address"),
        _number("draining"),
        _instant("stale_seq"),
        _instant("stale_at"),
    ):
        op.add_column("leases", column)
    op.create_index("leases_by_end", "leases", ["fenced_at"])
