"""What the store remembers: runs, attempts, logbook lines. Spec: jobs.md 3.

All instants are aware UTC datetimes; `run_date` is the business day a run is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """Where a run stands. Printing a state prints its word."""

    SCHEDULED = "scheduled"
    WAITING = "waiting"
    BLOCKED = "blocked"
    QUEUED = "queued"
    RUNNING = "running"
    RETRY_WAIT = "retry_wait"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


FINAL_STATES: Final = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED})
OPEN_STATES: Final = frozenset(RunState) - FINAL_STATES
ACTIVE_STATES: Final = frozenset({RunState.QUEUED, RunState.RUNNING})
"""What the overlap rule counts as another run still going."""
UNDECIDED_STATES: Final = frozenset({RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED})
"""What is decided anew whenever something around it changes."""


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    KILLED = "killed"
    LOST = "lost"
    START_ERROR = "start_error"


class Trigger(StrEnum):
    """What created a run."""

    SCHEDULE = "schedule"
    DEPENDENCY = "dependency"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CATCH_UP = "catch_up"


class Cause(StrEnum):
    """What put a run where it is, where rules must tell one way from another; else NONE.

    DEPENDENCY: a verdict about an upstream. OVERLAP: another run of the job. PATIENCE: `max_wait` was over.
    HAND: an operator. CONFIG: a reload or a job that is gone.
    """

    NONE = ""
    DEPENDENCY = "dependency"
    OVERLAP = "overlap"
    PATIENCE = "patience"
    HAND = "hand"
    CONFIG = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One dated occurrence of a job.

    `attempt` is the number of the latest attempt, 0 before the first. `attempt_base` is what it was when the run was
    last rerun, so `attempt - attempt_base` tries of the present budget are spent; `reruns` counts the reruns.
    `not_before` is the earliest start (jitter; in retry_wait the instant of the next try). `queued_at` is when it
    became ready: patience and order count from it. `forced` keeps a forced start's place at the head of the line.
    `held_from` is set while held. `wait_until` is the instant at which `max_wait` is over, None without one.
    `offered_at` is set while a queued run has its slot and nodes may claim it (DESIGN 6); None in a store of one
    scheduler.
    """

    run_id: str
    job: str
    run_date: date
    seq: int
    scheduled_at: datetime
    trigger: Trigger
    created_at: datetime
    updated_at: datetime
    state: RunState = RunState.SCHEDULED
    reason: str = ""
    cause: Cause = Cause.NONE
    attempt: int = 0
    attempt_base: int = 0
    reruns: int = 0
    config_version: int = 1
    forced: bool = False
    held_from: RunState | None = None
    not_before: datetime | None = None
    queued_at: datetime | None = None
    wait_until: datetime | None = None
    offered_at: datetime | None = None

    @property
    def is_final(self) -> bool:
        """Whether only a hand can still change it."""
        return self.state in FINAL_STATES

    @property
    def holds_slot(self) -> bool:
        """Whether a slot and its pools are taken for it: it runs, or it is offered to those who run attempts."""
        return self.state is RunState.RUNNING or self.offered_at is not None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing of it was ever started."""
        return self.attempt == 0

    @property
    def tries(self) -> int:
        """Attempts spent of the present retry budget."""
        return self.attempt - self.attempt_base


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a run, under one minder.

    `key` is random and names this attempt in files and in the job's environment. `boot_id` is the machine's boot at
    the start's commit; `pid` the minder's, once known. `kill_by` is set once an operator's kill is in the logbook.
    `outcome` is None while it runs. `cpu_s` and `max_rss_bytes` are the job's own, None where unknown.
    """

    run_id: str
    attempt: int
    key: str
    started_at: datetime
    config_version: int = 1
    boot_id: str = ""
    pid: int | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    outcome: Outcome | None = None
    reason: str = ""
    stdout_path: str = ""
    stderr_path: str = ""
    status_path: str = ""
    kill_by: str | None = None
    cpu_s: float | None = None
    max_rss_bytes: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogbookLine:
    """One line of the logbook: who did what to which run. `run_id` None means the scheduler as a whole."""

    at: datetime
    actor: str
    action: str
    run_id: str | None = None
    job: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    id: int | None = None
