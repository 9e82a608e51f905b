"""What one new run comes to: itself, and the dependency-only runs that it calls for, and that those call for.

Planned whole before any of it is in the book, so that an error on the way leaves nothing behind. Nothing here decides
how a run stands; the desk looks at each once all are there. Spec: jobs.md 4.5.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from pyscheduler.engine.book import DAY_TRIGGERS, Day
from pyscheduler.engine.surroundings import Surroundings
from pyscheduler.model.ids import make_run_id
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, Trigger


@dataclass(slots=True)
class Plan:
    """The runs that one creation comes to, before any of them is in the book."""

    runs: list[tuple[Run, str | None]] = field(default_factory=list)
    """Each with the id of the run that called for it, in the order of their creation."""
    dependants_first: list[Run] = field(default_factory=list)
    """The same runs, each after all that it calls for; the root is the last."""
    taken: Counter[Day] = field(default_factory=Counter)
    barred: set[Day] = field(default_factory=set)
    """Days that need no further dependency run."""

    def add(self, run: Run, because: str | None) -> None:
        """Put a run on the plan."""
        day = (run.job, run.run_date)
        self.runs.append((run, because))
        self.taken[day] += 1
        if run.trigger in DAY_TRIGGERS:
            self.barred.add(day)


def planned(
    world: Surroundings, job: Job, run_date: date, trigger: Trigger, scheduled_at: datetime, *, jitter_s: float = 0.0
) -> Plan:
    """Return what a new run of a job comes to; the book is as it was."""
    plan = Plan()
    root = _add(world, plan, job, run_date, trigger, scheduled_at, jitter_s=jitter_s)
    _add_dependants(world, plan, root)
    return plan


def _add(
    world: Surroundings,
    plan: Plan,
    job: Job,
    run_date: date,
    trigger: Trigger,
    scheduled_at: datetime,
    *,
    jitter_s: float = 0.0,
    because: str | None = None,
) -> Run:
    """Put a new run on the plan: nothing else knows of it yet."""
    now = world.now()
    seq = world.book.next_seq(job.name, run_date) + plan.taken[job.name, run_date]
    run = Run(
        run_id=make_run_id(job.name, run_date, seq),
        job=job.name,
        run_date=run_date,
        seq=seq,
        scheduled_at=scheduled_at,
        trigger=trigger,
        created_at=now,
        updated_at=now,
        config_version=world.version,
        not_before=scheduled_at + timedelta(seconds=jitter_s) if jitter_s else None,
        wait_until=world.patience_of(job),
    )
    plan.add(run, because)
    return run


def _add_dependants(world: Surroundings, plan: Plan, root: Run) -> None:
    """Depth first, with a stack of its own: a chain of thousands of jobs is no recursion."""
    jobs = world.config.jobs
    under_way = [(root, iter(world.dependent_days(root)))]
    while under_way:
        upstream, days = under_way[-1]
        day = next((day for day in days if _is_called_for(world, plan, upstream, day)), None)
        if day is None:
            plan.dependants_first.append(upstream)
            under_way.pop()
            continue
        because, due = upstream.run_id, upstream.scheduled_at
        run = _add(world, plan, jobs[day[0]], day[1], Trigger.DEPENDENCY, due, because=because)
        further = world.dependent_days(run) if len(under_way) <= len(jobs) else []
        under_way.append((run, iter(further)))


def _is_called_for(world: Surroundings, plan: Plan, upstream: Run, day: Day) -> bool:
    """Whether a new run of `upstream` brings about one of this job and date."""
    job = world.config.jobs[day[0]]
    if not job.dependency_only or not job.enabled or job.name == upstream.job:
        return False
    return day not in plan.barred and world.book.dependency_run(*day) is None
