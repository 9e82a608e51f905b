"""Which columns a row is made of, in the order in which statements take and give them.

The order is the tables' own (`schema.py`). A run's begins with what every stream of a list begins with
(`run_streams.KEY`), so that a row can be read as it lies. What belongs to claims (`token owner_inc inc_id`,
DESIGN 6) is not here: no batch writes it.
"""

from __future__ import annotations

from typing import Final

RUN_FIXED: Final = ("job", "run_date", "seq", "scheduled_at", "trigger", "created_at")
"""What a run's first row fixes for good."""
RUN: Final = (
    "run_id",
    "scheduled_at",
    "state",
    "trigger",
    "job",
    "run_date",
    "seq",
    "created_at",
    "updated_at",
    "reason",
    "cause",
    "attempt",
    "attempt_base",
    "reruns",
    "config_version",
    "forced",
    "held_from",
    "not_before",
    "queued_at",
    "wait_until",
    "offered_at",
)
ATTEMPT: Final = (
    "run_id",
    "attempt",
    "key",
    "started_at",
    "config_version",
    "boot_id",
    "pid",
    "ended_at",
    "exit_code",
    "signal",
    "outcome",
    "reason",
    "stdout_path",
    "stderr_path",
    "status_path",
    "kill_by",
    "cpu_s",
    "max_rss_bytes",
    "note",
)
LINE: Final = ("at", "actor", "action", "run_id", "job", "detail")
REPLY: Final = ("actor", "key", "fingerprint", "at", "status", "body")
CONFIG: Final = ("version", "loaded_at", "digest", "sources")
ALERT: Final = (
    "alert_id",
    "kind",
    "run_id",
    "job",
    "run_date",
    "attempt",
    "criticality",
    "raised_at",
    "message",
    "detail",
)
DELIVERY: Final = ("delivery_id", "alert_id", "notifier", "status", "attempts", "last_error", "updated_at")
SESSION: Final = (
    "session_hash",
    "user",
    "proof",
    "csrf",
    "created_at",
    "seen_at",
    "expires_at",
    "address",
    "agent",
    "revoked_at",
    "revoked_by",
)
