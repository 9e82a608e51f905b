"""What a trigger or a backfill would do is said by the engine's own rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, cast

import pytest

from pyscheduler.config import Config
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Dependency, DependsOn, Job
from pyscheduler.model.run import Run, Trigger
from pyscheduler.store.reads import Reads
from pyscheduler.timetable.calendars import ALL_DAYS
from pyscheduler.web.ahead import backfill, followers
from tests.builders import DAY, NOON, a_job, a_run


class Remembered:
    """A store that knows these runs."""

    def __init__(self, *runs: Run) -> None:
        self._runs = runs

    def runs_of_days(self, days: Iterable[tuple[str, date]]) -> tuple[list[Run], dict[Any, int]]:
        wanted = set(days)
        return [run for run in self._runs if (run.job, run.run_date) in wanted], {}


class Configured:
    """A configuration of these jobs, every day a working day."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs = {job.name: job for job in jobs}

    def dependents(self, name: str) -> list[str]:
        return [job.name for job in self.jobs.values() if any(edge.job == name for edge in job.depends_on)]

    def calendar_for(self, _job: Job | str) -> Any:
        return ALL_DAYS


def asked(jobs: Iterable[Job], *runs: Run) -> list[tuple[str, date, bool]]:
    found = followers(cast("Config", Configured(*jobs)), cast("Reads", Remembered(*runs)), "a", DAY)
    return [(each.job, each.run_date, each.is_new) for each in found]


def waits(name: str, *upstreams: Dependency, **more: Any) -> Job:
    return a_job(name, depends_on=upstreams, **more)


def test_who_follows_gets_a_run_and_so_do_those_behind() -> None:
    """A chain of jobs without schedules is called for to its end."""
    chain = [a_job("a", manual=True), waits("b", Dependency("a")), waits("c", Dependency("b", DependsOn.FAILURE))]
    assert asked(chain) == [("b", DAY, True), ("c", DAY, True)]


def test_who_has_a_run_of_the_date_gets_no_other() -> None:
    """And nothing more follows by it; a run by hand does not count as one."""
    chain = [a_job("a", manual=True), waits("b", Dependency("a")), waits("c", Dependency("b"))]
    assert asked(chain, a_run("b", trigger=Trigger.DEPENDENCY)) == [("b", DAY, False)]
    assert asked(chain, a_run("b", trigger=Trigger.MANUAL))[0] == ("b", DAY, True)


def test_another_dates_follower_is_of_another_date() -> None:
    """Who waits for yesterday's run follows for tomorrow."""
    jobs = [a_job("a", manual=True), waits("b", Dependency("a", run_date=-1))]
    assert asked(jobs) == [("b", DAY + timedelta(days=1), True)]


def test_jobs_that_wait_for_each_others_yesterday_come_to_an_end() -> None:
    """A preview is bounded, whatever goes round in a circle."""
    jobs = [
        waits("a", Dependency("b", run_date=-1), manual=True),
        waits("b", Dependency("a", run_date=-1)),
    ]
    assert 0 < len(asked(jobs)) <= 200


def test_a_backfill_takes_the_days_without_a_run() -> None:
    """Those with one are passed over and counted."""
    config, job = cast("Config", Configured()), a_job("a", manual=True)
    store = cast("Reads", Remembered(a_run("a", DAY)))
    plan = backfill(config, store, job, DAY - timedelta(days=2), DAY, NOON)
    assert (plan.days, plan.with_runs) == ((DAY - timedelta(days=2), DAY - timedelta(days=1)), 1)
    with pytest.raises(BadRequest, match="before it starts"):
        backfill(config, store, job, DAY, DAY - timedelta(days=1), NOON)
    with pytest.raises(BadRequest, match="takes 366"):
        backfill(config, store, job, DAY - timedelta(days=400), DAY, NOON)
