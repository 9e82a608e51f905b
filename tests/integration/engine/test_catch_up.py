"""The missed chores: seed 000 step 3, jobs.md 9.2, DESIGN 5, and the field's stories about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.model.job import Job
from pyscheduler.model.run import Trigger
from pyscheduler.rules.recovery import CaughtUp
from pyscheduler.store import Store
from pyscheduler.testing import FakeResult
from tests.night import Night, instant

HOUR = timedelta(hours=1)


def hourly(rule: str, more: str = "") -> str:
    return f'jobs:\n  prices: {{command: ./prices.sh, schedule: "0 * * * *", catch_up: {rule}{more}}}\n'


@pytest.mark.parametrize(
    ("rule", "caught"),
    [("latest", ["04:00"]), ("all", ["02:00", "03:00", "04:00"]), ("none", [])],
)
async def test_down_from_0110_to_0430(tmp_path: Path, rule: str, caught: list[str]) -> None:
    """The seed's example: with `latest` one run, for 04:00."""
    night = Night(tmp_path, hourly(rule), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.restart(down=timedelta(hours=3, minutes=20))
        await night.go(timedelta(minutes=20))
        runs = [run for run in night.runs("prices") if run.trigger is Trigger.CATCH_UP]
        assert [f"{run.scheduled_at:%H:%M}" for run in runs] == caught
        assert all(run.state == "succeeded" for run in runs)
        told = [line.detail for line in night.lines("firings_dropped")]
        if rule == "all":
            assert told == []
        else:
            last = "03:00" if rule == "latest" else "04:00"
            assert told == [
                {
                    "count": 2 if rule == "latest" else 3,
                    "first": "2026-10-19T02:00:00+00:00",
                    "last": f"2026-10-19T{last}:00+00:00",
                    "why": f"catch_up: {rule}",
                }
            ]


async def test_every_missed_firing_of_all_runs_under_the_default_overlap(tmp_path: Path) -> None:
    """One after another, in due order; none is superseded (DESIGN 8 row 3)."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T00:59Z")
    night.plan("prices", FakeResult(timedelta(minutes=3)))
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.restart(down=timedelta(hours=3, minutes=20))
        await night.go(timedelta(minutes=15))
        assert [run.state.value for run in night.runs("prices")] == ["succeeded"] * 4
        assert night.started() == [f"prices.2026-10-19.{n}" for n in (1, 2, 3, 4)]
        assert night.launcher.max_concurrent == 1


async def test_a_first_start_catches_nothing_up(tmp_path: Path) -> None:
    """FC-034: no last_tick, nothing missed; a firing due exactly now counts."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T08:00Z")
    async with night:
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("prices")] == ["08:00"]
    (tmp_path / "b").mkdir()
    later = Night(tmp_path / "b", hourly("all"), at="2026-10-19T08:00:30Z")
    async with later:
        await later.until("2026-10-19T08:59Z")
        assert later.runs("prices") == []


async def test_a_job_added_while_we_were_down_is_not_caught_up(tmp_path: Path) -> None:
    """It has no runs and the last configuration did not have it: it starts with its next firing."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.engine.stop()
        night.write(hourly("all") + '  fresh: {command: y, schedule: "30 * * * *", catch_up: all}\n')
        await night.clock.advance(3 * HOUR)
        await night.reopen()
        assert night.runs("fresh") == []
        await night.until("2026-10-19T04:30Z")
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("fresh")] == ["04:30"]
        assert len(night.runs("prices")) == 4


async def test_a_job_added_by_a_reload_is_never_caught_up_for_a_time_before_it(tmp_path: Path) -> None:
    """`last_tick` moves at a reload (jobs.md 9.2's trap)."""
    night = Night(tmp_path, 'jobs: {daily: {command: x, schedule: "0 1 * * *"}}', at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T09:10Z")
        both = 'jobs:\n  daily: {command: x, schedule: "0 1 * * *"}\n  fresh: {command: y, schedule: "0 9 * * *"}\n'
        assert await night.reload(both)
        await night.crash()
        await night.clock.advance(timedelta(minutes=5))
        await night.reopen()
        assert night.runs("fresh") == []


async def test_fc_028_a_short_restart_over_a_due_minute_loses_nothing(tmp_path: Path) -> None:
    """Stopped 9:39:30, started 9:40:10: both due jobs run once for 9:40, and neither runs early afterwards."""
    jobs = 'jobs:\n  a: {command: x, schedule: "*/10 * * * *"}\n  b: {command: x, schedule: "* * * * *"}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T09:29:30Z")
    for job in "ab":
        night.plan(job, FakeResult(timedelta(seconds=10)))
    async with night:
        await night.until("2026-10-19T09:39:30Z")
        await night.restart(down=timedelta(seconds=40))
        await night.until("2026-10-19T09:50:30Z")
        since = instant("2026-10-19T09:40Z")
        a = [f"{run.scheduled_at:%H:%M}" for run in night.runs("a") if run.scheduled_at >= since]
        b = [f"{run.scheduled_at:%H:%M}" for run in night.runs("b") if run.scheduled_at >= since]
        assert a == ["09:40", "09:50"]
        assert b == [f"09:{minute}" for minute in range(40, 51)]


async def test_fc_030_latest_only_does_not_replay_them_all(tmp_path: Path) -> None:
    """A week down: one run for the newest date; its retries belong to the same run; then the next day's."""
    night = Night(
        tmp_path,
        'jobs: {daily: {command: x, schedule: "0 6 * * *", retries: {count: 2, delay: 1m}}}',
        at="2026-06-01T05:00Z",
    )
    night.plan("daily", FakeResult(), FakeResult(exit_code=1), FakeResult(exit_code=1), FakeResult())
    async with night:
        await night.until("2026-06-01T12:00Z")
        await night.restart(down=timedelta(days=6, hours=21))
        assert night.clock.now() == instant("2026-06-08T09:00Z")
        await night.go(HOUR)
        assert [night.runs("daily", f"2026-06-0{day}") for day in range(2, 8)] == [[]] * 6
        run = night.latest("daily", "2026-06-08")
        assert (run.scheduled_at, run.state.value, run.attempt) == (instant("2026-06-08T06:00Z"), "succeeded", 3)
        await night.until("2026-06-09T06:01Z")
        assert len(night.launcher.launched) == 5
        assert night.lines("firings_dropped")[0].detail["count"] == 6


async def test_fc_026_after_a_suspend_the_catch_up_rules_apply(tmp_path: Path) -> None:
    """A late tick is no live one: each job's rule chooses among what the sleep covered, once."""
    jobs = """
    jobs:
      m: {command: x, schedule: "* * * * *", catch_up: none}
      h: {command: x, schedule: "0 * * * *", catch_up: all}
      d: {command: x, schedule: "0 6 * * *", catch_up: latest}
    """
    night = Night(tmp_path, jobs, at="2026-06-01T00:29:50Z")
    for job in "mhd":
        night.plan(job, FakeResult(timedelta(seconds=10)))
    async with night:
        await night.until("2026-06-01T00:30:10Z")
        await night.clock.suspend(timedelta(hours=8))
        await night.engine.settle()
        await night.until("2026-06-01T08:31Z")
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("m")] == ["00:30", "08:31"]
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("h")] == [f"0{n}:00" for n in range(1, 9)]
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("d")] == ["06:00"]
        assert [(line.job, line.detail["count"]) for line in night.lines("firings_dropped")] == [("m", 480)]


async def test_fc_024_a_clock_ten_years_ahead_is_arithmetic(tmp_path: Path) -> None:
    """Nothing walks through ten years of minutes, and the way back rebuilds the bells."""
    night = Night(
        tmp_path,
        """
        jobs:
          a: {command: x, schedule: "* * * * * *", catch_up: latest, overlap: skip}
          b: {command: x, schedule: "* * * * *", catch_up: none}
        """,
        at="2016-07-12T00:00Z",
    )
    for job in "ab":
        night.plan(job, FakeResult(timedelta(milliseconds=100)))
    async with night:
        await night.until("2016-07-12T00:00:02.5Z")
        before = len(night.launcher.launched)
        await night.clock.step(instant("2026-07-12T00:00Z") - night.clock.now())
        await night.engine.settle()
        await night.go(timedelta(milliseconds=200))
        dropped = {line.job: line.detail["count"] for line in night.lines("firings_dropped")}
        assert dropped == {"a": 315_532_800 - 3, "b": 5_258_880}
        assert len(night.launcher.launched) == before + 1
        await night.clock.step(instant("2016-07-12T00:05:00.5Z") - night.clock.now())
        await night.engine.settle()
        await night.until("2016-07-12T00:05:03Z")
        assert len(night.launcher.launched) == before + 1 + 3


async def test_a_firing_that_the_stop_interrupted_is_not_lost(tmp_path: Path) -> None:
    """`last_tick` moves only in a commit that holds every firing up to it."""
    night = Night(tmp_path, hourly("latest"), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T00:59:59Z")
        await night.crash()
        await night.clock.advance(timedelta(seconds=1))
        await night.reopen()
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("prices")] == ["01:00"]


async def test_last_tick_moves_every_minute_even_when_nothing_fires(tmp_path: Path) -> None:
    """A crash after a quiet day looks back one minute, not one day."""
    night = Night(tmp_path, 'jobs: {daily: {command: x, schedule: "0 1 * * *"}}', at="2026-10-19T02:00Z")
    async with night:
        await night.until("2026-10-19T05:00:30Z")
        assert night.engine.store.engine_values()["last_tick"] == instant("2026-10-19T05:00Z").isoformat()


async def test_a_restored_older_store_holds_its_catch_up(tmp_path: Path) -> None:
    """An old backup must not run a week of jobs again by itself: --dry-run, --accept or --skip."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.engine.stop()
        (tmp_path / "state" / "generation").write_text("7\n")
        await night.clock.advance(3 * HOUR)
        await night.reopen()
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("prices")] == ["01:00"]
        preview = await night.engine.preview_catch_up()
        assert [f"{firing.scheduled_at:%H:%M}" for firing in preview.jobs["prices"].run] == ["02:00", "03:00", "04:00"]
        await night.restart()
        assert len(night.runs("prices")) == 1
        await night.engine.settle_catch_up(accept=True, actor="ann")
        await night.go(timedelta(minutes=10))
        assert len(night.runs("prices")) == 4
        await night.restart()
        assert night.engine.catch_up_held is None


async def test_after_a_restore_no_run_id_and_no_log_is_used_again(tmp_path: Path) -> None:
    """What ran since the backup has left its id and its output behind, twice over where it is put back twice."""
    jobs = "jobs: {hand: {command: x, schedule: manual, overlap: allow}}"
    night = Night(tmp_path, jobs, at="2026-10-19T01:00Z")
    database, copy = tmp_path / "state" / "pysched.db", tmp_path / "copy.db"
    seen: list[tuple[str, Path]] = []

    async def use() -> None:
        """Start two new runs, and the one of the backup again."""
        for _ in range(2):
            await night.engine.trigger("hand", actor="ann")
            await night.go(timedelta(minutes=5))
        await night.engine.rerun("hand.2026-10-19.1", actor="ann")
        await night.go(timedelta(minutes=5))
        seen.extend((spec.run_id, spec.stdout_path) for spec in night.launcher.launched)
        night.launcher.launched.clear()

    async with night:
        await night.engine.trigger("hand", actor="ann")
        await night.go(timedelta(minutes=5))
        night.launcher.launched.clear()
        night.engine.store.backup(copy)
        await use()
        for _ in range(2):
            await night.engine.stop()
            Store.restore(copy, database.parent)
            await night.reopen()
            await use()
            await night.restart()
            await use()
        assert len({path for _, path in seen}) == len(seen)
        new = [run_id for run_id, _ in seen if run_id != "hand.2026-10-19.1"]
        assert len(set(new)) == len(new)
        assert [run.run_id for run in night.runs("hand")] == ["hand.2026-10-19.1", *new[-4:]]
        assert len(night.lines("restored")) >= 1


async def test_a_held_catch_up_can_be_skipped(tmp_path: Path) -> None:
    """One line a job says what was dropped, and by whom."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.engine.stop()
        (tmp_path / "state" / "generation").write_text("7\n")
        await night.clock.advance(3 * HOUR)
        await night.reopen()
        await night.engine.settle_catch_up(accept=False, actor="ann")
        assert len(night.runs("prices")) == 1
        assert [(line.actor, line.detail["count"]) for line in night.lines("firings_dropped")] == [("ann", 3)]


async def test_a_skipped_catch_up_tells_of_what_was_held_and_of_nothing_since(tmp_path: Path) -> None:
    """What fired after the start has its run."""
    night = Night(tmp_path, hourly("all"), at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.engine.stop()
        (tmp_path / "state" / "generation").write_text("7\n")
        await night.clock.advance(3 * HOUR)
        await night.reopen()
        await night.go(2 * HOUR)
        await night.engine.settle_catch_up(accept=False, actor="ann")
        assert [f"{run.scheduled_at:%H:%M}" for run in night.runs("prices")] == ["01:00", "05:00", "06:00"]
        assert [line.detail["count"] for line in night.lines("firings_dropped")] == [3]


async def test_a_held_catch_up_that_is_killed_half_way_is_held_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accepted again it makes up for the rest: nothing is lost, nothing runs twice."""
    jobs = hourly("all") + hourly("all").removeprefix("jobs:\n").replace("prices", "rates")
    night = Night(tmp_path, jobs, at="2026-10-19T00:59Z")
    async with night:
        await night.until("2026-10-19T01:10Z")
        await night.engine.stop()
        (tmp_path / "state" / "generation").write_text("7\n")
        await night.clock.advance(3 * HOUR)
        await night.reopen()
        catch_up = night.engine.firings.catch_up

        async def killed(job: Job, since: datetime, until: datetime) -> CaughtUp:
            if job.name == "rates":
                await night.engine.proceed()
                await night.crash()
                raise StoreUnavailable("it is gone")
            return await catch_up(job, since, until)

        monkeypatch.setattr(night.engine.firings, "catch_up", killed)
        with pytest.raises(StoreUnavailable):
            await night.engine.settle_catch_up(accept=True, actor="ann")
        await night.reopen()
        assert night.engine.catch_up_held is not None
        await night.engine.settle_catch_up(accept=True, actor="ann")
        assert [len(night.runs(name)) for name in ("prices", "rates")] == [4, 4]
        await night.restart()
        assert night.engine.catch_up_held is None


async def test_reboot_jobs_run_once_for_each_boot(tmp_path: Path) -> None:
    """Due at boot time, whatever `catch_up` says; not again when the scheduler restarts."""
    jobs = 'jobs: {warm: {command: x, schedule: "@reboot", catch_up: none}}'
    night = Night(tmp_path, jobs, at="2026-10-19T00:59Z")
    async with night:
        assert night.runs("warm") == []
        await night.engine.stop()
        night.engine = night._new_engine()
        night.engine.boot_id = "another boot"
        await night.engine.start()
        await night.engine.settle()
        assert len(night.launcher.launched) == 1
        boot = night.engine.boot_id
        await night.engine.stop()
        night.engine = night._new_engine()
        night.engine.boot_id = boot
        await night.engine.start()
        await night.engine.settle()
        assert len(night.launcher.launched) == 1
