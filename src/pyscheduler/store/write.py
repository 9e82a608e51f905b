"""From a batch to statements: the hot path of every state change.

The rows are made before the transaction begins, so the write lock is held for the driver's work alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyscheduler.model.alert import Delivery
from pyscheduler.model.batch import Batch
from pyscheduler.store import audit, people_rows, rows
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import (
    ADD_ALERT,
    ADD_DELIVERY,
    ADD_LINE,
    PUT_ATTEMPT,
    PUT_CONFIG,
    PUT_ENGINE,
    PUT_REPLY,
    PUT_RUN,
    PUT_SESSION,
    REMOVE_ENGINE,
    REMOVE_OLD_ALERTS,
    REMOVE_REPLIES,
    REMOVE_RUN,
    REMOVE_SESSION,
    SET_DELIVERY,
    Statement,
)
from pyscheduler.store.transaction import Transaction

Step = tuple[Statement, Sequence[Row]]


def steps_of(batch: Batch) -> list[Step]:
    """Return the batch as statements with their rows, in the order that gives it its meaning."""
    gone = [(run_id,) for run_id in batch.deleted_runs]
    kept = [(key, value) for key, value in batch.engine.items() if value is not None]
    over = [] if batch.replies_before is None else [(rows.micros(batch.replies_before),)]
    dropped = [(key,) for key, value in batch.engine.items() if value is None]
    steps: list[Step] = [(statement, gone) for statement in REMOVE_RUN] if gone else []
    steps += [
        (PUT_RUN, [rows.run_row(run) for run in batch.runs]),
        (PUT_ATTEMPT, [rows.attempt_row(attempt) for attempt in batch.attempts]),
        (ADD_LINE, [rows.line_row(line) for line in batch.lines]),
        (PUT_ENGINE, kept),
        (REMOVE_ENGINE, dropped),
        (PUT_CONFIG, [rows.config_row(record) for record in batch.configs]),
        (REMOVE_REPLIES, over),
        (PUT_REPLY, [people_rows.reply_row(reply) for reply in batch.replies]),
        *_steps_of_alerts(batch),
        (REMOVE_SESSION, [(session_hash,) for session_hash in batch.deleted_sessions]),
        (PUT_SESSION, [people_rows.session_row(session) for session in batch.sessions]),
    ]
    return [step for step in steps if step[1]]


def _steps_of_alerts(batch: Batch) -> list[Step]:
    if not (batch.alerts or batch.deliveries or batch.alerts_before):
        return []
    old = [] if batch.alerts_before is None else [(rows.micros(batch.alerts_before),)]
    told = [ADD_DELIVERY.bind(**row) for raised in batch.alerts for row in people_rows.new_deliveries(raised)]
    return [
        *((statement, old) for statement in REMOVE_OLD_ALERTS),
        (ADD_ALERT, [people_rows.alert_row(raised.alert) for raised in batch.alerts]),
        (ADD_DELIVERY, told),
        (SET_DELIVERY, [SET_DELIVERY.bind(**_changes(delivery)) for delivery in batch.deliveries]),
    ]


def _changes(delivery: Delivery) -> dict[str, object]:
    return {
        "which": delivery.delivery_id,
        "new_status": delivery.status.value,
        "new_attempts": delivery.attempts,
        "new_last_error": delivery.last_error,
        "new_updated_at": rows.micros(delivery.updated_at),
    }


def perform(transaction: Transaction, steps: Sequence[Step], batch: Batch) -> None:
    """Run the batch's statements, then its share in the audit log, inside a transaction."""
    for statement, table in steps:
        transaction.put(statement, table)
    audit.perform(transaction, batch)


def cleaned(transaction: Transaction, steps: Sequence[Step]) -> list[Step]:
    """Return the same statements with text that UTF-8, and the database, can hold."""
    return [(statement, list(map(transaction.storable, rows.cleaned(table)))) for statement, table in steps]
