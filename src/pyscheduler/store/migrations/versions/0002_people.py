"""Sessions of browsers, the audit log, answers kept for idempotency keys. `store/schema.py` says what each is for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pyscheduler.store.schema import text_of

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_HASH = text_of(64)


def upgrade() -> None:
    """Make the three tables."""
    _sessions()
    _audit()
    _replies()


def _text(name: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, text_of(), nullable=False, primary_key=primary_key)


def _instant(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=nullable)


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("session_hash", _HASH, primary_key=True),
        _text("user"),
        _text("proof"),
        _text("csrf"),
        _instant("created_at"),
        _instant("seen_at"),
        _instant("expires_at"),
        _text("address"),
        _text("agent"),
        _instant("revoked_at", nullable=True),
        sa.Column("revoked_by", text_of()),
    )
    op.create_index("sessions_of_user", "sessions", ["user"])
    op.create_index("sessions_by_end", "sessions", ["expires_at"])


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _BIG, primary_key=True, autoincrement=True),
        _instant("at"),
        _text("actor"),
        _text("role"),
        _text("via"),
        _text("address"),
        _text("action"),
        _text("subject"),
        _text("reason"),
        _text("result"),
        _text("detail"),
        sa.Column("previous_hash", _HASH, nullable=False),
        sa.Column("hash", _HASH, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_time", "audit", ["at"])
    op.create_index("audit_of_actor", "audit", ["actor", "at"])


def _replies() -> None:
    op.create_table(
        "replies",
        _text("actor", primary_key=True),
        _text("key", primary_key=True),
        sa.Column("fingerprint", _HASH, nullable=False),
        _instant("at"),
        sa.Column("status", sa.Integer, nullable=False),
        _text("body"),
    )
    op.create_index("replies_by_time", "replies", ["at"])
