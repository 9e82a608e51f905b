"""What this room asks of the process it runs in: the day it is, and a garbage collector at rest."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date


def today_utc() -> date:
    """Return today in UTC (spec: jobs.md 12.2), for a caller that knows no clock and no zone."""
    return date(*time.gmtime()[:3])


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector from walking a growing tree again and again: it holds no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
