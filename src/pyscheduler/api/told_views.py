"""What people were told and what they did, as plain dicts: alerts with deliveries, the audit log. See `views.py`."""

from __future__ import annotations

from typing import Final

from pyscheduler.api.views import View, instant
from pyscheduler.model.alert import Delivery, Told
from pyscheduler.model.audit import AuditEntry
from pyscheduler.store import Verified

# --------------------------------------------------------------------------- alerts

ALERT_COLUMNS: Final = (
    "alert_id",
    "kind",
    "criticality",
    "job",
    "run_id",
    "run_date",
    "attempt",
    "raised_at",
    "message",
    "scheduler",
    "detail",
    "deliveries",
)


def alert_view(told: Told, scheduler: str) -> View:
    """Return an alert with every delivery; `scheduler` is the name of whoever shows it."""
    alert = told.alert
    return {
        "alert_id": alert.alert_id,
        "kind": alert.kind.value,
        "criticality": alert.criticality,
        "job": alert.job,
        "run_id": alert.run_id,
        "run_date": None if alert.run_date is None else alert.run_date.isoformat(),
        "attempt": alert.attempt,
        "raised_at": instant(alert.raised_at),
        "message": alert.message,
        "scheduler": scheduler,
        "detail": dict(alert.detail),
        "deliveries": [delivery_view(delivery) for delivery in told.deliveries],
    }


def delivery_view(delivery: Delivery) -> View:
    """Return one delivery, without the alert it is of."""
    return {
        "notifier": delivery.notifier,
        "status": delivery.status.value,
        "attempts": delivery.attempts,
        "last_error": delivery.last_error,
        "updated_at": instant(delivery.updated_at),
    }


def dead_view(delivery: Delivery, told: Told, scheduler: str) -> View:
    """Return a delivery that was given up, with its alert."""
    return delivery_view(delivery) | {"alert": alert_view(told, scheduler)}


# --------------------------------------------------------------------------- the audit log

AUDIT_COLUMNS: Final = (
    "id",
    "at",
    "actor",
    "role",
    "via",
    "address",
    "action",
    "subject",
    "reason",
    "result",
    "detail",
    "hash",
)


def audit_view(entry: AuditEntry) -> View:
    """Return a row of the audit log."""
    return {
        "id": entry.id,
        "at": instant(entry.at),
        "actor": entry.actor,
        "role": entry.role,
        "via": entry.via,
        "address": entry.address,
        "action": entry.action,
        "subject": entry.subject,
        "reason": entry.reason,
        "result": entry.result,
        "detail": dict(entry.detail),
        "hash": entry.hash,
    }


def verified_view(found: Verified) -> View:
    """Return what a walk along the audit log has found."""
    broken = None if found.broken is None else {"id": found.broken.id, "what": found.broken.what}
    return {
        "ok": broken is None,
        "rows": found.rows,
        "anchor": {"id": found.anchor.id, "hash": found.anchor.hash},
        "head": {"id": found.head.id, "hash": found.head.hash},
        "broken": broken,
    }
