"""What the coming days will bring: expected starts and ends, dependency-only jobs included. Spec: jobs.md 12.1.

A job with a schedule starts when it fires, whatever it depends on. One without is judged as the engine judges it
(spec 4.2, 4.5): the first upstream run of a date creates its run, and that starts at the first instant at which, of
each upstream, the latest run created so far for the wanted date has ended. So of an upstream that fires every six
hours the first run opens the dependant, unless it takes longer than that. An upstream without any run for its date
keeps the dependant waiting, and a run that waits for good is not promised.

What always holds: entries ascend by expected start, then job; an entry's times depend on the configuration alone, on
no end of the window, since all firings of a run date are looked at; nothing is promised for an instant up to `start`;
a chain is followed through at most as many levels as there are jobs, so offset loops come to an end. Not looked at:
`on` (everything goes well), slots, pools and pauses.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from graphlib import CycleError, TopologicalSorter
from typing import Final

from pyscheduler.model.job import Job
from pyscheduler.timetable.calendars import BusinessCalendar
from pyscheduler.timetable.expected import ExpectedRun, first_ready, undisturbed
from pyscheduler.timetable.firings import Timetable

BACK_DAYS: Final = 31
"""How long before the window at most a chain may have begun of which something starts within."""

_DAWN: Final = datetime(1, 1, 2, tzinfo=UTC)
"""Nothing before it can be written down in every zone."""

Day = tuple[str, date]


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
    run that is created in the window is kept even where it starts after `end`.
    """
    plan = _Plan(jobs, timetable, calendar, typical, start)
    entries: list[ForecastEntry] = []
    for name, job in jobs.items():
        if job.enabled and job.schedules:
            for firing in timetable(name).between(plan.begin, end):
                plan.seed(name, firing.run_date)
                if firing.scheduled_at > start:
                    delayed = firing.scheduled_at + timedelta(seconds=firing.jitter_s)
                    entries.append(plan.entry(name, firing.run_date, delayed))
    entries += plan.dependants()
    return sorted(entries, key=lambda entry: (entry.expected_start, entry.job, entry.run_date))


class _Plan:
    """The runs of the days that matter, and the dependency-only runs they call for."""

    def __init__(
        self,
        jobs: Mapping[str, Job],
        timetable: Callable[[str], Timetable],
        calendar: Callable[[str], BusinessCalendar],
        typical: Mapping[str, float],
        start: datetime,
    ) -> None:
        self._jobs, self._timetable, self._calendar, self._typical = jobs, timetable, calendar, typical
        self._rank = _ranks(jobs)
        self._start = start
        longest = timedelta(seconds=min(_longest_chain(jobs, self._rank, typical), BACK_DAYS * 86400.0))
        self.begin = start - longest if start > _DAWN + longest else start
        """From here on firings may lead to a start within the window."""
        self._long_ago = date.fromordinal(max(self.begin.toordinal() - 2, 1))
        """Runs of dependency-only jobs before this date count as ended long ago: somewhere a look back must end."""
        self._dependants: dict[str, set[str]] = defaultdict(set)
        for name in self._rank:
            for dependency in jobs[name].depends_on:
                if dependency.job != name:
                    self._dependants[dependency.job].add(name)
        self._runs: dict[Day, tuple[ExpectedRun, ...]] = {}
        self._called: dict[Day, int] = {}
        """The dependency-only days that a firing of the window leads to, with the level at which."""
        self._seeds: dict[Day, None] = {}

    def entry(self, name: str, run_date: date, start: datetime, via: str | None = None) -> ForecastEntry:
        """Return what is expected of one run."""
        typical = self._typical.get(name)
        return ForecastEntry(name, run_date, start, typical, start + timedelta(seconds=typical or 0.0), via)

    def seed(self, name: str, run_date: date) -> None:
        """Take a scheduled day whose dependants are asked about."""
        self._seeds[name, run_date] = None

    def dependants(self) -> Iterator[ForecastEntry]:
        """Yield what is expected of dependency-only jobs, in no order."""
        self._call_for_all()
        for name, run_date in self._in_order():
            found = self._begin(name, run_date)
            if found is None:
                self._runs[name, run_date] = ()
                continue
            created, start, via = found
            entry = self.entry(name, run_date, start, via)
            self._runs[name, run_date] = (ExpectedRun(created, entry.expected_end),)
            if (name, run_date) in self._called and start > self._start:
                yield entry

    # ----------------------------------------------------------------- which days

    def _call_for_all(self) -> None:
        """Find the days that the window's firings lead to, nearest first."""
        ahead = deque((day, 0) for day in self._seeds)
        while ahead:
            (upstream, upstream_date), level = ahead.popleft()
            if level >= len(self._jobs):
                continue
            for name in self._dependants[upstream]:
                for day in self._days_of(name, upstream, upstream_date):
                    if day not in self._called:
                        self._called[day] = level + 1
                        ahead.append((day, level + 1))

    def _days_of(self, name: str, upstream: str, upstream_date: date) -> Iterator[Day]:
        for dependency in self._jobs[name].depends_on:
            if dependency.job == upstream:
                for run_date in self._calendar(name).unshift(upstream_date, dependency.run_date):
                    yield name, run_date

    def _in_order(self) -> list[Day]:
        """Return the days to work out, and those they rest on, each after all it rests on."""
        needed, to_see = dict.fromkeys(self._called), list(self._called)
        while to_see:
            for upstream, upstream_date in self._upstream_days(*to_see.pop()):
                day = (upstream, upstream_date)
                if upstream in self._rank and upstream_date >= self._long_ago and day not in needed:
                    needed[day] = None
                    to_see.append(day)
        return sorted(needed, key=lambda day: (day[1], self._rank[day[0]]))

    def _upstream_days(self, name: str, run_date: date) -> Iterator[Day]:
        shift = self._calendar(name).shift
        for dependency in self._jobs[name].depends_on:
            upstream_date = shift(run_date, dependency.run_date)
            if upstream_date is not None:
                yield dependency.job, upstream_date

    # ----------------------------------------------------------------- one day

    def _begin(self, name: str, run_date: date) -> tuple[datetime, datetime, str] | None:
        """Return when a dependency-only day's run is created, when it starts and at whose end; None: never."""
        edges = self._jobs[name].depends_on
        days = list(self._upstream_days(name, run_date))
        if len(days) < len(edges):
            return None  # its calendar has no such day: the engine waits for good
        runs = [self._upstream_runs(*day) for day in days]
        creating = [each[0].created_at for day, each in zip(days, runs, strict=True) if each and day[0] != name]
        ready = first_ready(runs, min(creating, default=self._start)) if creating and all(runs) else None
        return None if ready is None else (min(creating), ready.at, edges[ready.number].job)

    def _upstream_runs(self, name: str, run_date: date) -> tuple[ExpectedRun, ...]:
        day = (name, run_date)
        if day not in self._runs:
            self._runs[day] = self._look_up(name, run_date)
        return self._runs[day]

    def _look_up(self, name: str, run_date: date) -> tuple[ExpectedRun, ...]:
        job = self._jobs.get(name)
        if job is None or not job.enabled:
            return ()
        if name in self._rank:
            long_ago = datetime.min.replace(tzinfo=self._start.tzinfo)
            return (ExpectedRun(long_ago, long_ago),) if run_date < self._long_ago else ()
        firings = self._timetable(name).on(run_date) if job.schedules else ()
        return undisturbed(firings, self._typical.get(name, 0.0), job.overlap)


def _longest_chain(jobs: Mapping[str, Job], rank: Mapping[str, int], typical: Mapping[str, float]) -> float:
    """Return how many seconds may lie between a firing and the last start that follows from it."""
    taken: dict[str, float] = {}
    for name in (*(name for name in jobs if name not in rank), *rank):
        before = max((taken.get(edge.job, 0.0) for edge in jobs[name].depends_on), default=0.0) if name in rank else 0.0
        jitter = max((spec.jitter_s for spec in jobs[name].schedules), default=0.0)
        taken[name] = before + jitter + typical.get(name, 0.0)
    return max(taken.values(), default=0.0)


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
            names: Iterable[str] = (name for name in order if name in graph)
            return {name: rank for rank, name in enumerate(names)}
