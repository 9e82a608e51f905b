"""Reload: the table of jobs.md 11.2 and the field's stories about it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.model.result import AttemptResult
from pyscheduler.testing import FakeResult
from tests.night import Night, ids

LONG = FakeResult(timedelta(minutes=30))

JOBS = """
jobs:
  a: {command: one, schedule: "0 9 * * *"}
  w: {command: two, schedule: "0 9 * * *", depends_on: [never]}
  never: {command: z, schedule: manual}
"""


async def test_an_unchanged_configuration_is_no_reload(tmp_path: Path) -> None:
    """Same digest: no effect, no line."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        assert not await night.reload(JOBS)
        assert night.lines("reload") == []


async def test_running_keeps_its_definition_and_waiting_takes_the_new_one(tmp_path: Path) -> None:
    """FC-078: the active run goes on; open ones adopt; the line names versions, digest and what was called off."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    night.plan("a", LONG)
    async with night:
        await night.until("2026-10-19T09:05Z")
        assert await night.reload(
            JOBS.replace("command: one", "command: other").replace("depends_on: [never]", "tags: [t]")
        )
        assert night.state("a") == "running"
        assert night.state("w") == "running"
        assert night.launcher.launched[-1].run_id == "w.2026-10-19.1"
        line = night.lines("reload")[0]
        assert (line.actor, line.detail["before"], line.detail["after"], line.detail["cancelled"]) == ("ann", 1, 2, [])
        assert night.engine.store.latest_config().version == 2  # type: ignore[union-attr]
        assert (night.latest("a").config_version, night.latest("w").config_version) == (1, 2)


async def test_removed_and_disabled_jobs_lose_their_open_runs_and_no_running_one(tmp_path: Path) -> None:
    """Called off with the reason; the running attempt ends by itself and is not tried again."""
    night = Night(tmp_path, JOBS.replace("command: one", "command: one, retries: {count: 3}"), at="2026-10-19T08:59Z")
    night.plan("a", FakeResult(timedelta(minutes=10), exit_code=1))
    async with night:
        await night.until("2026-10-19T09:05Z")
        await night.reload("jobs:\n  never: {command: z, schedule: manual}\n")
        assert night.told("w") == ("cancelled", "removed by reload")
        assert night.lines("reload")[0].detail["cancelled"] == ["w.2026-10-19.1"]
        await night.until("2026-10-19T09:11Z")
        assert night.told("a") == ("failed", "exit 1")


async def test_new_limits_apply_at_once(tmp_path: Path) -> None:
    """Running attempts are never stopped; nothing starts until use is below the new limit."""
    jobs = "jobs:\n" + "".join(f'  j{n}: {{command: x, schedule: "0 9 * * *"}}\n' for n in range(4))
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z", settings={"max_running": 2})
    for n in range(4):
        night.plan(f"j{n}", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        assert len(night.launcher.running) == 2
        night.settings["max_running"] = 3
        await night.reload(jobs)
        assert len(night.launcher.running) == 3
        night.settings["max_running"] = 1
        await night.reload(jobs)
        assert len(night.launcher.running) == 3
        await night.until("2026-10-19T09:30Z")
        assert len(night.launcher.running) == 1


async def test_a_forced_run_keeps_its_place(tmp_path: Path) -> None:
    """Other queued runs go through dependencies and overlap again; a forced one does not."""
    jobs = JOBS + "  busy: {command: b, schedule: manual}\n"
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z", settings={"max_running": 1})
    night.plan("busy", LONG)
    async with night:
        await night.engine.trigger("busy", actor="ann")
        await night.until("2026-10-19T09:00Z")
        await night.engine.force_start("w.2026-10-19.1", actor="ann")
        assert night.state("a") == "queued"
        await night.reload(jobs.replace("command: one", "command: one, depends_on: [never]"))
        assert night.told("a") == ("waiting", "waiting for never (2026-10-19): no run yet")
        assert night.told("w") == ("queued", "force-started by ann")


async def test_fc_080_a_reload_keeps_phase_and_fires_each_slot_once(tmp_path: Path) -> None:
    """Interval and one-off jobs do not begin anew because an unrelated job was saved."""
    jobs = """
    jobs:
      e: {command: x, schedule: "@every 10m", overlap: allow}
      f: {command: x, schedule: {once: "2026-10-19 00:07"}}
    """
    night = Night(tmp_path, jobs, at="2026-10-19T00:00Z")
    async with night:
        for n, when in enumerate(("00:06:55", "00:06:59.9", "00:07:00", "00:07:00.1", "00:09:30", "00:10:00")):
            await night.until(f"2026-10-19T{when}Z")
            assert await night.reload(jobs + f"  other{n}: {{command: y, schedule: manual}}\n")
        await night.until("2026-10-19T00:25Z")
        assert [f"{run.scheduled_at:%H:%M:%S}" for run in night.runs("e")] == ["00:00:00", "00:10:00", "00:20:00"]
        assert [f"{run.scheduled_at:%H:%M:%S}" for run in night.runs("f")] == ["00:07:00"]


async def test_reloads_in_a_row_while_slots_fall_due(tmp_path: Path) -> None:
    """FC-078.6: every due slot fires exactly once, whatever is being swapped at that moment."""
    jobs = 'jobs:\n  s: {command: x, schedule: "* * * * * *", overlap: allow}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T00:00:00.5Z")
    night.plan("s", FakeResult(timedelta(milliseconds=10)))
    async with night:

        async def reloads() -> None:
            for n in range(30):
                night.write(jobs + f"  other{n}: {{command: y, schedule: manual}}\n")
                await night.engine.reload(night.config(), actor="ann")

        async def time() -> None:
            for _ in range(20):
                await night.clock.advance(timedelta(milliseconds=500))
                await asyncio.sleep(0.001)

        await asyncio.gather(reloads(), time())
        await night.engine.settle()
        await night.until("2026-10-19T00:00:11.5Z")
        instants = [run.scheduled_at for run in night.runs("s")]
        assert len(instants) == len(set(instants)) == 11


async def test_a_held_run_takes_the_new_definition_and_stays_held(tmp_path: Path) -> None:
    """Only its job's removal touches a hold."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.hold("w.2026-10-19.1", actor="ann")
        await night.reload(JOBS.replace("command: two", "command: three"))
        assert night.told("w") == ("held", "held by ann")
        await night.engine.force_start("w.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert night.launcher.launched[-1].argv[-1] == "three"


async def test_the_dependants_of_a_changed_edge_are_indexed_anew(tmp_path: Path) -> None:
    """After the reload the run hears its new upstream and not the old one."""
    jobs = JOBS.replace("depends_on: [never]", "depends_on: [a]").replace("command: one", "command: one")
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    night.plan("a", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        assert night.told("w")[1] == "waiting for never (2026-10-19): no run yet"
        await night.reload(jobs)
        assert night.told("w")[1] == "waiting for a (2026-10-19)"
        await night.until("2026-10-19T09:31Z")
        assert night.state("w") == "succeeded"
        assert ids(night.runs("w")) == ["w.2026-10-19.1"]


async def test_a_reload_that_fails_while_it_rings_loses_no_firing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came due while the store could not be read rings when it can be: it was taken from the heap already."""
    often = 'jobs: {often: {command: x, schedule: "* * * * * *", overlap: allow}}'
    night = Night(tmp_path, often, at="2026-10-19T09:00:00.5Z")
    async with night:
        firings, ring = night.engine.firings, night.engine.firings.ring
        reads = firings._load_days

        async def fail(*_: object) -> None:
            raise StoreUnavailable("a read took longer than it may")

        async with firings.turn:
            await night.clock.suspend(timedelta(seconds=2))
            monkeypatch.setattr(firings, "_load_days", fail)
            with pytest.raises(StoreUnavailable):
                await ring(night.clock.now())
            monkeypatch.setattr(firings, "_load_days", reads)
        await night.go(timedelta(seconds=1))
        assert len(night.runs("often")) == 3


async def test_nothing_of_a_job_that_has_gone_starts_while_the_runs_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open runs take the reload over in the turns after it; a slot that becomes free goes to those who stay."""
    job = "{command: x, schedule: manual, overlap: allow}"
    jobs = f"jobs: {{busy: {job}, gone: {job}, stays: {job}}}"
    night = Night(tmp_path, jobs, at="2026-10-19T09:00Z", settings={"max_running": 1})
    night.plan("busy", LONG)
    night.plan("stays", LONG)
    async with night:
        for name in ("busy", "gone", "stays"):
            await night.engine.trigger(name, actor="ann")
        engine, take_back = night.engine, night.engine.take_back

        async def meanwhile(run_ids: Collection[str] | None = None) -> set[str]:
            engine.desk.end_attempt(night.latest("busy").run_id, 1, AttemptResult(exit_code=0), 0.5)
            await engine.proceed()
            return await take_back(run_ids)

        monkeypatch.setattr(engine, "take_back", meanwhile)
        await night.reload(f"jobs: {{busy: {job}, stays: {job}}}")
        assert engine.error is None
        assert night.told("gone") == ("cancelled", "removed by reload")
        assert (night.state("busy"), night.state("stays")) == ("succeeded", "running")


async def test_a_success_during_a_reload_that_ends_the_watch_for_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown under the new configuration, which asks for nothing: the engine goes on."""
    jobs = "jobs: {a: {command: x, schedule: manual, max_silence: 10m}}"
    night = Night(tmp_path, jobs, at="2026-10-19T09:00Z")
    night.plan("a", LONG)
    async with night:
        await night.engine.trigger("a", actor="ann")
        engine, take_back = night.engine, night.engine.take_back

        async def meanwhile(run_ids: Collection[str] | None = None) -> set[str]:
            engine.desk.end_attempt(night.latest("a").run_id, 1, AttemptResult(exit_code=0), 0.5)
            await engine.proceed()
            return await take_back(run_ids)

        monkeypatch.setattr(engine, "take_back", meanwhile)
        await night.reload(jobs.replace(", max_silence: 10m", ""))
        assert engine.error is None
        assert night.state("a") == "succeeded"
