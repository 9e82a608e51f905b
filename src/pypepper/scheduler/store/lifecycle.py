"""Which durable status may be replaced by which: one table, asked by every store. Spec: pipeline.md 12.3.

Skipping forward is legal, going back is not, and one end never replaces another. A word that is not in the table (some
program's own) replaces only itself and is replaced only by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pypepper.scheduler.status import Status

_OPEN: Final = (Status.UNKNOWN, Status.INITIALIZING, Status.SCHEDULED, Status.IN_PROGRESS)
"""In the order of a life: each may replace itself and what stands before it."""
_ENDS: Final = (Status.FAILED, Status.COMPLETED, Status.CANCELLED)
"""Each may replace itself and everything open."""

_REPLACEABLE: Final[Mapping[str, frozenset[str]]] = {
    **{status: frozenset(str(earlier) for earlier in _OPEN[: place + 1]) for place, status in enumerate(_OPEN)},
    **{end: frozenset({str(end), *map(str, _OPEN)}) for end in _ENDS},
}


def existing_statuses_put_may_replace(incoming_status: str) -> frozenset[str]:
    """Return the durable statuses that a put of `incoming_status` may write over."""
    return _REPLACEABLE.get(incoming_status) or frozenset({incoming_status})


def put_applies(existing_status: str | None, incoming_status: str) -> bool:
    """Tell whether the order of life allows the put; None means that there is no row yet."""
    return existing_status is None or existing_status in existing_statuses_put_may_replace(incoming_status)


def put_may_write(
    existing_status: str | None, existing_version: int | None, incoming_status: str, incoming_version: int
) -> bool:
    """Tell whether a put may write: the order of life allows it, and nobody else wrote since the caller looked."""
    if existing_status is None:
        return True
    return put_applies(existing_status, incoming_status) and existing_version == incoming_version
