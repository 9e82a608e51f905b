"""Which jobs of a configuration `tick` and `work` can run, and which keys they do not honour. Pure.

What must always hold: nothing is narrowed in silence. A job that says something `tick` and `work` do not do is refused
by name, with its place; `pysched serve` does all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyscheduler.config import Config
from pyscheduler.errors import ConfigError
from pyscheduler.model.job import CatchUp, Job, JobAlerts, JobKind, RebootSpec
from pyscheduler.model.problem import Problem

SERVE = "run it with `pysched serve`, or leave the key out"


def check_jobs(config: Config) -> None:
    """Raise ConfigError with a problem for each key of each enabled job that is not honoured."""
    problems = [problem for job in config.jobs.values() if job.enabled for problem in _problems(job)]
    if problems:
        raise ConfigError(problems)


def remarks(config: Config) -> Iterator[str]:
    """Yield what the configuration as a whole asks for and `tick` and `work` do not do."""
    if config.notifiers or config.routes:
        yield "alerts are sent by `pysched serve` alone: tick and work tell nobody but their log and their exit code"
    if config.settings.heartbeat_url is not None:
        yield "scheduler.heartbeat_url is called by `pysched serve` alone"
    if config.settings.log_retention_s is not None:
        yield "scheduler.log_retention: the output of jobs is removed by `pysched serve` alone"


def _problems(job: Job) -> Iterator[Problem]:
    for key in _keys(job):
        what = f"tick and work do not honour {key}"
        yield Problem(job.source.file, job.source.line, job.source.column, what, mend=SERVE, job=job.name)


def _keys(job: Job) -> Iterator[str]:
    """Yield the keys of a job that `tick` and `work` do not honour, as the configuration writes them."""
    if job.kind is JobKind.FILE_WATCHER:
        yield "type: file_watcher"
    if job.depends_on:
        yield "depends_on"
    if job.pools:
        yield "pools"
    if job.agent or job.agent_tags:
        yield "agent and agent_tags"
    if job.catch_up is CatchUp.NONE:
        yield "catch_up: none"
    yield from _of_schedules(job)
    yield from _of_deadlines(job)


def _of_schedules(job: Job) -> Iterator[str]:
    if any(isinstance(spec, RebootSpec) for spec in job.schedules):
        yield "schedule: @reboot"
    if any(spec.jitter_s for spec in job.schedules):
        yield "jitter"


def _of_deadlines(job: Job) -> Iterator[str]:
    for key in ("max_wait", "min_runtime", "max_runtime", "max_silence"):
        if getattr(job, f"{key}_s") is not None:
            yield key
    if job.must_start_by is not None:
        yield "must_start_by"
    if job.alerts != JobAlerts():
        yield "alerts"
