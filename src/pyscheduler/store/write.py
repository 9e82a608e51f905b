"""From a batch to statements: the hot path of every state change.

The rows are made before the transaction begins, so the write lock is held for the driver's work alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyscheduler.model.batch import Batch
from pyscheduler.store import rows
from pyscheduler.store.driver import Connection
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import (
    ADD_LINE,
    PUT_ATTEMPT,
    PUT_CONFIG,
    PUT_ENGINE,
    PUT_REPLY,
    PUT_RUN,
    REMOVE_ENGINE,
    REMOVE_REPLIES,
    REMOVE_RUN,
)

Step = tuple[str, Sequence[Row]]


def steps_of(batch: Batch) -> list[Step]:
    """Return the batch as statements with their rows, in the order that gives it its meaning."""
    gone = [(run_id,) for run_id in batch.deleted_runs]
    kept = [(key, value) for key, value in batch.engine.items() if value is not None]
    over = [] if batch.replies_before is None else [(rows.micros(batch.replies_before),)]
    dropped = [(key,) for key, value in batch.engine.items() if value is None]
    steps: list[Step] = [(statement.sql, gone) for statement in REMOVE_RUN] if gone else []
    steps += [
        (PUT_RUN.sql, [rows.run_row(run) for run in batch.runs]),
        (PUT_ATTEMPT.sql, [rows.attempt_row(attempt) for attempt in batch.attempts]),
        (ADD_LINE.sql, [rows.line_row(line) for line in batch.lines]),
        (PUT_ENGINE.sql, kept),
        (REMOVE_ENGINE.sql, dropped),
        (PUT_CONFIG.sql, [rows.config_row(record) for record in batch.configs]),
        (REMOVE_REPLIES.sql, over),
        (PUT_REPLY.sql, [rows.reply_row(reply) for reply in batch.replies]),
    ]
    return [step for step in steps if step[1]]


def perform(connection: Connection, steps: Sequence[Step]) -> None:
    """Run the statements inside the transaction that the caller has begun."""
    for sql, table in steps:
        if len(table) == 1:
            connection.execute(sql, table[0])
        else:
            connection.executemany(sql, table)


def cleaned(steps: Sequence[Step]) -> list[Step]:
    """Return the same statements with text that UTF-8 can hold."""
    return [(sql, rows.cleaned(table)) for sql, table in steps]
