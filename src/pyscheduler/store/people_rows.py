"""Row ↔ value of what people bring with them: alerts, the audit log, sessions, kept answers. See `rows.py`.

These are written and read now and then, not with every state change; the format stands in `schema.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyscheduler.model.alert import Alert, AlertKind, Delivery, DeliveryStatus, Raised
from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.reply import Reply
from pyscheduler.model.session import Session
from pyscheduler.store import columns
from pyscheduler.store.rows import (
    Row,
    cleaned,
    day,
    instant,
    instant_or_none,
    json_text,
    micros,
    micros_or_none,
)

# --------------------------------------------------------------------------- answers kept for a key


def reply_row(reply: Reply) -> Row:
    """Return the reply as a row of REPLY's columns."""
    return (reply.actor, reply.key, reply.fingerprint, micros(reply.at), reply.status, reply.body)


def reply_of(row: Row) -> Reply:
    """Return the reply of a row of REPLY's columns."""
    actor, key, fingerprint, at, status, body = row
    return Reply(actor=actor, key=key, fingerprint=fingerprint, at=instant(at), status=status, body=body)


# --------------------------------------------------------------------------- alerts and deliveries


def alert_row(alert: Alert) -> Row:
    """Return the alert as a row of ALERT's columns."""
    return (
        alert.alert_id,
        alert.kind.value,
        alert.run_id,
        alert.job,
        None if alert.run_date is None else alert.run_date.isoformat(),
        alert.attempt,
        alert.criticality,
        micros(alert.raised_at),
        alert.message,
        json_text(alert.detail),
    )


def alert_of(row: Row) -> Alert:
    """Return the alert of a row of ALERT's columns."""
    alert_id, kind, run_id, job, run_date, attempt, criticality, raised_at, message, detail = row
    return Alert(
        alert_id=alert_id,
        kind=AlertKind(kind),
        criticality=criticality,
        raised_at=instant(raised_at),
        message=message,
        job=job,
        run_id=run_id,
        run_date=None if run_date is None else day(run_date),
        attempt=attempt or 0,
        detail=json.loads(detail),
    )


def new_deliveries(raised: Raised) -> list[dict[str, Any]]:
    """Return the pending deliveries of an alert just raised, each by name, with the instant that proves it is new."""
    at = micros(raised.alert.raised_at)
    pending = (
        Delivery(
            alert_id=raised.alert.alert_id,
            notifier=notifier,
            status=DeliveryStatus.PENDING,
            updated_at=raised.alert.raised_at,
        )
        for notifier in raised.notify
    )
    return [dict(zip(columns.DELIVERY, delivery_row(each), strict=True)) | {"raised_at": at} for each in pending]


def delivery_row(delivery: Delivery) -> Row:
    """Return the delivery as a row of DELIVERY's columns."""
    return (
        delivery.delivery_id,
        delivery.alert_id,
        delivery.notifier,
        delivery.status.value,
        delivery.attempts,
        delivery.last_error,
        micros(delivery.updated_at),
    )


def delivery_of(row: Row) -> Delivery:
    """Return the delivery of a row of DELIVERY's columns."""
    _, alert_id, notifier, status, attempts, last_error, updated_at = row
    return Delivery(
        alert_id=alert_id,
        notifier=notifier,
        status=DeliveryStatus(status),
        updated_at=instant(updated_at),
        attempts=attempts,
        last_error=last_error,
    )


def audit_values(entry: AuditEntry) -> Row:
    """Return what a row of the audit log says, but for its number and hashes. All of it is UTF-8."""
    (values,) = cleaned(
        [
            (
                micros(entry.at),
                entry.actor,
                entry.role,
                entry.via,
                entry.address,
                entry.action,
                entry.subject,
                entry.reason,
                entry.result,
                json_text(entry.detail),
            )
        ]
    )
    return values


def audit_of(row: Row) -> AuditEntry:
    """Return the entry of a whole row of the audit log, whatever somebody has put there: one must be able to look."""
    number, at, actor, role, via, address, action, subject, reason, result, detail, previous, digest = row
    return AuditEntry(
        id=number,
        at=instant(at),
        actor=actor,
        role=role,
        via=via,
        address=address,
        action=action,
        subject=subject,
        reason=reason,
        result=result,
        detail=_detail_of(detail),
        previous_hash=previous,
        hash=digest,
    )


def _detail_of(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unreadable": str(text)}


# --------------------------------------------------------------------------- sessions


def session_row(session: Session) -> Row:
    """Return the session as a row of SESSION's columns."""
    return (
        session.session_hash,
        session.user,
        session.proof,
        session.csrf,
        micros(session.created_at),
        micros(session.seen_at),
        micros(session.expires_at),
        session.address,
        session.agent,
        micros_or_none(session.revoked_at),
        session.revoked_by,
    )


def session_of(row: Row) -> Session:
    """Return the session of a row of SESSION's columns."""
    session_hash, user, proof, csrf, created_at, seen_at, expires_at, address, agent, revoked_at, revoked_by = row
    return Session(
        session_hash=session_hash,
        user=user,
        proof=proof,
        csrf=csrf,
        created_at=instant(created_at),
        seen_at=instant(seen_at),
        expires_at=instant(expires_at),
        address=address,
        agent=agent,
        revoked_at=instant_or_none(revoked_at),
        revoked_by=revoked_by,
    )
