"""The form of every answer, for the API's description and for the tests that hold the answers to it.

Answers are made as plain dicts and not checked again when they are sent: a conformance test reads each through its
shape here, which knows no field more and none less. Spec: jobs.md 13.5.
"""

from __future__ import annotations

from pyscheduler.api.shapes.base import REFUSALS, BadRequestRefusal, ConfigProblem, Listed, Refusal, Shape
from pyscheduler.api.shapes.coming import Answer, Firing, Firings, Forecast, ForecastEntry, Why
from pyscheduler.api.shapes.deeds import Bulk, BulkResult, Preview, PreviewEffect, PreviewResult
from pyscheduler.api.shapes.jobs import Job, JobDetail, Jobs, OneJob, Pause
from pyscheduler.api.shapes.runs import (
    Attempt,
    Attempts,
    Event,
    Events,
    LogPiece,
    LogTail,
    OneRun,
    Run,
    RunDetail,
    Runs,
    Triggered,
)
from pyscheduler.api.shapes.scheduler import (
    Between,
    CatchUp,
    CaughtUp,
    ConfigState,
    Diff,
    EngineState,
    Failed,
    FiringChange,
    Health,
    LateFiring,
    Paused,
    Pool,
    PoolHolder,
    Reload,
    ReloadFailure,
    Scheduler,
    Slots,
    Validation,
)

__all__ = [
    "REFUSALS",
    "Answer",
    "Attempt",
    "Attempts",
    "BadRequestRefusal",
    "Between",
    "Bulk",
    "BulkResult",
    "CatchUp",
    "CaughtUp",
    "ConfigProblem",
    "ConfigState",
    "Diff",
    "EngineState",
    "Event",
    "Events",
    "Failed",
    "Firing",
    "FiringChange",
    "Firings",
    "Forecast",
    "ForecastEntry",
    "Health",
    "Job",
    "JobDetail",
    "Jobs",
    "LateFiring",
    "Listed",
    "LogPiece",
    "LogTail",
    "OneJob",
    "OneRun",
    "Pause",
    "Paused",
    "Pool",
    "PoolHolder",
    "Preview",
    "PreviewEffect",
    "PreviewResult",
    "Refusal",
    "Reload",
    "ReloadFailure",
    "Run",
    "RunDetail",
    "Runs",
    "Scheduler",
    "Shape",
    "Slots",
    "Triggered",
    "Validation",
    "Why",
]
