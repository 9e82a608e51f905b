"""What a list shows of a run in line: what it stands there for, worked out anew each time."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.explain import say_in
from pyscheduler.engine.waiting import shown_reason
from pyscheduler.testing import FakeResult
from tests.night import Night

JOBS = """
pools: {db: 1}
jobs:
  pooled: {command: x, schedule: manual, pools: {db: 1}, overlap: allow}
  plain: {command: x, schedule: manual}
  minutely: {command: x, schedule: "* * * * *"}
"""


def shown(night: Night, run_id: str) -> str:
    run = night.engine.book.published(run_id)
    assert run is not None
    return shown_reason(night.engine.desk, run, say_in("UTC"))


async def test_a_full_pool_a_pause_and_the_cap_are_shown(tmp_path: Path) -> None:
    """And nothing of it is written down."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00:30Z", settings={"max_running": 2})
    night.plan("pooled", FakeResult(timedelta(hours=5)))
    async with night:
        engine = night.engine
        first = await engine.trigger("pooled", actor="ann")
        second = await engine.trigger("pooled", actor="ann")
        full = f"pool db has 0 of 1 slots free and it needs 1; held by {first.run_id}"
        assert shown(night, second.run_id) == full
        assert shown(night, first.run_id) == ""
        await engine.force_start(second.run_id, actor="bob")
        assert shown(night, second.run_id) == f"force-started by bob; {full}"
        stored = engine.store.get_run(second.run_id)
        assert stored is not None
        assert stored.reason == "force-started by bob"
        await engine.pause("plain", actor="cay", reason="move")
        paused = await engine.trigger("plain", actor="ann")
        assert shown(night, paused.run_id) == (
            "it is ready, but the job is paused by cay since 2026-10-19 08:00:30+00:00 (move)"
        )
        night.settings["max_running"] = 1
        await night.reload(JOBS)
        assert shown(night, second.run_id) == "force-started by bob; all 1 slots are taken (1 running)"


async def test_dropped_firings_are_in_the_schedulers_log_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever watches the log of the service need not know the logbook."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00:30Z")
    async with night:
        with caplog.at_level(logging.WARNING, "pyscheduler"):
            await night.engine.pause("minutely", actor="ann")
            await night.go(timedelta(minutes=10))
            await night.engine.resume("minutely", actor="ann")
    assert "minutely: 10 of its firings got no run (paused): from 2026-10-19T08:01:00+00:00 to 2026" in caplog.text
