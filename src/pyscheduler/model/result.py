"""How an attempt ended, as its guardian wrote it down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The end of an attempt.

    `note` is what an operator should know that the other fields do not say.
    `stopped_by` is `timeout`, `kill`, `lease` or None; the exit code stands beside it. `lost` is the reason where
    nobody can know the end any more. `survivors` are processes that would not die, `leftovers` those a normal end
    left alone. `cpu_s` and `max_rss_bytes` are the job's own.
    """

    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    start_error: str | None = None
    stopped_by: str | None = None
    lost: str | None = None
    survivors: tuple[int, ...] = ()
    leftovers: tuple[int, ...] = ()
    cpu_s: float | None = None
    max_rss_bytes: int | None = None
    note: str = ""
