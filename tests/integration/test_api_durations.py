"""Typical durations are asked of the store once, and again for a job that has succeeded meanwhile. jobs.md 12.1."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pyscheduler.api.durations import Durations
from pyscheduler.model.run import Run, RunState
from pyscheduler.testing import FakeResult
from tests.night import Night

JOBS = """
jobs:
  a: {command: x, schedule: manual}
  b: {command: x, schedule: manual}
"""


async def test_a_job_is_asked_about_until_it_is_known_and_when_it_succeeds(tmp_path: Path) -> None:
    """The median of the latest successes; failures change nothing; no job is asked about twice for nothing."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z")
    runs = (FakeResult(timedelta(minutes=n), exit_code=code) for n, code in ((1, 0), (4, 0), (9, 1)))
    night.plan("a", *runs)
    asked: list[list[str]] = []
    async with night:
        durations, read = Durations(), night.engine.store.recent_durations_for

        in_the_meantime: list[Run] = []

        def noted(jobs: Collection[str], limit: int = 10) -> dict[str, tuple[float, ...]]:
            asked.append(list(jobs))
            found = read(jobs, limit)
            for run in in_the_meantime:
                durations._heard(run)
            return found

        night.engine.store.recent_durations_for = noted  # type: ignore[method-assign, assignment]
        durations.listen_to(night.engine)
        assert durations.of(["a", "b"]) == {}
        for typical in (60.0, 150.0, 150.0):
            await night.engine.trigger("a", actor="ann")
            await night.go(timedelta(minutes=10))
            durations.listen_to(night.engine)
            assert durations.of(["a", "b"]) == {"a": typical}
        assert [each for each in asked if each] == [["a", "b"], ["a"], ["a"]]
        in_the_meantime.append(await night.engine.trigger("a", actor="ann"))
        in_the_meantime[0] = replace(in_the_meantime[0], state=RunState.SUCCEEDED)
        durations._heard(in_the_meantime[0])
        for _ in range(2):  # it succeeds again while we read: what was read is old by then
            durations.of(["a"])
        assert asked[-2:] == [["a"], ["a"]]
