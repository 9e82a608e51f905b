"""What this room asks of the process it runs in: the day it is."""

from __future__ import annotations

import time
from datetime import date


def today_utc() -> date:
    """Return today in UTC (spec: jobs.md 12.2), for a caller that knows no clock and no zone."""
    return date(*time.gmtime()[:3])
