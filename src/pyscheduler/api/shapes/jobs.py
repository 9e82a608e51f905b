"""Jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyscheduler.api.shapes.base import Listed, Shape
from pyscheduler.api.shapes.runs import Run


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
