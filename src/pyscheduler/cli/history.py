"""What the store remembers, for commands that work without a running scheduler. Read-only, beside whoever writes."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pyscheduler.config import Config
    from pyscheduler.timetable import ForecastEntry


def typical_durations(config: Config) -> dict[str, float]:
    """Return the seconds each job typically takes, as far as a history says. Raises StoreError.

    The median of the newest ten succeeded attempts (spec: jobs.md 12.1).
    """
    from pyscheduler.store import Peek

    store = Peek.open(config.settings.state_dir, url=config.settings.store)
    if store is None:
        return {}
    with store:
        return {job: median(durations) for job, durations in store.recent_durations_for(config.jobs).items()}


def not_begun(config: Config, entries: list[ForecastEntry], now: datetime) -> list[ForecastEntry]:
    """Return the expected runs without those that the history says have begun; one that cannot be read says nothing."""
    from pyscheduler.engine.foresight import still_to_come
    from pyscheduler.errors import StoreError
    from pyscheduler.store import Peek

    try:
        store = Peek.open(config.settings.state_dir, url=config.settings.store)
        if store is None:
            return entries
        with store:
            return still_to_come(entries, store, now)
    except StoreError:
        return entries
