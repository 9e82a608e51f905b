"""What the configuration says: a job and everything it names. Spec: jobs.md 1.6 to 1.10, DESIGN 8.

Durations are in seconds and end in `_s`, sizes in bytes and end in `_bytes`. Template fields (`command`, `cwd`, `env`
values, `stdout`, `stderr`, `watch`) hold the text as typed, `${NAME}` and all: values of the environment enter only
when an attempt's command line is rendered, so no page, log, cache or diff of a job can show one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyscheduler.model.cluster import ClusterSettings

EMPTY: Final[Mapping[str, object]] = MappingProxyType({})


class JobKind(StrEnum):
    """What a run of the job does."""

    COMMAND = "command"
    FILE_WATCHER = "file_watcher"


class Overlap(StrEnum):
    """What a ready run does while another run of its job is active."""

    QUEUE = "queue"
    SKIP = "skip"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """Which missed firings get a run."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"


class RunDateRule(StrEnum):
    """Which date a firing's run is for."""

    SAME_DAY = "same_day"
    PREVIOUS_BUSINESS_DAY = "previous_business_day"


class DependsOn(StrEnum):
    """Which ending of the upstream satisfies the dependency."""

    SUCCESS = "success"
    FAILURE = "failure"
    DONE = "done"


class Criticality(IntEnum):
    """Higher starts first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """The word of the configuration and of every page."""
        return self.name.lower()


class OnUncertain(StrEnum):
    """What an attempt does whose node may have lost its lease: it goes on, or its minder ends it."""

    CONTINUE = "continue"
    STOP = "stop"


class Leftovers(StrEnum):
    """What becomes of processes that outlive a job's normal end."""

    LEAVE = "leave"
    KILL = "kill"


# --------------------------------------------------------------------------- schedules


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch in which a schedule's firings are dropped, in the job's zone.

    Either daily (`start_time`..`end_time`, both inclusive to the minute, over midnight when the end is earlier) or
    dated (`start`..`end`, naive local instants, both inclusive).
    """

    start_time: time | None = None
    end_time: time | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """What every schedule may say beside its own form.

    `start` and `end` bound the landing day, both inclusive. `jitter_s` delays the start, never `scheduled_at`.
    `days` holds weekday numbers (Monday 0), `months` 1 to 12; empty means all.
    """

    start: date | None = None
    end: date | None = None
    jitter_s: int = 0
    exclude: tuple[Window, ...] = ()
    days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSpec(ScheduleSpec):
    """A cron expression of five fields, or six with seconds first, or a macro such as `@daily`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EverySpec(ScheduleSpec):
    """Steps of real elapsed time from the window's opening; without a window anchored at local midnight."""

    every_s: int
    opens: time | None = None
    closes: time | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtSpec(ScheduleSpec):
    """Local times of day."""

    times: tuple[time, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessDaySpec(ScheduleSpec):
    """Local times on the n-th working day of the month; negative n counts from the month's end."""

    nth: int
    times: tuple[time, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceSpec(ScheduleSpec):
    """One local instant, naive, read in the job's zone."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RebootSpec(ScheduleSpec):
    """Once for each boot of the machine, due at boot time; the engine supplies the instant."""


# --------------------------------------------------------------------------- parts of a job


@dataclass(frozen=True, slots=True)
class Dependency:
    """An edge: this job waits for `job`'s run of the date `run_date` working days from its own (0 or negative)."""

    job: str
    on: DependsOn = DependsOn.SUCCESS
    run_date: int = 0


RETRY_ON_DEFAULT: Final = ("failed", "signal", "timeout", "lost", "start_error")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when a run is tried again.

    `on` holds the words of RETRY_ON_DEFAULT and exit codes as numbers; an exit code listed there is retried even
    without the word `failed`. `jitter` is the fraction of the delay that may be added, 0 to 1.
    """

    count: int = 0
    delay_s: float = 60.0
    backoff: float = 2.0
    max_delay_s: float = 600.0
    on: tuple[str | int, ...] = RETRY_ON_DEFAULT
    jitter: float = 0.0

    def delay_for(self, retry: int) -> float:
        """Seconds before the `retry`-th retry (1-based), without jitter: delay * backoff^(n-1), at most max_delay."""
        try:
            return min(self.delay_s * self.backoff ** (retry - 1), self.max_delay_s)
        except OverflowError:
            return self.max_delay_s


@dataclass(frozen=True, slots=True)
class JobAlerts:
    """Which kinds of alert the job raises and who else is told. Words are checked by config.

    `repeat_after_s`: the same trouble is told again only after so long; None tells each time (FC-094).
    """

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    repeat_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where the configuration defines it, 1-based."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job as the configuration defines it, every default filled in.

    `calendar` is the effective name (a dependency-only job inherits its upstreams'), None where every day counts.
    `must_start_by` is a clock time in the job's zone or seconds after `scheduled_at`. `inherit_env` is True (all but
    the withheld variables, DESIGN 8 row 7), False, or the names to hand on. `limits` holds the kernel's numbers, -1 for
    unlimited. `reclaim_after_s` is how long a silent node keeps a started attempt, None: as long as the scheduler says.
    `allow` names the teams whose operators may act on it, empty for all. `inactive` is set where the job
    needs a part of the product that is not active: its runs are blocked with that text.
    """

    name: str
    source: SourceRef
    kind: JobKind = JobKind.COMMAND
    command: str | tuple[str, ...] = ""
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    inherit_env: bool | tuple[str, ...] = True
    schedules: tuple[ScheduleSpec, ...] = ()
    manual: bool = False
    calendar: str | None = None
    timezone: str = "UTC"
    run_date: RunDateRule = RunDateRule.SAME_DAY
    depends_on: tuple[Dependency, ...] = ()
    max_wait_s: float | None = None
    retries: RetryPolicy = RetryPolicy()
    success_codes: frozenset[int] = frozenset({0})
    timeout_s: float | None = None
    kill_grace_s: float = 10.0
    criticality: Criticality = Criticality.NORMAL
    pools: Mapping[str, int] = field(default_factory=dict)
    overlap: Overlap = Overlap.QUEUE
    catch_up: CatchUp = CatchUp.LATEST
    stdout: str = "{log_dir}/{job}/{run_date}/{run_id}.{attempt}.out"
    stderr: str = "{log_dir}/{job}/{run_date}/{run_id}.{attempt}.err"
    max_log_bytes: int | None = None
    leftovers: Leftovers = Leftovers.LEAVE
    user: str | None = None
    umask: int | None = None
    nice: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    min_runtime_s: float | None = None
    max_runtime_s: float | None = None
    must_start_by: time | float | None = None
    max_silence_s: float | None = None
    alerts: JobAlerts = JobAlerts()
    node: str | None = None
    node_tags: tuple[str, ...] = ()
    on_lost: str | None = None
    reclaim_after_s: float | None = None
    on_uncertain: OnUncertain = OnUncertain.CONTINUE
    agent: str | None = None
    agent_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    owner: str = ""
    allow: tuple[str, ...] = ()
    enabled: bool = True
    require_reason: bool = False
    watch: str | None = None
    min_age_s: float = 30.0
    poll_s: float = 10.0
    give_up_after_s: float = 86400.0
    inactive: str | None = None

    @property
    def merges_output(self) -> bool:
        """Whether stderr goes into the stdout file."""
        return self.stderr == "stdout"

    @property
    def dependency_only(self) -> bool:
        """Whether its runs are created by its upstreams' runs (spec 4.5)."""
        return not self.schedules and not self.manual and bool(self.depends_on)


# --------------------------------------------------------------------------- the whole configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarSpec:
    """A business calendar with every source already resolved to dates (spec 1.7, DESIGN 8 row 15).

    `holidays` includes those of included calendars, of a country and of ICS files, as snapshot when loading.
    `ends` is the last date for which the sources speak (None: for ever); 60 days before it a warning is due.
    """

    name: str
    weekdays: frozenset[int] = frozenset({0, 1, 2, 3, 4})
    holidays: frozenset[date] = frozenset()
    extra_days: frozenset[date] = frozenset()
    ends: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The `scheduler:` section with its defaults (spec 1.6, DESIGN 3 and 8). Paths are absolute.

    `store` and `heartbeat_url` may hold a secret, so a repr does not show them. `listen` is None where it is off; an
    address that nobody wrote may turn out to be taken, one that was written may not.
    """

    state_dir: Path
    log_dir: Path
    name: str = "pysched"
    timezone: str = "UTC"
    max_running: int = 32
    listen: str | None = "127.0.0.1:8470"
    listen_is_given: bool = False
    api_tokens_file: Path | None = None
    users_file: Path | None = None
    store: str | None = field(default=None, repr=False)
    kill_grace_s: float = 10.0
    retention_s: float = 90 * 86400.0
    log_retention_s: float | None = None
    audit_retention_s: float = 365 * 86400.0
    memory_days: int = 7
    memory_runs: int = 100_000
    watch_limit: int = 8
    pool_patience_s: float = 600.0
    secure_cookies: bool | None = None
    heartbeat_url: str | None = field(default=None, repr=False)
    cron_star: str = "lone"
    leftovers: Leftovers = Leftovers.LEAVE
    cluster: ClusterSettings = field(default_factory=ClusterSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSource:
    """One loaded file: the path as shown to people and the text as typed."""

    path: str
    text: str
