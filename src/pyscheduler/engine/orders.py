"""From a run to the order its attempt is started by: every template rendered, every path absolute. Spec: jobs.md 1.11.

A template that cannot be rendered is a start error of that attempt, never of the scheduler.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyscheduler.config import Config
from pyscheduler.config.templates import Prepared, TemplateError, filled, prepared
from pyscheduler.engine.environment import base_environment, inherited, run_facts
from pyscheduler.engine.ports import AttemptRef, LaunchSpec
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run
from pyscheduler.rules.numbering import Numbering


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt's row as it starts, and what to start; `spec` is None where `error` says why it cannot be."""

    attempt: Attempt
    spec: LaunchSpec | None
    error: str | None = None


class Orders:
    """Makes orders under one configuration. Each template is taken apart once and filled for every attempt."""

    def __init__(
        self,
        config: Config,
        version: int,
        environ: Mapping[str, str],
        boot_id: str,
        numbering: Numbering | None = None,
    ) -> None:
        self._config, self._version, self._boot_id, self._numbering = config, version, boot_id, numbering
        self._base = base_environment(environ, config.withheld)
        self._folder = str(config.path.parent)
        self._status = os.path.join(config.settings.state_dir, "status")
        self._log_dir = str(config.settings.log_dir)
        self._templates: dict[str, Prepared] = {}

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

        def fill(text: str) -> str:
            template = self._templates.get(text)
            if template is None:
                template = self._templates[text] = prepared(text, self._config.variables)
            return filled(template, values)

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
            stdout_path=self._log_path(fill(job.stdout), run),
            stderr_path=None if job.merges_output else self._log_path(fill(job.stderr), run),
            status_path=Path(self._status, f"{run.run_id}.{number}.{key}.json"),
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
            "scheduled_at": run.scheduled_at,
            "log_dir": self._log_dir,
        }

    def _log_path(self, text: str, run: Run) -> Path:
        """Return a log's absolute path: relative ones stand beside the main configuration file (DESIGN 8 row 13)."""
        if self._numbering is not None:
            text = self._numbering.log_name(text, run.created_at)
        return Path(os.path.normpath(os.path.join(self._folder, text)))


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
