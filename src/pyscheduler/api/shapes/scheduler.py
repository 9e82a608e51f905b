"""The scheduler as a whole, and its configuration."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pyscheduler.api.shapes.base import ConfigProblem, Shape
from pyscheduler.api.shapes.jobs import Pause


class Health(Shape):
    """The engine runs."""

    status: str
    timezone: str
    today: date


class Alive(Shape):
    """The process lives."""

    status: Literal["alive"]


class Ready(Shape):
    """Actions are taken."""

    status: Literal["ready"]


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
    next_firing_jobs: list[str]
    pauses: list[Pause]
    catch_up_held: Between | None
    slots: Slots
    pools: list[Pool]
    queued: int
    open_runs: int
    listen: str | None
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


class Validation(Shape):
    """The files' present text may be used."""

    ok: bool
    warnings: list[ConfigProblem]


class Reload(Validation):
    """It is in force; `changed` is false where it was before. `cancelled` are the ids of runs it called off."""

    changed: bool
    version: int
    cancelled: list[str]


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
