"""From a claim to what is started: a Python task's or a configured job's attempt, rendered. DESIGN 6, jobs.md 1.11.

What must always hold: rendering starts nothing (a callable's holder waits at its gate); what cannot be rendered is an
error of that attempt alone. A Python task's command, folder and environment are taken as they stand: only a
configuration's texts are templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Protocol

from pyscheduler.cluster.callables import Holder
from pyscheduler.cluster.task import Context, Task
from pyscheduler.cluster.triggers import Dated, Trigger
from pyscheduler.config import Config
from pyscheduler.engine.orders import Orders
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.job import CatchUp, Job, Overlap, Settings, SourceRef
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.store.claims import Claim, OnLost, Owned, Start
from pyscheduler.timetable.wording import schedule_text


@dataclass(frozen=True, slots=True)
class Prepared:
    """One attempt about to start: its row, what to launch, and the holder of a callable. `error`: it cannot be."""

    attempt: Attempt
    spec: LaunchSpec | None
    error: str | None = None
    holder: Holder | None = None

    def close(self) -> None:
        """Let the holder go, if there is one."""
        if self.holder is not None:
            self.holder.close()


class Work(Protocol):
    """One job or task as a pass needs it."""

    @property
    def job(self) -> Job: ...

    @property
    def trigger(self) -> Trigger: ...

    @property
    def latest_only(self) -> bool: ...

    @property
    def on_lost(self) -> OnLost: ...

    def prepare(self, run: Run, context: Context, key: str, now: datetime) -> Prepared:
        """Render one attempt. Raises OSError where a callable's holder cannot be made."""
        ...


@dataclass(frozen=True, slots=True)
class JobWork:
    """A job of a configuration."""

    job: Job
    trigger: Trigger
    orders: Orders
    on_lost: OnLost = OnLost.RERUN

    @property
    def latest_only(self) -> bool:
        """Whether only the newest of several missed firings gets a run."""
        return self.job.catch_up is CatchUp.LATEST

    def prepare(self, run: Run, context: Context, key: str, now: datetime) -> Prepared:
        """Render one attempt by the configuration's templates."""
        order = self.orders.order(run, self.job, context.attempt, key, now)
        return Prepared(order.attempt, order.spec, order.error)


@dataclass(frozen=True, slots=True)
class TaskWork:
    """A task of a Python schedule."""

    task: Task
    job: Job
    orders: Orders
    latest_only: bool

    @property
    def trigger(self) -> Trigger:
        """When it is due."""
        return self.task.trigger

    @property
    def on_lost(self) -> OnLost:
        """What becomes of a run whose started attempt is lost."""
        return OnLost(self.task.on_lost)

    def prepare(self, run: Run, context: Context, key: str, now: datetime) -> Prepared:
        """Render one attempt; a callable's holder is forked, and waits."""
        order = self.orders.order(run, self.job, context.attempt, key, now)
        if order.spec is None:
            return Prepared(order.attempt, None, order.error)
        command = self.task.command
        holder = Holder(command, context) if callable(command) else None
        if holder is not None:
            argv: tuple[str, ...] = holder.argv()
        elif isinstance(command, str):
            argv = ("/bin/sh", "-c", command)
        else:
            assert isinstance(command, tuple)
            argv = command
        spec = replace(order.spec, argv=argv, env={**order.spec.env, **self.task.env}, cwd=self.task.cwd)
        return Prepared(order.attempt, spec, None, holder)


def works_of_tasks(
    tasks: tuple[Task, ...], *, state_dir: Path, environ: Mapping[str, str], boot_id: str, latest_only: bool
) -> dict[str, Work]:
    """Return the works of a Python schedule's tasks, by id."""
    jobs = {task.id: _job_of(task) for task in tasks}
    config = Config(
        path=state_dir / "schedule",
        settings=Settings(state_dir=state_dir, log_dir=state_dir / "logs"),
        jobs=jobs,
        calendars={},
        pools={},
        sources=(),
        digest="",
        loaded_on=date(1970, 1, 1),
    )
    orders = Orders(config, 1, environ, boot_id)
    return {task.id: TaskWork(task, jobs[task.id], orders, latest_only) for task in tasks}


def works_of_config(config: Config, *, environ: Mapping[str, str], boot_id: str) -> dict[str, Work]:
    """Return the works of a configuration's enabled jobs that have a schedule, by name."""
    orders = Orders(config, 1, environ, boot_id)
    return {
        job.name: JobWork(job, Dated(config.timetable(job.name), _label(job)), orders, _on_lost(job))
        for job in config.jobs.values()
        if job.enabled and job.schedules
    }


def attempt_of(each: Owned) -> Attempt:
    """Return the row of a started attempt as the claim knows it."""
    assert each.started_at is not None
    return Attempt(
        run_id=each.run_id,
        attempt=each.attempt,
        key=each.key,
        started_at=each.started_at,
        config_version=each.config_version,
        boot_id=each.boot_id,
        stdout_path=each.stdout_path,
        stderr_path=each.stderr_path,
        status_path=each.status_path,
    )


def start_of(claim: Claim, attempt: Attempt) -> Start:
    """Return what S3 is asked for this attempt."""
    return Start(
        run_id=claim.run_id,
        token=claim.token,
        attempt=attempt.attempt,
        key=attempt.key,
        config_version=attempt.config_version,
        boot_id=attempt.boot_id,
        stdout_path=attempt.stdout_path,
        stderr_path=attempt.stderr_path,
        status_path=attempt.status_path,
    )


def run_of(claim: Claim, now: datetime) -> Run:
    """Return the run that a claim is of, as rendering and the retry rules need it."""
    return Run(
        run_id=claim.run_id,
        job=claim.job,
        run_date=claim.run_date,
        seq=parse_run_id(claim.run_id).seq,
        scheduled_at=claim.scheduled_at,
        trigger=claim.trigger,
        created_at=claim.claimed_at,
        updated_at=now,
        state=RunState.RUNNING,
        attempt=claim.attempt + 1,
        config_version=claim.config_version,
    )


def context_of(claim: Claim) -> Context:
    """Return what payloads and hooks are told of a claim."""
    return Context(
        task=claim.job,
        run_id=claim.run_id,
        scheduled_at=claim.scheduled_at,
        run_date=claim.run_date,
        attempt=claim.attempt + 1,
        token=claim.token,
    )


def _job_of(task: Task) -> Job:
    """Return the job that a task amounts to, its own texts left out: they are no templates."""
    return Job(
        name=task.id,
        source=SourceRef("schedule", 1),
        command=("true",),
        timezone=task.timezone,
        success_codes=task.success_codes,
        timeout_s=task.timeout_s,
        kill_grace_s=task.kill_grace_s,
        reclaim_after_s=task.reclaim_after_s,
        on_uncertain=task.on_uncertain,
        overlap=Overlap(task.overlap),
        catch_up=CatchUp.ALL,
        max_log_bytes=None,
    )


def _on_lost(job: Job) -> OnLost:
    """Return who decides about a lost attempt: here its run is tried again unless the job forbids it (DESIGN 6)."""
    return OnLost.RERUN if job.on_lost is None else OnLost(job.on_lost)


def _label(job: Job) -> str:
    return "; ".join(schedule_text(spec) for spec in job.schedules)
