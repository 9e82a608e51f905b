"""What is to come, and why not yet."""

from __future__ import annotations

from datetime import date, datetime

from pyscheduler.api.shapes.base import Listed, Shape
from pyscheduler.api.shapes.jobs import Pause
from pyscheduler.api.shapes.runs import Run
from pyscheduler.rules.why import Culprit


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


class NextOfJob(Shape):
    """A job with its next firing; none where it has no schedule, is disabled, or its schedules are over."""

    job: str
    timezone: str
    enabled: bool
    paused: Pause | None
    schedules: list[str]
    depends_on: list[str]
    firings: list[Firing]


class NextOfAll(Listed):
    """Jobs by name, each with its next firing."""

    jobs: list[NextOfJob]


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
    next_firing: datetime | None
