"""When the register cannot be written: the engine fails stop and the next one carries on. Seed 004, DESIGN 3."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.ports import AttemptHandle, LaunchSpec
from pyscheduler.errors import StoreUnavailable, Unavailable
from pyscheduler.model.batch import Batch
from pyscheduler.model.run import RunState
from pyscheduler.rules.lifecycle import ImpossibleTransition
from pyscheduler.testing import FakeResult
from tests.night import Night

JOBS = """
jobs:
  a: {command: x, schedule: "0 9 * * *"}
  b: {command: y, depends_on: [a]}
  hand: {command: z, schedule: manual}
"""
LONG = FakeResult(timedelta(minutes=30))


def break_store(night: Night) -> StoreUnavailable:
    """Let every further commit fail."""
    error = StoreUnavailable("database or disk is full")

    def fails(_batch: Batch) -> None:
        raise error

    night.engine.store.apply = fails  # type: ignore[method-assign, assignment]
    return error


async def test_a_failed_commit_starts_nothing_and_rolls_back(tmp_path: Path) -> None:
    """The run whose change was lost is back at its last safely written copy; nothing was launched."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        before = await night.engine.trigger("hand", actor="ann")
        await night.engine.settle()
        launched = len(night.launcher.launched)
        error = break_store(night)
        with pytest.raises(StoreUnavailable):
            await night.engine.trigger("hand", actor="ann")
        assert await asyncio.wait_for(night.engine.wait_failed(), 60) is error
        assert night.engine.error is error
        assert len(night.launcher.launched) == launched
        assert [run.run_id for run in night.runs("hand")] == [before.run_id]
        with pytest.raises(Unavailable, match="failed"):
            await night.engine.hold(before.run_id, actor="ann")
        await night.clock.advance(timedelta(hours=2))
        assert night.runs("a") == []


async def test_the_minders_go_on_and_the_next_engine_reads_their_notes(tmp_path: Path) -> None:
    """An attempt that ends while nobody can write is recorded by the next engine; a missed firing is caught up."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    night.plan("hand", LONG)
    async with night:
        run = await night.engine.trigger("hand", actor="ann")
        await night.engine.settle()
        break_store(night)
        await night.until("2026-10-19T09:40Z")
        assert night.engine.error is not None
        assert night.engine.book.published(run.run_id).state == "running"  # type: ignore[union-attr]
        await night.engine.stop()
        await night.reopen()
        await night.go(timedelta(minutes=5))
        assert night.engine.book.published(run.run_id).state == "succeeded"  # type: ignore[union-attr]
        assert (night.state("a"), night.state("b")) == ("succeeded", "succeeded")
        assert len(night.launcher.launched) == 3


async def test_a_launch_that_ends_in_no_known_way_is_no_run_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempt is minded by nobody any more: the engine stops, and the next one asks the files what became of it."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        error = RuntimeError("can't start new thread")

        async def launch(_spec: LaunchSpec) -> AttemptHandle:
            raise error

        monkeypatch.setattr(night.launcher, "launch", launch)
        await night.engine.trigger("hand", actor="ann")
        assert await asyncio.wait_for(night.engine.wait_failed(), 60) is error


async def test_a_grant_that_breaks_off_stops_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the loop's later turns too: slots are taken by then, for runs that stand in no line any more."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        error = RuntimeError("of all things")

        def fails() -> None:
            raise error

        monkeypatch.setattr(night.engine, "grant", fails)
        asyncio.get_running_loop().call_soon(night.engine._grant_more)
        assert await asyncio.wait_for(night.engine.wait_failed(), 60) is error


async def test_all_waiters_of_a_failed_group_hear_it(tmp_path: Path) -> None:
    """A decision may rest on an uncommitted one, so everything after a failure fails too."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        break_store(night)
        waits = [asyncio.ensure_future(night.engine.trigger("hand", actor="ann")) for _ in range(20)]
        done = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 60)
        assert all(isinstance(result, StoreUnavailable | Unavailable) for result in done)
        assert night.runs("hand") == []


async def test_an_impossible_transition_stops_the_engine_loudly(tmp_path: Path) -> None:
    """It is our bug: nothing is guessed, and the error is there to be read."""
    from pyscheduler.model import event as ev

    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        run = await night.engine.trigger("hand", actor="ann")
        current = night.engine.book.get(run.run_id)
        assert current is not None
        with pytest.raises(ImpossibleTransition):
            night.engine.desk.apply(current, ev.RetryDue())
        assert isinstance(await night.engine.wait_failed(), ImpossibleTransition)


async def test_a_start_on_a_store_that_cannot_be_written_fails_and_leaves_everything(tmp_path: Path) -> None:
    """The service tries again later; nothing was launched on a decision that is not on disk."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T08:59:30Z")
        await night.engine.stop()
        await night.clock.advance(timedelta(hours=1))
        night.engine = night._new_engine()
        break_store(night)
        with pytest.raises(StoreUnavailable):
            await night.engine.start()
        assert night.launcher.launched == []
        await night.engine.stop()
        await night.reopen()
        assert night.state("a") == RunState.RUNNING


async def test_a_start_that_is_given_up_launches_nothing(tmp_path: Path) -> None:
    """A stop was asked for while the engine recovered: what is due waits for the next start, and loses nothing."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T08:59:30Z")
        await night.engine.stop()
        await night.clock.advance(timedelta(hours=1))
        night.engine = night._new_engine()
        assert night.engine.give_up()
        await night.engine.start()
        await night.engine.settle()
        assert night.launcher.launched == []
        await night.engine.stop()
        await night.reopen()
        assert night.state("a") == RunState.RUNNING


async def test_a_cancelled_caller_takes_nothing_back(tmp_path: Path) -> None:
    """Whoever hung up: the decision is made, saved, shown and done, and others' waits are untouched."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        first = asyncio.ensure_future(night.engine.trigger("hand", actor="ann"))
        second = asyncio.ensure_future(night.engine.trigger("hand", actor="bob"))
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        run = await second
        await night.engine.settle()
        assert run.run_id == "hand.2026-10-19.2"
        assert [r.run_id for r in night.runs("hand")] == ["hand.2026-10-19.1", "hand.2026-10-19.2"]
        assert night.engine.error is None


async def test_a_listener_that_raises_hurts_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged and skipped; the others and the engine go on."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    heard: list[str] = []

    def bad(_run: object) -> None:
        raise ValueError("listener")

    async with night:
        night.engine.subscribe(bad)
        leave = night.engine.subscribe(lambda run: heard.append(run.state.value))
        await night.engine.trigger("hand", actor="ann")
        await night.engine.settle()
        assert "running" in heard
        assert "a listener failed" in caplog.text
        leave()
        count = len(heard)
        await night.go(timedelta(minutes=2))
        assert len(heard) == count
