"""P4, restart is free: whatever the instant of the crash, `catch_up: all` gets every firing its one run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.night import Night

JOBS = """
jobs:
  a: {command: x, schedule: "*/5 * * * *", catch_up: all, overlap: allow}
  b: {command: x, schedule: "3-59/7 * * * *", catch_up: all}
  c: {command: x, schedule: "*/5 * * * *", catch_up: latest}
"""
STEPS = st.lists(
    st.tuples(
        st.sampled_from([1, 4, 5, 11, 60]),  # minutes of quiet life
        st.integers(0, 25),  # turns of the loop into the next bell at which the engine dies
        st.sampled_from([0, 1, 5, 47]),  # minutes down
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40)
@given(steps=STEPS)
def test_every_firing_has_its_one_run_whenever_the_engine_died(steps: list[tuple[int, int, int]]) -> None:
    """`last_tick` moves only in a commit that holds every firing up to it: none is lost, none is doubled."""
    loop = asyncio.new_event_loop()
    try:
        with tempfile.TemporaryDirectory() as name:
            loop.run_until_complete(_live(Path(name), steps))
    finally:
        loop.close()


async def _live(folder: Path, steps: list[tuple[int, int, int]]) -> None:
    night = Night(folder, JOBS, at="2026-10-19T00:01Z")
    began = night.clock.now()
    async with night:
        for quiet, turns, down in steps:
            await night.go(timedelta(minutes=quiet))
            await _die_in_the_next_bell(night, turns)
            await night.clock.advance(timedelta(minutes=down))
            await night.reopen()
        await night.go(timedelta(minutes=1))
        until = night.clock.now()
        for job in ("a", "b"):
            due = [firing.scheduled_at for firing in night.config().timetable(job).between(began, until)]
            runs = sorted(run.scheduled_at for run in night.runs(job))
            assert runs == due, job
        instants = [run.scheduled_at for run in night.runs("c")]
        assert len(instants) == len(set(instants))


EACH_SECOND = """
jobs:
  often: {command: x, schedule: "* * * * * *", catch_up: all, overlap: allow}
  seldom: {command: x, schedule: "*/2 * * * * *", catch_up: all, overlap: allow}
"""


@pytest.mark.parametrize("turns", range(2, 62, 3))
async def test_bells_that_rang_again_before_anybody_looked(tmp_path: Path, turns: int) -> None:
    """A process that stood still for seconds and died soon after: what is still to ring is not called handled."""
    night = Night(tmp_path, EACH_SECOND, at="2026-10-19T00:00:00.5Z")
    began = night.clock.now()
    async with night:
        await night.go(timedelta(seconds=2))
        moving = asyncio.ensure_future(night.clock.suspend(timedelta(seconds=4)))
        for _ in range(turns):
            await asyncio.sleep(0)
        await night.crash()
        await moving
        await night.reopen()
        await night.go(timedelta(seconds=2))
        until = night.clock.now()
        for job in ("often", "seldom"):
            due = [firing.scheduled_at for firing in night.config().timetable(job).between(began, until)]
            assert sorted(run.scheduled_at for run in night.runs(job)) == due, job


async def _die_in_the_next_bell(night: Night, turns: int) -> None:
    """Let the next firing come due and throw the engine away while it is at work."""
    due = night.engine.firings.next_instant()
    assert due is not None
    move: Coroutine[Any, Any, None] = night.clock.advance_to(due)
    moving = asyncio.ensure_future(move)
    for _ in range(turns):
        await asyncio.sleep(0)
    await night.crash()
    await moving
