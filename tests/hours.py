"""Hours that a test on the real clock keeps clear of: past midnight, what ran today ran yesterday."""

from __future__ import annotations

import time as process_time
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pyscheduler.engine.clock import SystemClock

CLEAR_S = 80.0
"""How much time there is before such a moment for who was let begin. A wait for it fits into a test's own limit."""
MIDNIGHT = time(0)
NIGHTLY = time(2, 30)
"""When the jobs called `nightly` fire."""


def today(zone: str) -> date:
    """Return today in a zone."""
    return SystemClock().now().astimezone(ZoneInfo(zone)).date()


def clear_of(*moments: time, zone: str) -> None:
    """Return at once, or, where one of these times of day is near, when it is over."""
    for moment in moments:
        left_s = _left_s(moment, zone)
        if left_s < CLEAR_S:
            process_time.sleep(left_s + 1.0)


def _left_s(moment: time, zone: str) -> float:
    """Return for how many seconds it is not that time yet, today or tomorrow."""
    now = SystemClock().now().astimezone(ZoneInfo(zone))
    days = (now.date() + timedelta(days=more) for more in (0, 1))
    left = (datetime.combine(day, moment, now.tzinfo).timestamp() - now.timestamp() for day in days)
    return min(each for each in left if each > 0)
