"""The run dates that are coming, for every job on a dependency edge, and on which of them a job would wait for ever.

Every job is judged after its upstreams, without recursion. Where the time is up the answer is None: unknown, and so is
everything that rests on it. Where a circle of earlier dates leads back to a job that is not judged yet, its runs cannot
be excluded, so nothing is said against them. Spec: jobs.md 4.5, 12.2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from pyscheduler.config.dates import Stretch, landing_days
from pyscheduler.config.graph import upstream_first
from pyscheduler.model.job import Dependency, Job, RebootSpec, RunDateRule, ScheduleSpec
from pyscheduler.timetable.calendars import BusinessCalendar
from pyscheduler.timetable.moments import date_of, day_of
from pyscheduler.timetable.schedule import compile_schedule

HORIZON_DAYS: Final = 366
SHARED_DAYS: Final = 31
_AROUND: Final = 20
"""Days before and after the horizon in which a firing may land whose run date lies within it."""


class OutOfTime(Exception):
    """The budget is used up."""


@dataclass(frozen=True, slots=True)
class Dates:
    """A job's run dates as bits; `by_hand` where runs are made by a hand or a boot, so that no date can be excluded."""

    bits: int
    by_hand: bool


_ANY: Final = Dates(0, by_hand=True)


class Coming:
    """What is coming for the jobs of one configuration, as seen from `today`.

    `unknown` holds the jobs with dependencies about which nothing could be said, of `total`; both once the questions
    have been asked. `budget_s` is processor time, None for no bound.
    """

    def __init__(
        self,
        jobs: Mapping[str, Job],
        calendar_of: Callable[[Job], BusinessCalendar],
        star: str,
        today: date,
        budget_s: float | None,
    ) -> None:
        self._calendar_of, self._star, self._today = calendar_of, star, today
        self._deadline = None if budget_s is None else time.thread_time() + budget_s
        self._stretch = Stretch(today - timedelta(days=_AROUND), _AROUND + HORIZON_DAYS + _AROUND)
        self._ahead = (1 << _AROUND + HORIZON_DAYS + 1) - (1 << _AROUND + 1)
        self._landings: dict[tuple[ScheduleSpec, str, BusinessCalendar], int] = {}
        self._dependants: dict[str, list[str]] = {}
        self._jobs = self._on_edges(jobs)
        self._dates: dict[str, Dates | None] = {}
        self._stuck: dict[str, int | None] = {}
        self.unknown: set[str] = set()
        self.total = sum(1 for job in self._jobs.values() if job.depends_on)

    def _on_edges(self, jobs: Mapping[str, Job]) -> dict[str, Job]:
        """Return the enabled jobs that wait or are waited for, upstreams first."""
        for job in jobs.values():
            for upstream in dict.fromkeys(dependency.job for dependency in job.depends_on):
                if job.enabled and jobs[upstream].enabled:
                    self._dependants.setdefault(upstream, []).append(job.name)
        involved = {name for name, job in jobs.items() if job.enabled and (job.depends_on or name in self._dependants)}
        edges = {name: [each.job for each in jobs[name].depends_on] for name in jobs if name in involved}
        return {name: jobs[name] for name in upstream_first(edges)}

    def dependants(self, name: str) -> list[str]:
        """Return the enabled jobs that depend on `name`."""
        return self._dependants.get(name, [])

    # ----------------------------------------------------------------- the two questions

    def shared_dates(self) -> Iterator[tuple[str, tuple[date, int]]]:
        """Yield the jobs others wait for that fire more than once for one run date within 31 days: which, how often."""
        found: dict[tuple[object, ...], tuple[date, int] | None] = {}
        for name, job in self._jobs.items():
            if name not in self._dependants or not job.schedules:
                continue
            calendar = self._calendar_of(job)
            key = (job.schedules, job.timezone, calendar, job.run_date)
            try:
                if key not in found:
                    found[key] = self._shared_date(job, calendar)
            except OutOfTime:
                self.unknown.update(self._dependants[name])
                continue
            shared = found[key]
            if shared is not None:
                yield name, shared

    def endless_waits(self) -> Iterator[tuple[str, tuple[date, int, str]]]:
        """Yield the jobs that would wait for ever on a run date of the next 366 days.

        With each the first such date, the number of the dependency at fault, and the job at the root of the chain.
        """
        for name, job in self._jobs.items():
            self._dates[name] = self._run_dates(job)
            self._stuck[name] = stuck = self._stuck_bits(job)
            if stuck is None:
                self.unknown.update([name] if job.depends_on else ())
            elif stuck:
                bit = (stuck & -stuck).bit_length() - 1
                number = self._culprit(job, bit)
                yield name, (self._stretch.day(bit), number, self._root(job, number, bit))

    # ----------------------------------------------------------------- run dates

    def _run_dates(self, job: Job) -> Dates | None:
        try:
            return self._scheduled(job) if job.schedules or job.manual else self._derived(job)
        except OutOfTime:
            return None

    def _scheduled(self, job: Job) -> Dates:
        calendar, bits = self._calendar_of(job), 0
        for spec in job.schedules:
            bits |= self._landing_bits(spec, job.timezone, calendar)
        if job.run_date is RunDateRule.PREVIOUS_BUSINESS_DAY:
            bits = self._stretch.to_previous(bits, calendar)
        return Dates(bits, not job.schedules or any(isinstance(spec, RebootSpec) for spec in job.schedules))

    def _derived(self, job: Job) -> Dates | None:
        """Return the run dates that its upstreams give a dependency-only job (spec 4.5)."""
        bits, by_hand = 0, False
        for dependency in job.depends_on:
            if dependency.job == job.name or dependency.job not in self._jobs:
                continue
            dates = self._dates.get(dependency.job, _ANY)
            if dates is None:
                return None
            by_hand = by_hand or dates.by_hand
            bits |= self._stretch.waiting_for(dates.bits, self._calendar_of(job), dependency.run_date)
        return Dates(bits, by_hand)

    def _landing_bits(self, spec: ScheduleSpec, zone: str, calendar: BusinessCalendar) -> int:
        key = (spec, zone, calendar)
        if key not in self._landings:
            self._check_time()
            schedule = compile_schedule(spec, zone, calendar, star=self._star)
            self._landings[key] = self._stretch.landing_days(schedule)
        return self._landings[key]

    def _shared_date(self, job: Job, calendar: BusinessCalendar) -> tuple[date, int] | None:
        self._check_time()
        schedules = [compile_schedule(spec, job.timezone, calendar, star=self._star) for spec in job.schedules]
        first = day_of(self._today) + 1
        days = {day for schedule in schedules for day in landing_days(schedule, first, first + SHARED_DAYS - 1)}
        for number in sorted(days):
            fired = {at for schedule in schedules for at in schedule.on(number)}
            if len(fired) > 1:
                day = date_of(number)
                same = job.run_date is RunDateRule.SAME_DAY
                return (day if same else calendar.previous(day) or day), len(fired)
        return None

    # ----------------------------------------------------------------- waiting

    def _stuck_bits(self, job: Job) -> int | None:
        dates, stuck = self._dates[job.name], 0
        if dates is None:
            return None
        for dependency in job.depends_on:
            unmet = self._unmet(job, dependency)
            if unmet is None:
                return None
            stuck |= dates.bits & self._ahead & unmet
        return stuck

    def _unmet(self, job: Job, dependency: Dependency) -> int | None:
        """Return the run dates of `job` whose upstream has no run, or one that waits for ever; None: unknown."""
        name = dependency.job
        if name not in self._jobs:
            return 0  # disabled: said elsewhere
        dates = self._dates.get(name, _ANY)
        waiting = self._stuck.get(name, 0)
        if dates is None or waiting is None:
            return None
        missing = waiting if dates.by_hand else waiting | (self._ahead & ~dates.bits)
        return self._stretch.waiting_for(missing, self._calendar_of(job), dependency.run_date)

    def _culprit(self, job: Job, bit: int) -> int:
        """Return the number of the first dependency on which the job is stuck for that date."""
        return next(n for n, each in enumerate(job.depends_on) if (self._unmet(job, each) or 0) >> bit & 1)

    def _root(self, job: Job, number: int, bit: int) -> str:
        """Follow the chain from job to job, at most as far as there are jobs, to the one without a run."""
        for _ in range(len(self._jobs)):
            dependency = job.depends_on[number]
            at = self._stretch.shifted(bit, self._calendar_of(job), dependency.run_date)
            upstream = self._jobs[dependency.job]
            if at is None or upstream is job or not (self._stuck.get(upstream.name) or 0) >> at & 1:
                return upstream.name
            job, bit = upstream, at
            number = self._culprit(job, bit)
        return job.name

    def _check_time(self) -> None:
        if self._deadline is not None and time.thread_time() > self._deadline:
            raise OutOfTime
