"""What the store remembers, for commands that work without a running scheduler. Read-only, beside whoever writes."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyscheduler.config import Config


def typical_durations(config: Config) -> dict[str, float]:
    """Return the seconds each job typically takes, as far as a history says. Raises StoreError.

    The median of the newest ten succeeded attempts (spec: jobs.md 12.1).
    """
    from pyscheduler.store import Peek

    store = Peek.open(config.settings.state_dir)
    if store is None:
        return {}
    with store:
        return {job: median(durations) for job, durations in store.recent_durations_for(config.jobs).items()}
