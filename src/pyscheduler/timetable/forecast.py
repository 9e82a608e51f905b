"""What the coming days will bring: expected starts and ends, dependency-only jobs included. Spec: jobs.md 12.1.

A job with a schedule starts when it fires, whatever it depends on; one without starts when the last of its upstreams is
expected to end. Entries are settled in the order of run dates and, within one, along the edges, each once: an edge
reaches back or stays on its date, so whatever an entry hangs on is settled before it. That makes the work proportional
to the entries and edges there are.

What always holds: entries ascend by expected start, then job; a chain is followed through at most as many levels as
there are jobs, so offset loops come to an end (spec: jobs.md 4.5).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from graphlib import CycleError, TopologicalSorter

from pyscheduler.model.job import Job
from pyscheduler.timetable.calendars import BusinessCalendar
from pyscheduler.timetable.firings import Timetable


@dataclass(frozen=True, slots=True)
class ForecastEntry:
    """One run that is expected. Instants are aware UTC.

    `expected_duration_s` is the job's typical duration, None where none is known (it then counts as 0). `via` is the
    upstream whose end decides the start, None for a scheduled run.
    """

    job: str
    run_date: date
    expected_start: datetime
    expected_duration_s: float | None
    expected_end: datetime
    via: str | None = None


def forecast(
    jobs: Mapping[str, Job],
    timetable: Callable[[str], Timetable],
    calendar: Callable[[str], BusinessCalendar],
    start: datetime,
    end: datetime,
    typical: Mapping[str, float],
) -> list[ForecastEntry]:
    """Return what is expected to start because of firings in (start, end]: aware instants, NaiveTime otherwise.

    `timetable` and `calendar` are asked by job name. Left out: disabled jobs, jobs by hand alone, same-date cycles. A
    job that depends on one in the window is kept even where it starts after `end`; `on` is not looked at.
    """
    plan = _Plan(jobs, calendar, typical)
    for name, job in jobs.items():
        if job.enabled and job.schedules:
            for firing in timetable(name).between(start, end):
                plan.add(name, firing.run_date, firing.scheduled_at + timedelta(seconds=firing.jitter_s))
    plan.follow()
    return sorted(plan.entries, key=lambda entry: (entry.expected_start, entry.job, entry.run_date))


class _Plan:
    """The entries so far, and the dependency-only runs that they call for."""

    def __init__(
        self, jobs: Mapping[str, Job], calendar: Callable[[str], BusinessCalendar], typical: Mapping[str, float]
    ) -> None:
        self.entries: list[ForecastEntry] = []
        self._jobs, self._calendar, self._typical = jobs, calendar, typical
        self._rank = _ranks(jobs)
        self._dependants: dict[str, set[str]] = defaultdict(set)
        for name in self._rank:
            for dependency in jobs[name].depends_on:
                if dependency.job != name:
                    self._dependants[dependency.job].add(name)
        self._latest: dict[tuple[str, date], datetime] = {}
        self._level: dict[tuple[str, date], int] = {}
        self._todo: list[tuple[date, int, str]] = []

    def add(self, name: str, run_date: date, start: datetime, via: str | None = None, level: int = 0) -> None:
        """Expect a run, and the runs that follow from it."""
        typical = self._typical.get(name)
        expected_end = start + timedelta(seconds=typical or 0.0)
        self.entries.append(ForecastEntry(name, run_date, start, typical, expected_end, via))
        known = self._latest.get((name, run_date))
        if known is not None:
            self._latest[name, run_date] = max(known, expected_end)
            return
        self._latest[name, run_date] = expected_end
        if level < len(self._jobs):
            for dependant in self._dependants[name]:
                self._call_for(dependant, name, run_date, level + 1)

    def follow(self) -> None:
        """Settle every dependency-only run, in the order of run date and rank."""
        while self._todo:
            run_date, _, name = heapq.heappop(self._todo)
            end, via = self._last_upstream(name, run_date)
            self.add(name, run_date, end, via, self._level[name, run_date])

    def _call_for(self, name: str, upstream: str, upstream_date: date, level: int) -> None:
        for dependency in self._jobs[name].depends_on:
            if dependency.job != upstream:
                continue
            for run_date in self._calendar(name).unshift(upstream_date, dependency.run_date):
                if (name, run_date) not in self._level:
                    self._level[name, run_date] = level
                    heapq.heappush(self._todo, (run_date, self._rank[name], name))

    def _last_upstream(self, name: str, run_date: date) -> tuple[datetime, str]:
        """Return the latest expected end among the upstreams that have a run, and which; the first of equals."""
        ends = []
        for dependency in self._jobs[name].depends_on:
            upstream_date = self._calendar(name).shift(run_date, dependency.run_date)
            if upstream_date is not None and (found := self._latest.get((dependency.job, upstream_date))):
                ends.append((found, dependency.job))
        return max(ends, key=lambda pair: pair[0])


def _ranks(jobs: Mapping[str, Job]) -> dict[str, int]:
    """Return the enabled dependency-only jobs in an order in which upstreams of the same date come first.

    Jobs on a same-date cycle are left out; config refuses them anyway.
    """
    graph = {
        name: {edge.job for edge in job.depends_on if edge.run_date == 0}
        for name, job in jobs.items()
        if job.enabled and job.dependency_only
    }
    while True:
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            for name in error.args[1]:
                graph.pop(name, None)
        else:
            return {name: rank for rank, name in enumerate(order) if name in graph}
