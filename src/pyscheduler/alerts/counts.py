"""What is told and what becomes of it, as numbers for `/metrics`: over all engines of one service.

No label is a job's name; kinds are ours and notifiers are the configuration's, so the number of series is bounded.
How many deliveries wait or were given up is no count of ours: the store knows, over restarts too.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter

from pyscheduler.model.alert import Alert, AlertKind


class Counts:
    """The counters of one alert room."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._raised = Counter("pysched_alerts", "Alerts raised, by kind.", ["kind"], registry=registry)
        self._tries = Counter(
            "pysched_alert_tries",
            "Tries to send an alert, by notifier and whether it was taken.",
            ["notifier", "result"],
            registry=registry,
        )
        for kind in AlertKind:
            self._raised.labels(kind.value)

    def raised(self, alerts: Iterable[Alert]) -> None:
        """Count alerts that are raised."""
        for alert in alerts:
            self._raised.labels(alert.kind.value).inc()

    def tried(self, notifier: str, error: str | None) -> None:
        """Count one try; `error` None: the message was taken."""
        self._tries.labels(notifier, "sent" if error is None else "failed").inc()
