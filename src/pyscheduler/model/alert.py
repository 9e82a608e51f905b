"""What people are told of, and whether they have been. Spec: jobs.md 15.1 to 15.3.

An alert is written down with the change that raised it, and one delivery for each notifier that is to tell of it. The
id of an alert says what it is about; the same one is never raised twice, across restarts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from pyscheduler.model.ids import SCHEDULER


class AlertKind(StrEnum):
    """What has happened. The last three are the scheduler's own, or a job's as a whole."""

    FAILED = "failed"
    RETRYING = "retrying"
    BLOCKED = "blocked"
    LOST = "lost"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    NEVER_STARTED = "never_started"
    WATCHER_TIMEOUT = "watcher_timeout"
    RECOVERED = "recovered"
    STALE = "stale"
    RELOAD_FAILED = "reload_failed"
    SCHEDULER_FAILED = "scheduler_failed"


SCHEDULER_KINDS: Final = frozenset({AlertKind.RELOAD_FAILED, AlertKind.SCHEDULER_FAILED})
"""Kinds that no job raises."""
OFF_BY_DEFAULT: Final = frozenset({AlertKind.RETRYING, AlertKind.RECOVERED})
"""Kinds that a job raises only where it says so; `recovered` also where repeats are held back."""


class DeliveryStatus(StrEnum):
    """Where one delivery stands: `dead` waits for a hand."""

    PENDING = "pending"
    SENT = "sent"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One thing to tell people. `job` None concerns the scheduler; `message` is one line for people."""

    alert_id: str
    kind: AlertKind
    criticality: str
    raised_at: datetime
    message: str
    job: str | None = None
    run_id: str | None = None
    run_date: date | None = None
    attempt: int = 0
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        """What routes are matched against."""
        return f"alert.{self.kind}.{self.criticality}.{self.job or SCHEDULER}"


@dataclass(frozen=True, slots=True)
class Raised:
    """An alert on its way to the store, with the notifiers that are to tell of it."""

    alert: Alert
    notify: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One alert by one notifier. `attempts` counts the tries so far, `last_error` is the latest failure's."""

    alert_id: str
    notifier: str
    status: DeliveryStatus
    updated_at: datetime
    attempts: int = 0
    last_error: str | None = None

    @property
    def delivery_id(self) -> str:
        """The row's key."""
        return delivery_id(self.alert_id, self.notifier)


@dataclass(frozen=True, slots=True)
class Told:
    """An alert as the store has it: with every delivery, by notifier."""

    alert: Alert
    deliveries: tuple[Delivery, ...] = ()


def delivery_id(alert_id: str, notifier: str) -> str:
    """Return the key of the delivery of an alert by a notifier; neither holds a slash."""
    return f"{alert_id}/{notifier}"
