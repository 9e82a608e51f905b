"""What the claims' statements take and give. All instants come from the database's clock, as aware UTC datetimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from pyscheduler.model.lease import Identity, OnLost
from pyscheduler.model.run import Outcome, RunState, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a heartbeat brings back: which of the own runs are to be stopped, and whether anything new may begin."""

    cancel_requested: frozenset[str] = frozenset()
    stopping: bool = False
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A run that is ours to start. `token` is odd, and proves it.

    `attempt` is the number of the run's latest attempt as its row has it, 0 before the first.
    """

    run_id: str
    token: int
    job: str
    run_date: date
    scheduled_at: datetime
    trigger: Trigger
    attempt: int
    config_version: int
    claimed_at: datetime
    on_lost: OnLost = OnLost.ENGINE
    node: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One claimed run that is about to be started: the attempt's row as S3 writes it. `attempt` is its number."""

    run_id: str
    token: int
    attempt: int
    key: str
    config_version: int = 1
    boot_id: str = ""
    stdout_path: str = ""
    stderr_path: str = ""
    status_path: str = ""
    note: str = ""


class Applied(StrEnum):
    """What became of a report.

    YES: it is the attempt's end. AGAIN: it was stored before (an acknowledgement that was lost, a journal replayed).
    SUPERSEDED: the attempt had been revoked; the report is kept in the logbook and changes nothing. UNKNOWN: there is
    no such attempt in this store, and nothing was written.
    """

    YES = "yes"
    AGAIN = "again"
    SUPERSEDED = "superseded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a started attempt ended, and what its run is to become.

    `to` is the run's next state (succeeded, failed, cancelled, retry_wait), or None where the authority's engine
    decides: the run then stays `running` and nobody's. `retry_after_s` counts from the report, for retry_wait.
    `ended_ago_s` is how long before the report it ended, on the reporter's boot clock: host clocks are never compared.
    """

    run_id: str
    token: int
    outcome: Outcome
    to: RunState | None = None
    run_reason: str = ""
    retry_after_s: float = 0.0
    ended_ago_s: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    pid: int | None = None
    kill_by: str | None = None
    cpu_s: float | None = None
    max_rss_bytes: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A run with the token that it is held by."""

    run_id: str
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A run that belongs to an incarnation: `started` tells a running one from one only claimed.

    `attempt`, `key` and the paths are those of the started attempt; empty for a claim. `reclaim_after_s` is the
    run's own window, 0 where the scheduler's counts.
    """

    run_id: str
    token: int
    inc_id: str
    started: bool
    cancel_requested: bool
    job: str
    attempt: int
    config_version: int
    key: str = ""
    boot_id: str = ""
    stdout_path: str = ""
    stderr_path: str = ""
    status_path: str = ""
    started_at: datetime | None = None
    on_lost: OnLost = OnLost.ENGINE
    reclaim_after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """What S7b did. `done` False: nobody was fenced, and `why` says what was lacking, for people.

    By the window an incarnation may lose runs whose own window has passed without being fenced: they are in `running`.

    The lists hold run ids: claims that are offered again, started attempts that were revoked, and runs that had been
    cancelled while they were owned. DESIGN 6: a revoked attempt is `lost`; what its run becomes, its rules say.
    """

    done: bool
    why: str = ""
    claimed: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class Cancelled(StrEnum):
    """What a request to cancel a run has led to."""

    CANCELLED = "cancelled"
    """It had not started, and is over."""
    REQUESTED = "requested"
    """Its owner has been asked to stop it; the next heartbeat brings the word."""
    FINAL = "final"
    """It is over already."""
    ENGINE = "engine"
    """Nobody owns it, and the authority's engine decides about it: nothing was changed."""
    NOT_RUNNING = "not running"
    """It has not started, and only a run that has was to be stopped: nothing was changed."""
    UNKNOWN = "unknown"
    """There is no such run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One run to be made (S12): the job's firing, as `tick` and `work` make it. Due at once.

    `state` is QUEUED, or a final one for an occurrence that is only written down (skipped, cancelled).
    `reclaim_after_s` is how long a silent owner keeps it once it has started, 0 as long as the scheduler says.
    """

    job: str
    run_date: date
    scheduled_at: datetime
    trigger: Trigger = Trigger.SCHEDULE
    config_version: int = 1
    on_lost: OnLost = OnLost.RERUN
    state: RunState = RunState.QUEUED
    reason: str = ""
    node: str = ""
    tags: tuple[str, ...] = ()
    reclaim_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Watermark:
    """Up to when a job's firings have been made into runs: from `was` (None: never yet) to `becomes`."""

    job: str
    was: datetime | None
    becomes: datetime


@dataclass(frozen=True, slots=True)
class Marks:
    """Up to when firings have been looked after: by `tick` and `work` for each job, by `serve` for all jobs at once.

    `pruned`: the pass that last removed what was old enough.
    """

    stored: Mapping[str, datetime]
    served: datetime | None
    pruned: datetime | None

    def until(self, job: str) -> datetime | None:
        """Return up to when a job's firings are settled; None where `tick` and `work` have never looked at it.

        What serve has looked after is not made again: its runs may be pruned by now, its config may have dropped some.
        """
        mark = self.stored.get(job)
        return mark if mark is None or self.served is None else max(mark, self.served)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A queued run that any node with room may start now; `node` and `tags` narrow which."""

    run_id: str
    node: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One incarnation as the store knows it, at the instant `now` of the database's clock."""

    inc_id: str
    node: str
    tags: tuple[str, ...]
    capacity: int
    address: str
    host_id: str
    boot_id: str
    pid_ns: str
    pid: int | None
    start_ticks: int | None
    state_dir: str
    started_at: datetime
    renewed_at: datetime
    lease_until: datetime
    hb_seq: int
    stopping: bool
    draining: bool
    fenced_at: datetime | None
    fence_reason: str
    is_authority: bool
    claimed: int
    """Runs claimed and not started yet."""
    running: int
    now: datetime

    @property
    def identity(self) -> Identity:
        """Return who it is, as `rules.proof` judges it."""
        return Identity(
            inc_id=self.inc_id,
            host_id=self.host_id,
            boot_id=self.boot_id,
            pid_ns=self.pid_ns,
            pid=self.pid,
            start_ticks=self.start_ticks,
            state_dir=self.state_dir,
            node=self.node,
            tags=self.tags,
            capacity=self.capacity,
            address=self.address,
        )

    @property
    def lives(self) -> bool:
        """Whether its lease holds: neither fenced nor over."""
        return self.fenced_at is None and self.lease_until > self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityRow:
    """The authority's lease, at the instant `now` of the database's clock; `holder` None before the first.

    `config_version` is the store's latest configuration, which is the one in force; 0 before the first.
    """

    epoch: int
    holder: str | None
    hb_seq: int
    renewed_at: datetime | None
    lease_until: datetime | None
    released: bool
    address: str
    node: str
    now: datetime
    config_version: int = 0

    @classmethod
    def nobody(cls, now: datetime) -> AuthorityRow:
        """Return what is so before the first registration."""
        return cls(
            epoch=0,
            holder=None,
            hb_seq=0,
            renewed_at=None,
            lease_until=None,
            released=True,
            address="",
            node="",
            now=now,
        )

    @property
    def is_free(self) -> bool:
        """Whether it may be taken without having been watched: resigned, or never held."""
        return self.released or self.holder is None

    @property
    def is_over(self) -> bool:
        """Whether its time has run out."""
        return self.is_free or self.lease_until is None or self.lease_until < self.now

    @property
    def left_s(self) -> float:
        """How many seconds of its time are left, 0 where none are."""
        if self.is_over or self.lease_until is None:
            return 0.0
        return (self.lease_until - self.now).total_seconds()
