"""The form of every answer, for the API's description and for the tests that hold the answers to it.

Answers are made as plain dicts and not checked again when they are sent: a conformance test reads each through its
shape here, which knows no field more and none less. Spec: jobs.md 13.5.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from pyscheduler.model.run import Cause, Outcome, RunState, Trigger
from pyscheduler.rules.why import Culprit


class Shape(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Refusal(BaseModel):
    """Why nothing was done, and how to mend it."""

    error: str
    mend: str = ""
    where: str = ""


class ConfigProblem(Shape):
    """One complaint about the configuration; line and column are 1-based, 0 means the file as a whole."""

    file: str
    line: int
    column: int
    message: str
    mend: str
    job: str | None
    severity: str


class BadRequestRefusal(Refusal):
    """The request makes no sense; or the configuration is faulty, and `problems` holds every complaint."""

    problems: list[ConfigProblem] = []


REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": BadRequestRefusal},
    403: {"model": Refusal},
    404: {"model": Refusal},
    409: {"model": Refusal},
    503: {"model": Refusal},
}


class Listed(Shape):
    """A page of a list; `next_cursor` is null at the end, and only there."""

    next_cursor: str | None


# --------------------------------------------------------------------------- runs


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
    alerts: list[dict[str, Any]]


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


# --------------------------------------------------------------------------- jobs


class Pause(Shape):
    """A pause; `job` null means everything."""

    job: str | None
    by: str
    since: datetime
    reason: str


class Job(Shape):
    """A job in short."""

    name: str
    description: str
    owner: str
    tags: list[str]
    criticality: str
    enabled: bool
    inactive: str | None
    paused: Pause | None
    calendar: str | None
    timezone: str
    schedules: list[str]
    depends_on: list[str]
    next_firing: datetime | None


class OneJob(Shape):
    """A job."""

    job: Job


class Jobs(Listed):
    """Jobs, by name."""

    jobs: list[Job]


class JobDetail(Job):
    """A job with its definition: all keys with their defaults, values of `env` hidden."""

    definition: dict[str, Any]
    next_firings: list[datetime]
    recent_runs: list[Run]


# --------------------------------------------------------------------------- what is to come, and why


class ForecastEntry(Shape):
    """A run that is expected; `via` is the upstream that decides when."""

    job: str
    run_date: date
    expected_start: datetime
    expected_duration_seconds: float | None
    expected_end: datetime
    via: str | None


class Forecast(Listed):
    """What is expected, by start."""

    entries: list[ForecastEntry]


class Firing(Shape):
    """A coming firing; `rule` says what a clock change does to it, empty where nothing."""

    scheduled_at: datetime
    local: str
    run_date: date
    jitter_seconds: float
    rule: str


class Firings(Listed):
    """A job's coming firings."""

    firings: list[Firing]
    job: str
    timezone: str
    enabled: bool
    paused: Pause | None


class Answer(Shape):
    """One culprit, what it is, what would release the run; `because` answers for the run to blame."""

    job: str
    run_date: date
    culprit: Culprit
    text: str
    release: str
    run: Run | None
    because: Answer | None


class Why(Shape):
    """An answer, and when the job fires next."""

    why: Answer
    next_firing: str | None


# --------------------------------------------------------------------------- the scheduler


class Health(Shape):
    """The engine runs."""

    status: str
    timezone: str
    today: date


class Failed(Shape):
    """The engine has failed stop; another try is made by itself."""

    status: str
    error: str
    since: datetime
    failures: int


class Paused(Shape):
    """The pauses in force."""

    pauses: list[Pause]


class ReloadFailure(Shape):
    """The last reload failed: the configuration before it is still in force."""

    at: datetime
    actor: str
    problems: list[ConfigProblem]


class ConfigState(Shape):
    """The configuration in force."""

    path: str
    version: int
    digest: str
    jobs: int
    warnings: list[ConfigProblem]
    reload_failure: ReloadFailure | None


class EngineState(Shape):
    """The engine; `failures` counts how often one has failed or could not start since the service began."""

    phase: str
    since: datetime
    last_trouble: str
    failures: int
    generation: str | None
    commits: int


class Between(Shape):
    """A stretch of time."""

    since: datetime
    until: datetime


class Slots(Shape):
    """`max_running` and who holds a slot."""

    size: int
    in_use: int
    holders: list[str]


class PoolHolder(Shape):
    """A run, and how many slots of the pool it holds."""

    run_id: str
    slots: int


class Pool(Shape):
    """A pool."""

    name: str
    size: int
    in_use: int
    holders: list[PoolHolder]


class Scheduler(Shape):
    """Everything about the scheduler itself."""

    name: str
    version: str
    tzdata_version: str
    timezone: str
    today: date
    now: datetime
    config: ConfigState
    engine: EngineState
    last_tick: datetime
    next_firing: datetime | None
    pauses: list[Pause]
    catch_up_held: Between | None
    slots: Slots
    pools: list[Pool]
    queued: int
    open_runs: int
    state_dir: str
    log_dir: str
    remarks: list[str]
    strangers: list[str]


class LateFiring(Shape):
    """A missed firing that gets a run."""

    scheduled_at: datetime
    run_date: date


class CaughtUp(Shape):
    """What becomes of one job's missed firings."""

    job: str
    run: list[LateFiring]
    dropped: int
    first_dropped: datetime | None
    last_dropped: datetime | None


class CatchUp(Shape):
    """A held catch-up, or none."""

    held: bool
    since: datetime | None
    until: datetime | None
    jobs: list[CaughtUp]


# --------------------------------------------------------------------------- the configuration


class Validation(Shape):
    """The files' present text may be used."""

    ok: bool
    warnings: list[ConfigProblem]


class Reload(Validation):
    """It is in force; `changed` is false where it was before."""

    changed: bool
    version: int


class FiringChange(Shape):
    """One expected run, or one wait, that the change adds, loses or moves."""

    kind: str
    job: str
    text: str
    run_date: date | None
    before: datetime | None
    after: datetime | None


class Diff(Shape):
    """What differs between what is in force and the files' present text."""

    same: bool
    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    settings: dict[str, list[str | None]]
    pools: dict[str, list[int | None]]
    calendars: list[str]
    firings: list[FiringChange]
