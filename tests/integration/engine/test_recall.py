"""Old days come back into memory before anything is decided about them, and only what matters. DESIGN 3, "Memory"."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.book import Day
from pyscheduler.model.run import Run
from tests.night import Night, ids

JOBS = """
jobs:
  hand: {command: x, schedule: manual}
  first: {command: x, schedule: "0 9 * * *"}
  second: {command: x, depends_on: [first]}
  third: {command: x, depends_on: [second]}
  chain: {command: x, schedule: "0 10 * * *", depends_on: [{job: chain, run_date: -1}]}
  follows: {command: x, depends_on: [hand, {job: follows, run_date: -1}]}
  ping: {command: x, depends_on: [hand, {job: pong, run_date: -1}]}
  pong: {command: x, depends_on: [{job: ping, run_date: -1}]}
"""


def counting(night: Night) -> list[Day]:
    """Note every day that is read from the store from now on."""
    days: list[Day] = []
    read = night.engine.store.runs_of_days

    def noted(wanted: Iterable[Day]) -> tuple[list[Run], dict[Day, int]]:
        wanted = list(wanted)
        days.extend(wanted)
        return read(wanted)

    night.engine.store.runs_of_days = noted  # type: ignore[method-assign, assignment]
    return days


@pytest.mark.parametrize("job", ["chain", "hand", "follows", "ping"])
@pytest.mark.parametrize("day", [date(1, 1, 1), date(1900, 6, 1), date(2026, 1, 5)])
async def test_a_date_long_gone_is_not_followed_through_the_centuries(tmp_path: Path, job: str, day: date) -> None:
    """P6: a chain over days is followed as far as anything ever ran, whatever date is asked for."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z", settings={"retention": "9999d"})
    async with night:
        days = counting(night)
        await night.engine.trigger(job, run_date=day, actor="ann")
        assert len(set(days)) < 60
        assert night.engine.error is None


async def test_what_an_old_run_brought_about_is_found_again(tmp_path: Path) -> None:
    """A rerun of a run out of memory reopens what depends on it, through days that are out of memory too."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z", settings={"memory_days": 1}, tick_s=86400)
    async with night:
        await night.until("2026-11-09T08:00Z")
        assert night.engine.book.get("first.2026-10-19.1") is None
        reopened = await night.engine.rerun("first.2026-10-19.1", downstream=True, actor="ann")
        assert ids(reopened) == ["first.2026-10-19.1", "second.2026-10-19.1", "third.2026-10-19.1"]
        await night.go(timedelta(minutes=10))
        assert night.state("third", "2026-10-19") == "succeeded"
        assert night.latest("third", "2026-10-19").attempt == 2


async def test_a_new_run_of_an_old_day_does_not_repeat_what_is_there(tmp_path: Path) -> None:
    """Numbers and dependency runs of a day out of memory are known before another run of it is made."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z", settings={"memory_days": 1}, tick_s=86400)
    async with night:
        await night.until("2026-11-09T08:00Z")
        run = await night.engine.trigger("first", run_date=date(2026, 10, 20), actor="ann")
        assert run.run_id == "first.2026-10-20.2"
        await night.go(timedelta(minutes=10))
        stored, _ = night.engine.store.runs_of_days([("second", date(2026, 10, 20))])
        assert ids(stored) == ["second.2026-10-20.1"]
