"""Thousands of jobs, each waiting for the one before: nothing that follows the graph of jobs is a recursion."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.desk import Desk
from pyscheduler.engine.explain import explain
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.testing import FakeResult
from tests.night import Night

LENGTH = 3000
LAST = f"j{LENGTH - 1}"


def chain(length: int) -> str:
    links = "".join(f"  j{at}: {{command: x, depends_on: [j{at - 1}]}}\n" for at in range(1, length))
    return f'jobs:\n  j0: {{command: x, schedule: "0 9 * * *"}}\n{links}'


async def test_a_chain_of_thousands_is_created_explained_and_skipped_to_its_end(tmp_path: Path) -> None:
    """One firing brings about a run of every link; the first one's word goes through to the last."""
    night = Night(tmp_path, chain(LENGTH), at="2026-10-19T08:59Z", tick_s=86400)
    night.plan("j0", FakeResult(exit_code=1, duration=timedelta(seconds=90)))
    async with night:
        await night.until("2026-10-19T09:01Z")
        assert len(night.engine.book) == LENGTH
        assert night.told(LAST) == ("waiting", f"waiting for j{LENGTH - 2} (2026-10-19)")
        answer = await explain(night.engine, LAST, date(2026, 10, 19))
        assert f"j{LENGTH - 2}" in answer.text
        await night.until("2026-10-19T09:05Z")
        assert (night.state("j0"), night.state(LAST)) == ("failed", "blocked")


async def test_a_creation_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a run nor a number nor a line: the next one is made as if nobody had tried."""
    night = Night(tmp_path, chain(5), at="2026-10-19T08:00Z", tick_s=86400)
    async with night:
        whole = Desk.patience_of

        def breaks(desk: Desk, job: Job) -> object:
            if job.name == "j3":
                raise RecursionError("half-way")
            return whole(desk, job)

        with monkeypatch.context() as broken:
            broken.setattr(Desk, "patience_of", breaks)
            with pytest.raises(RecursionError):
                await night.engine.trigger("j0", actor="ann")
        assert len(night.engine.book) == 0
        assert night.engine.desk.tray.is_empty
        run: Run = await night.engine.trigger("j0", actor="ann")
        assert (run.seq, run.state, len(night.engine.book)) == (1, RunState.RUNNING, 5)
