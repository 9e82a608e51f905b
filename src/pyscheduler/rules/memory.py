"""Which ended runs stay in memory. Spec: seed 000 step 4, jobs.md 8.3.

The window is `memory_days` run dates plus the dependencies' reach: the furthest any `run_date` offset looks back from
today, in calendar days, plus a week of slack for weekends and holidays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Final

from pyscheduler.model.job import Job

SLACK_DAYS: Final = 7

Shift = Callable[[Job, date, int], date | None]
"""Move a date by working days of the job's calendar."""


def reach_days(jobs: Iterable[Job], shift: Shift, today: date) -> int:
    """Return how many calendar days before the window dependencies look; 0 without offsets."""
    furthest = 0
    for job in jobs:
        for edge in job.depends_on:
            if edge.run_date:
                there = shift(job, today, edge.run_date)
                if there is not None:
                    furthest = max(furthest, (today - there).days)
    return furthest + SLACK_DAYS if furthest else 0


def memory_start(today: date, memory_days: int, reach: int) -> date:
    """Return the oldest run date whose ended runs stay in memory."""
    return today - timedelta(days=memory_days - 1 + reach)
