"""What of a forecast has come true already: a run that has begun is not promised again.

A forecast is worked out from a configuration alone; what the store remembers may be ahead of it, where an upstream was
triggered by hand or took less than it does on most days. Reads only, and blocks: for a helper thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.engine.book import DAY_TRIGGERS
from pyscheduler.store.reads import Reads
from pyscheduler.timetable.forecast import ForecastEntry

AHEAD: Final = timedelta(days=31)
"""How far ahead of today a run date is looked for among the runs there are."""


def still_to_come(entries: Iterable[ForecastEntry], store: Reads, now: datetime) -> list[ForecastEntry]:
    """Return the entries without those that are promised after `now` (aware) and have begun or ended before it.

    Only runs that follow others are looked at: a schedule's firing to come has no run yet, whatever else its date has.
    Raises StoreError.
    """
    found = list(entries)
    last = (now + AHEAD).date()
    doubtful = {
        (entry.job, entry.run_date)
        for entry in found
        if entry.via is not None and entry.expected_start > now and entry.run_date <= last
    }
    runs, _ = store.runs_of_days(doubtful)
    begun = {
        (run.job, run.run_date) for run in runs if run.trigger in DAY_TRIGGERS and (run.is_final or not run.is_fresh)
    }
    begun &= doubtful
    return [entry for entry in found if entry.expected_start <= now or (entry.job, entry.run_date) not in begun]
