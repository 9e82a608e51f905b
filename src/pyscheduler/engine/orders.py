"""From a run to the order its attempt is started by: every template rendered, every path absolute. Spec: jobs.md 1.11.

A template that cannot be rendered is a start error of that attempt (`BadOrder`), never of the scheduler.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyscheduler.config import Config
from pyscheduler.config.templates import TemplateError, render
from pyscheduler.engine.environment import base_environment, inherited, run_facts
from pyscheduler.engine.ports import AttemptRef, LaunchSpec
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run


class BadOrder(ValueError):
    """A template of the job cannot be rendered for this run."""


class Instant(datetime):
    """A UTC instant that prints as the spec has it when no format is given: `2027-05-20T04:05:00Z`."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec or "%Y-%m-%dT%H:%M:%SZ")

    @classmethod
    def of(cls, instant: datetime) -> Instant:
        """Return the instant in UTC."""
        utc = instant.astimezone(UTC)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt's row as it starts, and what to start; `spec` is None where `error` says why it cannot be."""

    attempt: Attempt
    spec: LaunchSpec | None
    error: str | None = None


class Orders:
    """Makes orders under one configuration."""

    def __init__(self, config: Config, version: int, environ: Mapping[str, str], boot_id: str) -> None:
        self._config, self._version, self._boot_id = config, version, boot_id
        self._base = base_environment(environ, config.withheld)
        self._folder = config.path.parent

    def order(self, run: Run, job: Job, number: int, key: str, now: datetime) -> Order:
        """Return the order for attempt `number` of a run."""
        try:
            spec = self._spec(run, job, number, key)
        except (TemplateError, ValueError) as error:
            return Order(self._attempt(run, number, key, now, None), None, f"bad template: {error}")
        return Order(self._attempt(run, number, key, now, spec), spec)

    def _attempt(self, run: Run, number: int, key: str, now: datetime, spec: LaunchSpec | None) -> Attempt:
        return Attempt(
            run_id=run.run_id,
            attempt=number,
            key=key,
            started_at=now,
            config_version=self._version,
            boot_id=self._boot_id,
            stdout_path=str(spec.stdout_path) if spec else "",
            stderr_path=str(spec.stderr_path or spec.stdout_path) if spec else "",
            status_path=str(spec.status_path) if spec else "",
        )

    def _spec(self, run: Run, job: Job, number: int, key: str) -> LaunchSpec:
        values = self._values(run, number)
        variables = self._config.variables

        def fill(text: str) -> str:
            return render(text, values, variables)

        argv = ("/bin/sh", "-c", fill(job.command)) if isinstance(job.command, str) else tuple(map(fill, job.command))
        env = inherited(self._base, job)
        env.update((name, fill(text)) for name, text in job.env.items())
        env.update(run_facts(run, job, number))
        return LaunchSpec(
            run_id=run.run_id,
            attempt=number,
            key=key,
            argv=argv,
            env=env,
            cwd=os.path.abspath(fill(job.cwd)) if job.cwd is not None else None,
            stdout_path=self._log_path(fill(job.stdout)),
            stderr_path=None if job.merges_output else self._log_path(fill(job.stderr)),
            status_path=status_path(self._config.settings.state_dir, run.run_id, number, key),
            timeout_s=job.timeout_s,
            kill_grace_s=job.kill_grace_s,
            leftovers=job.leftovers.value,
            max_log_bytes=job.max_log_bytes,
            user=job.user,
            umask=job.umask,
            nice=job.nice,
            limits=job.limits,
        )

    def _values(self, run: Run, number: int) -> dict[str, object]:
        return {
            "job": run.job,
            "run_date": run.run_date,
            "run_id": run.run_id,
            "attempt": number,
            "scheduled_at": Instant.of(run.scheduled_at),
            "log_dir": str(self._config.settings.log_dir),
        }

    def _log_path(self, text: str) -> Path:
        """Return a log's absolute path: relative ones stand beside the main configuration file (DESIGN 8 row 13)."""
        return Path(os.path.abspath(self._folder / text))


def status_path(state_dir: Path, run_id: str, number: int, key: str) -> Path:
    """Return where an attempt's note is written."""
    return state_dir / "status" / f"{run_id}.{number}.{key}.json"


def ref_of(attempt: Attempt, job: Job | None, *, store_is_older: bool = False) -> AttemptRef:
    """Return what a launcher needs to look for an attempt again."""
    return AttemptRef(
        run_id=attempt.run_id,
        attempt=attempt.attempt,
        key=attempt.key,
        status_path=Path(attempt.status_path),
        boot_id=attempt.boot_id,
        started_at=attempt.started_at,
        pid=attempt.pid,
        store_is_older=store_is_older,
        timeout_s=job.timeout_s if job else None,
        kill_grace_s=job.kill_grace_s if job else 10.0,
    )
