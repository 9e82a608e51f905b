"""An instant a schedule names, with the date its run is for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True, order=True)
class Firing:
    """`scheduled_at` is the nominal instant, aware UTC. `jitter_s` delays the start only."""

    scheduled_at: datetime
    run_date: date
    jitter_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Missed:
    """What happened in a window without us: how many firings, the first, the last, and the newest few."""

    count: int
    first: Firing | None
    last: Firing | None
    newest: tuple[Firing, ...]
