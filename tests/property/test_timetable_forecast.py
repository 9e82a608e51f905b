"""The forecast against a slow and obvious one: ask each job for its dates, and each date for its upstreams."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from pyscheduler.model.job import CronSpec, Dependency, Job, SourceRef
from pyscheduler.timetable import BusinessCalendar, Timetable, forecast

MON_FRI = BusinessCalendar("x", holidays=frozenset({date(2027, 5, 17)}))
SINCE, UNTIL = datetime(2027, 5, 12, 12, tzinfo=UTC), datetime(2027, 5, 21, tzinfo=UTC)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Job]:
    """Up to seven jobs without cycles; a job without upstreams has a schedule, one with them may have one."""
    jobs = {}
    for number in range(draw(st.integers(1, 7))):
        upstreams = draw(st.lists(st.tuples(st.integers(0, max(number - 1, 0)), st.integers(-2, 0)), max_size=3))
        edges = tuple(Dependency(f"j{upstream}", run_date=offset) for upstream, offset in upstreams if number)
        has_schedule = not edges or draw(st.integers(0, 3)) == 0
        spec = CronSpec(text=f"0 {draw(st.integers(0, 23))} * * *")
        name = f"j{number}"
        jobs[name] = Job(
            name=name,
            source=SourceRef("x", 1),
            schedules=(spec,) if has_schedule else (),
            depends_on=edges,
            enabled=draw(st.integers(0, 9)) > 0,
        )
    order = draw(st.permutations(sorted(jobs)))
    return {name: jobs[name] for name in order}


class Obvious:
    """No order, no queue: every answer is worked out from the question."""

    def __init__(self, jobs: dict[str, Job], typical: dict[str, float]) -> None:
        self.jobs, self.typical = jobs, typical
        self.known: dict[str, dict[date, list[datetime]]] = {}

    def starts(self, name: str) -> dict[date, list[datetime]]:
        if name not in self.known:
            self.known[name] = self.work_out(self.jobs[name])
        return self.known[name]

    def work_out(self, job: Job) -> dict[date, list[datetime]]:
        found: dict[date, list[datetime]] = {}
        if not job.enabled:
            return found
        if job.schedules:
            for firing in Timetable.of(job, MON_FRI).between(SINCE, UNTIL):
                found.setdefault(firing.run_date, []).append(firing.scheduled_at)
            return found
        for edge in job.depends_on:
            for upstream_date in self.starts(edge.job):
                for ahead in range(12):
                    run_date = upstream_date + timedelta(days=ahead)
                    waits_for_it = MON_FRI.shift(run_date, edge.run_date) == upstream_date
                    if waits_for_it and (MON_FRI.is_business_day(run_date) or edge.run_date == 0):
                        found[run_date] = [self.last_end(job, run_date)]
        return found

    def last_end(self, job: Job, run_date: date) -> datetime:
        ends = []
        for edge in job.depends_on:
            upstream_date = MON_FRI.shift(run_date, edge.run_date)
            assert upstream_date is not None
            starts = self.starts(edge.job).get(upstream_date, [])
            ends += [start + timedelta(seconds=self.typical.get(edge.job, 0)) for start in starts]
        return max(ends)


@given(graphs(), st.dictionaries(st.sampled_from([f"j{n}" for n in range(7)]), st.integers(1, 200_000).map(float)))
@settings(max_examples=60)
def test_the_forecast_is_the_obvious_one(jobs: dict[str, Job], typical: dict[str, float]) -> None:
    """Every run date an upstream calls for, at the end of the latest upstream, each once and in order."""
    entries = forecast(jobs, lambda name: Timetable.of(jobs[name], MON_FRI), lambda _: MON_FRI, SINCE, UNTIL, typical)
    obvious = Obvious(jobs, typical)
    expected = [
        (start, name, run_date)
        for name in jobs
        for run_date, starts in obvious.starts(name).items()
        for start in starts
    ]
    assert [(it.expected_start, it.job, it.run_date) for it in entries] == sorted(expected)
    for it in entries:
        assert it.expected_end == it.expected_start + timedelta(seconds=typical.get(it.job, 0))
        assert it.expected_duration_s == typical.get(it.job)
        assert (it.via is None) == bool(jobs[it.job].schedules)
