"""Alerts and their deliveries. Spec: jobs.md 13.5."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from pyscheduler.api.shapes.base import Listed, Shape
from pyscheduler.model.alert import AlertKind, DeliveryStatus


class Delivery(Shape):
    """What became of an alert at one notifier; `attempts` counts the tries so far."""

    notifier: str
    status: DeliveryStatus
    attempts: int
    last_error: str | None
    updated_at: datetime


class Alert(Shape):
    """Something that people are told of; `job` null concerns the scheduler. `scheduler` is its name."""

    alert_id: str
    kind: AlertKind
    criticality: str
    job: str | None
    run_id: str | None
    run_date: date | None
    attempt: int
    raised_at: datetime
    message: str
    scheduler: str
    detail: dict[str, Any]
    deliveries: list[Delivery]


class Alerts(Listed):
    """Alerts."""

    alerts: list[Alert]


class DeadDelivery(Delivery):
    """A delivery that was given up, with its alert."""

    alert: Alert


class DeadDeliveries(Shape):
    """Deliveries that were given up."""

    deliveries: list[DeadDelivery]


class Replayed(Shape):
    """Deliveries that are tried again."""

    deliveries: list[Delivery]


class Tested(Shape):
    """Whether a test message was taken; `error` says why not."""

    notifier: str
    sent: bool
    error: str | None
