"""What to do when a connection breaks in the middle of a put and nobody knows whether it was done.

The put is made once more, on a fresh connection. If the row then refuses it, and reads exactly as ours would have left
it, it was ours. (Two writers whose records agree in everything, `updated` to the millisecond included, cannot be told
apart, and need not be.) When the server cannot be reached the second time either, the error is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pypepper.common.log import log
from pypepper.scheduler.store.interfaces import JobRecord


def put_through_a_break(
    record: JobRecord,
    put: Callable[[JobRecord], bool],
    get: Callable[[str], JobRecord | None],
    broke: Callable[[Exception], bool],
) -> bool:
    """Put, and once more if the connection `broke`; other errors, and a second one, pass through."""
    try:
        return put(record)
    except Exception as error:
        if not broke(error):
            raise
        log.warn(f"the connection broke while job {record.id} was saved; trying once more: {error}")
    return put(record) or reads_as_ours(get(record.id), record)


def reads_as_ours(durable: JobRecord | None, record: JobRecord) -> bool:
    """Tell whether a row is what an update with `record` leaves: all of it but `created`, and the next version."""
    if durable is None:
        return False
    ours = replace(record, created=durable.created, version=record.version + 1, payload=record.payload or None)
    return replace(durable, payload=durable.payload or None) == ours
