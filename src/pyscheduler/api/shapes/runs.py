"""Runs, their attempts, their logbook, their logs."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from pyscheduler.api.shapes.alerts import Alert
from pyscheduler.api.shapes.base import Listed, Shape
from pyscheduler.model.run import Cause, Outcome, RunState, Trigger


class Run(Shape):
    """One dated occurrence of a job; the last three are of its latest attempt."""

    run_id: str
    job: str
    run_date: date
    seq: int
    scheduled_at: datetime
    state: RunState
    reason: str
    cause: Cause
    attempt: int
    reruns: int
    trigger: Trigger
    config_version: int
    created_at: datetime
    updated_at: datetime
    forced: bool
    held_from: RunState | None
    not_before: datetime | None
    queued_at: datetime | None
    wait_until: datetime | None
    offered_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    duration_seconds: float | None


class Attempt(Shape):
    """One try at a run."""

    run_id: str
    attempt: int
    started_at: datetime
    ended_at: datetime | None
    duration_seconds: float | None
    outcome: Outcome | None
    exit_code: int | None
    signal: int | None
    reason: str
    note: str
    pid: int | None
    kill_by: str | None
    cpu_seconds: float | None
    max_rss_bytes: int | None
    config_version: int
    stdout_path: str
    stderr_path: str
    status_path: str


class Event(Shape):
    """A line of the logbook; `run_id` null means the scheduler as a whole, or a job."""

    at: datetime
    actor: str
    run_id: str | None
    job: str | None
    action: str
    detail: dict[str, Any]


class OneRun(Shape):
    """A run."""

    run: Run


class Triggered(OneRun):
    """A new run; `remark` says what is odd about its run date, empty where nothing is."""

    remark: str


class Runs(Listed):
    """Runs."""

    runs: list[Run]


class Attempts(Listed):
    """Attempts."""

    attempts: list[Attempt]


class Events(Listed):
    """Logbook lines."""

    events: list[Event]


class RunDetail(Shape):
    """A run with all that is known of it; more logbook lines from `next_events_cursor` on (`/api/events?run=`)."""

    run: Run
    attempts: list[Attempt]
    events: list[Event]
    next_events_cursor: str | None
    alerts: list[Alert]


class _Followed(Shape):
    path: str
    size: int
    attempt: int
    latest_attempt: int
    ended: bool
    state: RunState


class LogTail(_Followed):
    """The last lines; `truncated` says that there are more before them, `size` where a follower goes on."""

    lines: list[str]
    truncated: bool


class LogPiece(_Followed):
    """Bytes from `offset` as text; the next page begins at `next_offset`."""

    text: str
    offset: int
    next_offset: int
