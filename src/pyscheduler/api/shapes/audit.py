"""The audit log's rows, and what proving them found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyscheduler.api.shapes.base import Listed, Shape


class AuditRow(Shape):
    """What somebody did or was refused. `actor` is empty where nobody was known: `subject` then is the name typed."""

    id: int
    at: datetime
    actor: str
    role: str
    via: str
    address: str
    action: str
    subject: str
    reason: str
    result: str
    detail: dict[str, Any]
    hash: str


class AuditLog(Listed):
    """Rows of the audit log."""

    audit: list[AuditRow]


class ChainLink(Shape):
    """A row's number and its hash; 0 and zeros before the first."""

    id: int
    hash: str


class ChainBreak(Shape):
    """The first row at which the chain does not hold, and why."""

    id: int
    what: str


class Verification(Shape):
    """Whether the chain holds: `rows` of them, after `anchor` (the last that was pruned) up to `head`."""

    ok: bool
    rows: int
    anchor: ChainLink
    head: ChainLink
    broken: ChainBreak | None
