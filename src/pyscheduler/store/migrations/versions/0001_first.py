"""The first schema. What each table and index is for stands in `store/schema.py`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pyscheduler.store.schema import text_of

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_FINAL = "state IN ('cancelled', 'failed', 'skipped', 'succeeded')"
_OPEN = "state NOT IN ('cancelled', 'failed', 'skipped', 'succeeded')"
_DUE = "\"trigger\" IN ('backfill', 'catch_up', 'schedule')"
_BY_A_PERSON = "actor <> 'scheduler'"
_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make every table of the first release."""
    _runs()
    _attempts()
    _events()
    _engine_and_configs()
    _alerts()
    _leases()


def _text(name: str, *, nullable: bool = False, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, text_of(), nullable=nullable, primary_key=primary_key)


def _number(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=nullable, server_default=sa.text(default) if default else None)


def _big(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=nullable, server_default=sa.text(default) if default else None)


def _partial(name: str, table: str, columns: list[str | sa.TextClause], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _runs() -> None:
    op.create_table(
        "runs",
        _text("run_id", primary_key=True),
        _big("scheduled_at"),
        _text("state"),
        _text("trigger"),
        _text("job"),
        sa.Column("run_date", text_of(10), nullable=False),
        _number("seq"),
        _big("created_at"),
        _big("updated_at"),
        _text("reason"),
        _text("cause"),
        _number("attempt"),
        _number("attempt_base"),
        _number("reruns"),
        _number("config_version"),
        _number("forced"),
        _text("held_from", nullable=True),
        _big("not_before", nullable=True),
        _big("queued_at", nullable=True),
        _big("wait_until", nullable=True),
        _big("token", default="0"),
        _text("owner_inc", nullable=True),
        _big("offered_at", nullable=True),
        sa.CheckConstraint(
            "run_id = job || '.' || run_date || '.' || CAST(seq AS TEXT)", name="run_id_is_made_of_its_parts"
        ),
    )
    newest_first = sa.text("scheduled_at DESC")
    kind: list[str | sa.TextClause] = ["state", "trigger", newest_first, "run_id"]
    op.create_index("runs_of_date", "runs", ["job", "run_date", "scheduled_at", "seq"])
    _partial("runs_due_once", "runs", ["job", "scheduled_at"], _DUE, unique=True)
    _partial("runs_open", "runs", [newest_first, "run_id", "state", "trigger"], _OPEN)
    _partial("runs_ended", "runs", kind, _FINAL)
    _partial("runs_ended_of_job", "runs", ["job", *kind], _FINAL)
    _partial("runs_ended_of_date", "runs", ["run_date", *kind], _FINAL)


def _attempts() -> None:
    op.create_table(
        "attempts",
        _text("run_id", primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        _text("key"),
        _big("started_at"),
        _number("config_version"),
        _text("boot_id"),
        _number("pid", nullable=True),
        _big("ended_at", nullable=True),
        _number("exit_code", nullable=True),
        _number("signal", nullable=True),
        _text("outcome", nullable=True),
        _text("reason"),
        _text("stdout_path"),
        _text("stderr_path"),
        _text("status_path"),
        _text("kill_by", nullable=True),
        sa.Column("cpu_s", sa.Float),
        _big("max_rss_bytes", nullable=True),
        _text("note"),
        _big("token", default="0"),
        _text("inc_id", nullable=True),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _BIG, primary_key=True, autoincrement=True),
        _big("at"),
        _text("actor"),
        _text("action"),
        _text("run_id", nullable=True),
        _text("job", nullable=True),
        _text("detail"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_run", "events", ["run_id"])
    op.create_index("events_of_action", "events", ["action", "at"])
    op.create_index("events_of_job", "events", ["job", "action", "at"])
    _partial("events_of_person", "events", ["actor", "at"], _BY_A_PERSON)


def _engine_and_configs() -> None:
    op.create_table("engine", _text("key", primary_key=True), _text("value"))
    op.create_table(
        "configs",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        _big("loaded_at"),
        _text("digest"),
        _text("sources"),
    )


def _alerts() -> None:
    op.create_table(
        "alerts",
        _text("alert_id", primary_key=True),
        _text("kind"),
        _text("run_id", nullable=True),
        _text("job", nullable=True),
        sa.Column("run_date", text_of(10)),
        _number("attempt", nullable=True),
        _text("criticality"),
        _big("raised_at"),
        _text("message"),
        _text("detail"),
    )
    op.create_index("alerts_of_run", "alerts", ["run_id"])
    op.create_index("alerts_by_time", "alerts", ["raised_at"])
    op.create_table(
        "deliveries",
        _text("delivery_id", primary_key=True),
        _text("alert_id"),
        _text("notifier"),
        _text("status"),
        _number("attempts"),
        _text("last_error", nullable=True),
        _big("updated_at"),
    )
    op.create_index("deliveries_of_alert", "deliveries", ["alert_id"])
    op.create_index("deliveries_by_status", "deliveries", ["status"])
    op.create_table("run_files", _text("run_id", primary_key=True), _text("files"))


def _leases() -> None:
    op.create_table(
        "leases",
        _text("name", primary_key=True),
        _text("kind"),
        _big("epoch", default="0"),
        _text("holder_inc", nullable=True),
        _big("hb_seq", default="0"),
        _big("started_at", nullable=True),
        _big("renewed_at", nullable=True),
        _big("lease_until", nullable=True),
        _number("released", default="0"),
        _text("state_dir", nullable=True),
        _text("host_id", nullable=True),
        _text("boot_id", nullable=True),
        _text("pid_ns", nullable=True),
        _number("pid", nullable=True),
        _big("start_ticks", nullable=True),
        _number("stopping", default="0"),
        _big("fenced_at", nullable=True),
        _text("fenced_by", nullable=True),
        _text("fence_reason", nullable=True),
    )
