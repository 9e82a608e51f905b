"""A forecast promises nothing that the history says has begun."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from pyscheduler.engine.foresight import still_to_come
from pyscheduler.testing import FakeResult
from pyscheduler.timetable import ForecastEntry, forecast
from tests.night import Night

JOBS = """
jobs:
  extract: {command: x, schedule: "0 9 * * *"}
  load: {command: x, depends_on: [extract]}
  report: {command: x, depends_on: [load]}
"""


def promised(night: Night, **typical: float) -> list[tuple[str, date]]:
    """Return what the next day is said to bring."""
    config, now = night.config(), night.clock.now()
    entries = forecast(config.jobs, config.timetable, config.calendar_for, now, now + timedelta(days=1), typical)
    return [(entry.job, entry.run_date) for entry in left(night, entries)]


def left(night: Night, entries: list[ForecastEntry]) -> list[ForecastEntry]:
    return still_to_come(entries, night.engine.store, night.clock.now())


async def test_what_has_begun_earlier_than_expected_is_not_promised(tmp_path: Path) -> None:
    """Extract took a minute instead of its three hours: load of today runs, and report of today alone is to come."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z")
    night.plan("load", FakeResult(timedelta(hours=2)))
    async with night:
        await night.until("2026-10-19T09:02Z")
        assert night.state("load") == "running"
        today, tomorrow = date(2026, 10, 19), date(2026, 10, 20)
        assert promised(night, extract=3 * 3600.0) == [
            ("report", today),
            ("extract", tomorrow),
            ("load", tomorrow),
            ("report", tomorrow),
        ]


async def test_a_run_by_hand_takes_nothing_from_the_promise(tmp_path: Path) -> None:
    """It does not keep the dependency run of its date from being created (spec 3.5), so that is still to come."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z")
    async with night:
        await night.engine.trigger("load", actor="ann")
        await night.go(timedelta(minutes=5))
        assert ("load", date(2026, 10, 19)) in promised(night)


async def test_the_plan_of_hours_that_have_passed_is_shown_whole(tmp_path: Path) -> None:
    """Whoever asks about this morning is told what was due."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z")
    async with night:
        since, config = night.clock.now(), night.config()
        await night.until("2026-10-19T12:00Z")
        entries = forecast(config.jobs, config.timetable, config.calendar_for, since, night.clock.now(), {})
        assert [entry.job for entry in left(night, entries)] == ["extract", "load", "report"]
