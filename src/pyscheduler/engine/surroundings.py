"""What surrounds a run: the questions a decision asks of the working memory, none of which changes anything.

Upstream runs, overlap, the days that decide a day and those it decides, and how far back memory must reach. `Desk`
builds on this and decides.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

from pyscheduler.config import Config
from pyscheduler.engine.book import Day, RunBook
from pyscheduler.engine.pauses import Pauses
from pyscheduler.model.job import Job, Overlap
from pyscheduler.model.run import Run
from pyscheduler.rules.dependencies import Upstream
from pyscheduler.rules.evaluate import Facts
from pyscheduler.rules.memory import memory_start, reach_days
from pyscheduler.rules.overlap import may_be_superseded, turn_key
from pyscheduler.timetable.zone import zone


class Surroundings:
    """The working memory of an engine, as far as it can be asked."""

    def __init__(self, config: Config, version: int, now: Callable[[], datetime]) -> None:
        self.config, self.version = config, version
        self.now = now
        self.book = RunBook()
        self.book.upstream_days = self.upstream_days
        self.pauses = Pauses()
        self.first_dates: dict[str, date] = {}
        self.reach = 0
        """How many calendar days dependencies look back before the memory window."""
        self.rung: set[str] = set()
        """Runs whose timer has rung: their wait is over by the monotonic clock, whatever the wall clock says."""

    # ----------------------------------------------------------------- facts

    def facts(self, run: Run, job: Job, *, waived: bool = False) -> Facts:
        """Gather what surrounds a run."""
        busy = self.book.is_busy(run.job, run.run_id)
        waiters = self.overlap_waiters(run) if busy and job.overlap is Overlap.QUEUE else []
        newest = max(waiters, key=turn_key, default=None)
        over = run.wait_until is not None and (run.run_id in self.rung or self.now() >= run.wait_until)
        return Facts(tuple(self.upstreams(run, job)), busy, newest, waived, over)

    def upstreams(self, run: Run, job: Job) -> list[Upstream]:
        """Return what is known about each dependency of a run."""
        return [self.upstream(job, run.run_date, index) for index in range(len(job.depends_on))]

    def upstream(self, job: Job, run_date: date, index: int) -> Upstream:
        """Return what is known about one dependency of a job for a run date."""
        dependency = job.depends_on[index]
        wanted = self.config.calendar_for(job).shift(run_date, dependency.run_date)
        other = self.config.jobs.get(dependency.job)
        first = dependency.job == job.name and self.first_dates.get(job.name, run_date) >= run_date
        return Upstream(
            dependency,
            wanted,
            None if wanted is None else self.book.latest_for(dependency.job, wanted),
            first,
            None if other is None else other.inactive,
        )

    def upstream_days(self, run: Run) -> tuple[Day, ...]:
        """Return the days whose runs decide this one."""
        return self.days_deciding(run.job, run.run_date)

    def dependent_days(self, upstream: Run) -> list[Day]:
        """Return the days of other jobs that depend on this run."""
        return self.days_depending_on(upstream.job, upstream.run_date)

    def days_depending_on(self, upstream: str, run_date: date) -> list[Day]:
        """Return the days that depend on a job's run date."""
        days: dict[Day, None] = {}
        for name in self.config.dependents(upstream):
            job = self.config.jobs[name]
            for edge in job.depends_on:
                if edge.job == upstream:
                    dates = self.config.calendar_for(job).unshift(run_date, edge.run_date)
                    days.update(((name, day), None) for day in dates)
        return list(days)

    def days_deciding(self, name: str, run_date: date, config: Config | None = None) -> tuple[Day, ...]:
        """Return the days whose runs decide a job's run date, under the configuration in force or another."""
        config = config or self.config
        job = config.jobs.get(name)
        if job is None or not job.depends_on:
            return ()
        shift = config.calendar_for(job).shift
        days = ((edge.job, shift(run_date, edge.run_date)) for edge in job.depends_on)
        return tuple((upstream, day) for upstream, day in days if day is not None)

    def window_start(self, now: datetime) -> date:
        """Return the oldest run date whose ended runs stay in memory; measures the dependencies' reach anew."""
        today = zone(self.config.settings.timezone).today(now)
        jobs = self.config.jobs.values()
        self.reach = reach_days(jobs, lambda job, day, n: self.config.calendar_for(job).shift(day, n), today)
        return memory_start(today, self.config.settings.memory_days, self.reach)

    def may_lack(self, day: Day) -> bool:
        """Whether something that decides a job's run date, or is decided by it, may not be in memory."""
        return day[1] < self.book.memory_start + timedelta(days=self.reach)

    def overlap_waiters(self, run: Run) -> list[Run]:
        """Return the other fresh overlap-waiters of the run's job and date that a newer one may take the place of."""
        job = self.config.jobs.get(run.job)
        if job is None:
            return []
        return [
            other
            for other in self.book.overlap_waiters(run.job)
            if other.run_date == run.run_date and other.run_id != run.run_id and may_be_superseded(other, job)
        ]

    # ----------------------------------------------------------------- small questions

    def is_gated(self, run: Run) -> bool:
        """Whether a queued run must not start yet: its jitter is not over, or its job is paused. Force opens both."""
        if run.forced:
            return False
        if self.pauses.covers(run.job) is not None:
            return True
        return run.not_before is not None and run.run_id not in self.rung and run.not_before > self.now()

    def live_job(self, name: str) -> Job | None:
        """Return the job if it is configured and enabled: only then is anything of it tried again."""
        job = self.config.jobs.get(name)
        return job if job is not None and job.enabled else None

    def patience_of(self, job: Job) -> datetime | None:
        """Return the instant at which a run created or reopened now has waited long enough."""
        return None if job.max_wait_s is None else self.now() + timedelta(seconds=job.max_wait_s)

    def patience_from(self, run: Run, job: Job) -> datetime | None:
        """Return when an open run has waited long enough under a new definition, counted from its creation."""
        return None if job.max_wait_s is None else run.created_at + timedelta(seconds=job.max_wait_s)
