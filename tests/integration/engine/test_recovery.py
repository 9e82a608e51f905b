"""Coming home: the tables of seed 000 row by row, and DESIGN 5."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.ports import Finished, Lost, Running
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Outcome
from pyscheduler.testing import FakeResult
from tests.night import Night, instant

LONG = FakeResult(timedelta(hours=2))
HOUR = timedelta(hours=1)

NAP = """
jobs:
  nap: {command: x, schedule: "0 9 * * *", catch_up: none}
"""
NAP_RETRIED = """
jobs:
  nap: {command: x, schedule: "0 9 * * *", retries: {count: 2, delay: 30s}}
"""


# --------------------------------------------------------------------------- step 2: the babysitter's notes


async def test_a_status_note_finishes_the_attempt(tmp_path: Path) -> None:
    """Row 1: it ended while we were away; the note says how and when."""
    night = Night(tmp_path, NAP, at="2026-10-19T08:59Z")
    night.plan("nap", FakeResult(timedelta(minutes=10), exit_code=4))
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        await night.clock.advance(HOUR)
        await night.reopen()
        assert night.told("nap") == ("failed", "exit 4")
        attempt = night.engine.store.attempts(night.latest("nap").run_id)[0]
        assert (attempt.outcome, attempt.ended_at) == (Outcome.FAILED, instant("2026-10-19T09:10Z"))


async def test_a_live_minder_is_adopted_with_its_slot_and_its_clock(tmp_path: Path) -> None:
    """Row 2: it keeps its slot though the limits are lower now, and a kill reaches it."""
    night = Night(tmp_path, NAP + "  other: {command: y, schedule: manual}\n", at="2026-10-19T08:59Z")
    night.plan("nap", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        night.settings["max_running"] = 1
        night.write(NAP + "  other: {command: y, schedule: manual}\n")
        await night.clock.advance(HOUR)
        await night.reopen()
        assert night.state("nap") == "running"
        assert [line.action for line in night.lines("attempt_adopted")] == ["attempt_adopted"]
        waiting = await night.engine.trigger("other", actor="ann")
        await night.engine.settle()
        assert night.state("other") == "queued"
        await night.until("2026-10-19T11:00Z")
        assert night.state("nap") == "succeeded"
        assert night.engine.book.published(waiting.run_id).state == "running"  # type: ignore[union-attr]
        assert len(night.launcher.launched) == 2


async def test_no_note_and_no_minder_is_lost_and_retried_by_the_rules(tmp_path: Path) -> None:
    """Row 3: nobody can know how it ended; a job with retries is simply tried again."""
    night = Night(tmp_path, NAP_RETRIED, at="2026-10-19T08:59Z")
    night.plan("nap", LONG, FakeResult())
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        night.launcher.lose("nap.2026-10-19.1")
        await night.reopen()
        assert night.told("nap") == ("retry_wait", "retry 1/2 after lost")
        await night.until("2026-10-19T09:02Z")
        assert night.state("nap") == "succeeded"
        attempts = night.engine.store.attempts("nap.2026-10-19.1")
        assert [attempt.outcome for attempt in attempts] == [Outcome.LOST, Outcome.SUCCEEDED]


async def test_without_retries_lost_is_the_end(tmp_path: Path) -> None:
    """FC-036 J: failed, reason lost, and no new attempt."""
    night = Night(tmp_path, NAP, at="2026-10-19T08:59Z")
    night.plan("nap", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        night.launcher.lose("nap.2026-10-19.1")
        await night.reopen()
        assert night.told("nap") == ("failed", "lost")
        assert len(night.launcher.launched) == 1


async def test_a_run_without_an_attempt_row_is_lost(tmp_path: Path) -> None:
    """Row 4: crashed mid-commit; nothing was launched, and a row is written that says so."""
    night = Night(tmp_path, NAP_RETRIED, at="2026-10-19T08:59Z")
    night.plan("nap", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        from pyscheduler.store.driver import sqlite

        with sqlite().connect(next((tmp_path / "state").rglob("*.db"))) as raw:
            raw.execute("DELETE FROM attempts")
        await night.reopen()
        assert night.told("nap") == ("retry_wait", "retry 1/2 after lost")
        attempt = night.engine.store.attempts("nap.2026-10-19.1")[0]
        assert (attempt.outcome, attempt.note) == (Outcome.LOST, "no attempt was recorded, so nothing was launched")


@pytest.mark.parametrize("ended_meanwhile", [False, True])
async def test_a_kill_asked_before_the_crash_still_counts(tmp_path: Path, ended_meanwhile: bool) -> None:
    """Killed, not retried, even if the note says exit 0; an adopted one is signalled again."""
    night = Night(tmp_path, NAP_RETRIED, at="2026-10-19T08:59Z")
    night.plan("nap", FakeResult(HOUR, ignores_term=True))
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.kill("nap.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert night.state("nap") == "running"
        await night.crash()
        if ended_meanwhile:
            running = night.launcher.running["nap.2026-10-19.1"]
            running.end(AttemptResult(exit_code=0, ended_at=night.clock.now()))  # type: ignore[attr-defined]
        await night.reopen()
        await night.go(timedelta(seconds=10))
        assert night.told("nap") == ("failed", "killed by ann")
        assert len(night.launcher.launched) == 1


async def test_a_timeout_rings_at_once_when_it_passed_while_we_were_away(tmp_path: Path) -> None:
    """The timeout counts from when the attempt really started."""
    night = Night(
        tmp_path,
        'jobs: {nap: {command: x, schedule: "0 9 * * *", timeout: 30m}}',
        at="2026-10-19T08:59Z",
    )
    night.plan("nap", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.crash()
        await night.clock.advance(HOUR)
        await night.reopen()
        assert night.told("nap") == ("failed", "timeout")


@pytest.mark.parametrize("gone", ["removed", "disabled"])
async def test_a_running_job_that_is_gone_is_picked_up_and_not_retried(tmp_path: Path, gone: str) -> None:
    """Running: followed to its end, no retry. Open and not running: cancelled."""
    jobs = (
        NAP_RETRIED
        + '  wait: {command: y, schedule: "0 9 * * *", depends_on: [never]}\n  never: {command: z, schedule: manual}\n'
    )
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("nap", FakeResult(HOUR, exit_code=1))
    async with night:
        await night.until("2026-10-19T09:00Z")
        assert night.state("wait") == "waiting"
        await night.crash()
        left = "jobs:\n  never: {command: z, schedule: manual}\n"
        off = jobs.replace('"0 9 * * *"', '"0 9 * * *", enabled: false')
        night.write(left if gone == "removed" else off)
        await night.reopen()
        reason = "job no longer configured" if gone == "removed" else "disabled"
        assert night.told("wait") == ("cancelled", reason)
        assert night.state("nap") == "running"
        await night.until("2026-10-19T10:00Z")
        assert night.told("nap") == ("failed", "exit 1")


async def test_the_other_open_runs_are_picked_up_too(tmp_path: Path) -> None:
    """Queued goes back in line, retry_wait gets its timer back, held stays held, waiting is checked again."""
    night = Night(
        tmp_path,
        """
        pools: {p: 1}
        jobs:
          holder: {command: x, schedule: "0 9 * * *", pools: {p: 1}}
          queued: {command: x, schedule: "1 9 * * *", pools: {p: 1}}
          retry: {command: x, schedule: "0 9 * * *", retries: {count: 1, delay: 10m}}
          held: {command: x, schedule: "0 9 * * *", depends_on: [never]}
          waits: {command: x, depends_on: [holder]}
          never: {command: x, schedule: manual}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("holder", FakeResult(timedelta(minutes=5)))
    night.plan("retry", FakeResult(timedelta(minutes=1), exit_code=1), FakeResult())
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.hold("held.2026-10-19.1", actor="ann")
        await night.until("2026-10-19T09:02Z")
        states = {job: night.state(job) for job in ("holder", "queued", "retry", "held", "waits")}
        assert states == {
            "holder": "running",
            "queued": "queued",
            "retry": "retry_wait",
            "held": "held",
            "waits": "waiting",
        }
        await night.crash()
        await night.reopen()
        assert {job: night.state(job) for job in states} == states
        await night.until("2026-10-19T09:10:59Z")
        assert (night.state("retry"), night.state("queued"), night.state("waits")) == (
            "retry_wait",
            "succeeded",
            "succeeded",
        )
        await night.until("2026-10-19T09:12Z")
        assert night.state("retry") == "succeeded"
        assert night.told("held") == ("held", "held by ann")


async def test_an_overdue_retry_starts_at_once(tmp_path: Path) -> None:
    """The wait counts from when the last attempt ended, downtime included."""
    night = Night(tmp_path, NAP_RETRIED, at="2026-10-19T08:59Z")
    night.plan("nap", FakeResult(timedelta(minutes=1), exit_code=1), LONG)
    async with night:
        await night.until("2026-10-19T09:01Z")
        assert night.state("nap") == "retry_wait"
        await night.restart(down=HOUR)
        assert night.state("nap") == "running"
        assert night.latest("nap").attempt == 2


async def test_a_forced_start_keeps_its_place(tmp_path: Path) -> None:
    """It is first in line after the restart too (DESIGN 8 row 10)."""
    night = Night(
        tmp_path,
        """
        jobs:
          a: {command: x, schedule: "0 9 * * *", criticality: critical}
          b: {command: x, schedule: "0 9 * * *", criticality: low}
          c: {command: x, schedule: "59 8 * * *"}
        """,
        at="2026-10-19T08:58Z",
        settings={"max_running": 1},
    )
    night.plan("c", FakeResult(timedelta(minutes=5)))
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.force_start("b.2026-10-19.1", actor="ann")
        await night.crash()
        await night.reopen()
        await night.until("2026-10-19T09:10Z")
        assert night.started() == ["c.2026-10-19.1", "b.2026-10-19.1", "a.2026-10-19.1"]


async def test_everything_of_a_start_is_committed_before_anything_is_launched(tmp_path: Path) -> None:
    """One flush: however much there is to decide, nothing runs on a decision that is not on disk."""
    night = Night(
        tmp_path,
        """
        jobs:
          many: {command: x, schedule: "*/10 * * * *", catch_up: all, overlap: allow}
          retry: {command: y, schedule: "0 9 * * *", retries: {count: 1, delay: 1m}}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("retry", FakeResult(timedelta(minutes=1), exit_code=1), FakeResult())
    async with night:
        await night.until("2026-10-19T09:01Z")
        await night.engine.stop()
        await night.clock.advance(3 * HOUR)
        night.engine = night._new_engine()
        seen: list[tuple[str, int]] = []
        launch = night.launcher.launch

        async def watching(spec: object) -> object:
            store = night.engine.store
            open_runs = [run for run in store.open_runs() if run.job == "many"]
            seen.append((store.engine_values()["last_tick"], len(open_runs)))
            return await launch(spec)  # type: ignore[arg-type]

        night.launcher.launch = watching  # type: ignore[method-assign, assignment]
        await night.engine.start()
        await night.engine.settle()
        assert len(night.runs("many")) == 19
        assert set(seen) == {(night.clock.now().isoformat(), 18)}


# --------------------------------------------------------------------------- the answers of find


async def test_the_launcher_is_asked_about_running_attempts_only(tmp_path: Path) -> None:
    """Finished, Running and Lost are all that recovery knows, whoever ran it."""
    night = Night(
        tmp_path,
        """
        jobs:
          ended: {command: x, schedule: "0 9 * * *"}
          lives: {command: x, schedule: "0 9 * * *"}
          gone: {command: x, schedule: "0 9 * * *"}
          done: {command: x, schedule: "0 9 * * *"}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("lives", LONG)
    night.plan("gone", LONG)
    night.plan("ended", FakeResult(timedelta(minutes=5)))
    async with night:
        await night.until("2026-10-19T09:02Z")
        await night.crash()
        await night.clock.advance(timedelta(minutes=30))
        night.launcher.lose("gone.2026-10-19.1")
        answers: dict[str, type] = {}
        find = night.launcher.find

        async def watching(ref: object) -> Finished | Running | Lost:
            found = await find(ref)  # type: ignore[arg-type]
            answers[ref.run_id.split(".")[0]] = type(found)  # type: ignore[attr-defined]
            return found

        night.launcher.find = watching  # type: ignore[method-assign]
        await night.reopen()
        assert answers == {"ended": Finished, "lives": Running, "gone": Finished}
        assert {job: night.state(job) for job in ("ended", "lives", "gone", "done")} == {
            "ended": "succeeded",
            "lives": "running",
            "gone": "failed",
            "done": "succeeded",
        }
