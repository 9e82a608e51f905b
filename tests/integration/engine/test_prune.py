"""Throwing old notes away: seed 000 step 4, jobs.md 8.3."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.attempts import Attempts
from pyscheduler.errors import NotFound
from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.batch import Batch
from pyscheduler.testing import FakeResult
from tests.night import Night, ids

DAYS = 86400.0


async def test_ended_runs_older_than_the_retention_go_with_all_that_is_theirs(tmp_path: Path) -> None:
    """With their attempts and lines; open runs stay however old."""
    night = Night(
        tmp_path,
        """
        jobs:
          daily: {command: x, schedule: "0 9 * * *"}
          open: {command: y, schedule: manual, depends_on: [never]}
          never: {command: z, schedule: manual}
        """,
        at="2026-10-01T08:00Z",
        settings={"retention": "10d"},
        tick_s=DAYS,
    )
    async with night:
        old = await night.engine.trigger("open", actor="ann")
        await night.until("2026-10-21T09:30Z")
        await night.engine.prune(night.clock.now())
        kept = [night.engine.store.get_run(f"daily.2026-10-{day:02d}.1") is not None for day in range(1, 22)]
        assert kept == [False] * 10 + [True] * 11
        assert night.engine.store.attempts("daily.2026-10-05.1") == []
        assert night.engine.store.get_run(old.run_id) is not None
        assert night.engine.book.get(old.run_id) is not None
        with pytest.raises(NotFound):
            await night.engine.rerun("daily.2026-10-05.1", actor="ann")
        again = await night.engine.trigger("daily", actor="ann", run_date=date(2026, 10, 5))
        assert again.seq == 2  # the first one's id is in logs and tickets: it is not given twice
    await night.reopen()
    try:
        third = await night.engine.trigger("daily", actor="ann", run_date=date(2026, 10, 6))
        assert third.seq == 2  # nor after a restart
        assert night.engine.book.next_seq("daily", date(2026, 10, 30)) == 1
    finally:
        await night.engine.stop()


async def test_a_late_run_of_an_old_date_is_kept_as_long_as_any_other(tmp_path: Path) -> None:
    """It is pruned by its age, not its date's: a backfill asked for again finds it, and so does who looks for it."""
    night = Night(
        tmp_path,
        """
        jobs:
          daily: {command: x, schedule: "0 9 * * *"}
        """,
        at="2026-10-01T08:00Z",
        settings={"retention": "10d", "memory_days": 1},
        tick_s=DAYS,
    )
    old = date(2026, 5, 1)
    async with night:
        made = await night.engine.backfill("daily", start=old, end=old, actor="ann")
        await night.go(timedelta(minutes=5))
        await night.engine.prune(night.clock.now())
        assert night.engine.store.get_run("daily.2026-05-01.1") is not None
        await night.restart(down=timedelta(days=9))
        assert night.engine.store.get_run("daily.2026-05-01.1") is not None
        assert ids(made) == ["daily.2026-05-01.1"]
        assert await night.engine.backfill("daily", start=old, end=old, actor="ann") == []
        await night.until("2026-10-11T09:30Z")
        await night.engine.prune(night.clock.now())
        assert night.engine.store.get_run("daily.2026-05-01.1") is None


async def test_a_late_run_that_never_started_leaves_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the commit and the start, of a date long past: the next start says so, and keeps saying it."""
    night = Night(
        tmp_path,
        """
        jobs:
          daily: {command: x, schedule: "0 9 * * *"}
        """,
        at="2026-10-01T08:00Z",
        settings={"retention": "10d", "memory_days": 1},
        tick_s=DAYS,
    )
    old = date(2026, 5, 1)
    async with night:
        with monkeypatch.context() as patch:
            patch.setattr(Attempts, "launch", _killed_before_it)
            (run,) = await night.engine.backfill("daily", start=old, end=old, actor="ann")
            await night.crash()
        await night.clock.advance(timedelta(seconds=5))
        await night.reopen()
        await night.engine.prune(night.clock.now())
        ended = [line.detail["reason"] for line in night.lines("attempt_ended", run)]
        assert ended == ["lost"]


def _killed_before_it(*_: object, **__: object) -> None:
    """The launch that a crash forestalls."""


async def test_the_memory_window_is_days_plus_reach(tmp_path: Path) -> None:
    """With run_date -7 and the default window a new run still finds last week's upstream in memory."""
    night = Night(
        tmp_path,
        """
        calendars: {week: {weekdays: [mon, tue, wed, thu, fri]}}
        jobs:
          up: {command: x, schedule: "0 9 * * *", calendar: week}
          down: {command: y, schedule: "0 10 * * *", calendar: week, depends_on: [{job: up, run_date: -7}]}
        """,
        at="2027-05-03T08:00Z",
        tick_s=DAYS,
    )
    async with night:
        await night.until("2027-05-20T09:30Z")
        await night.engine.prune(night.clock.now())
        start = night.engine.memory_start()
        # seven working days before Thursday 20 May is 11 May: 9 calendar days, a week of slack, 7 days of window
        assert start == date(2027, 5, 20) - timedelta(days=6 + 9 + 7)
        await night.until("2027-05-20T10:05Z")
        assert night.state("down", "2027-05-20") == "succeeded"


async def test_what_an_open_run_depends_on_is_kept(tmp_path: Path) -> None:
    """A run still waiting for one upstream never loses sight of the others."""
    night = Night(
        tmp_path,
        """
        jobs:
          a: {command: x, schedule: manual}
          b: {command: x, schedule: manual}
          d: {command: y, schedule: manual, depends_on: [a, b]}
        """,
        at="2026-10-01T08:00Z",
        settings={"retention": "3d", "memory_days": 1},
        tick_s=DAYS,
    )
    async with night:
        await night.engine.trigger("a", actor="ann")
        await night.engine.trigger("d", actor="ann")
        await night.until("2026-10-20T08:00Z")
        await night.engine.prune(night.clock.now())
        assert night.engine.store.get_run("a.2026-10-01.1") is not None
        await night.engine.trigger("b", actor="ann", run_date=date(2026, 10, 1))
        await night.go(timedelta(minutes=3))
        assert night.state("d", "2026-10-01") == "succeeded"


async def test_logs_stay_unless_log_retention_says_otherwise(tmp_path: Path) -> None:
    """The default keeps them; with log_retention they go with their age, and empty folders with them."""
    night = Night(
        tmp_path,
        'jobs: {daily: {command: x, schedule: "0 9 * * *"}}',
        at="2026-10-01T08:00Z",
        settings={"log_retention": "5d"},
        tick_s=DAYS,
    )
    async with night:
        for day in range(1, 15):
            await night.until(f"2026-10-{day:02d}T09:30Z")
            path = night.launcher.launched[-1].stdout_path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("out")
        await night.engine.prune(night.clock.now())
        left = sorted(path.name for path in (tmp_path / "logs" / "daily").iterdir())
        assert left == [f"2026-10-{day:02d}" for day in range(9, 15)]


async def test_the_memory_forgets_and_the_store_does_not(tmp_path: Path) -> None:
    """Older runs are read back on demand, and the numbering goes on."""
    night = Night(
        tmp_path,
        'jobs: {daily: {command: x, schedule: "0 9 * * *"}}',
        at="2026-10-01T08:00Z",
        settings={"memory_days": 2},
        tick_s=DAYS,
    )
    async with night:
        await night.until("2026-10-10T09:30Z")
        await night.engine.prune(night.clock.now())
        assert night.engine.book.get("daily.2026-10-08.1") is None
        assert night.engine.book.get("daily.2026-10-09.1") is not None
        reopened = await night.engine.rerun("daily.2026-10-01.1", actor="ann")
        assert reopened[0].run_id == "daily.2026-10-01.1"
        again = await night.engine.trigger("daily", actor="ann", run_date=date(2026, 10, 2))
        assert again.seq == 2


async def test_an_edge_to_a_date_that_memory_forgot_is_read_from_the_store(tmp_path: Path) -> None:
    """Whether at creation, at a restart or when a reload draws the edge: never "no run yet" for a run that is there."""
    jobs = """
    jobs:
      up: {command: x, schedule: "0 9 * * *"}
      down: {command: y, schedule: manual, depends_on: [{job: up, run_date: -20}]}
      late: {command: z, schedule: manual, depends_on: [never]}
      never: {command: n, schedule: manual}
    """
    night = Night(tmp_path, jobs, at="2026-10-01T08:00Z", settings={"memory_days": 1, "memory_runs": 3}, tick_s=DAYS)
    async with night:
        await night.until("2026-10-25T09:30Z")
        await night.engine.trigger("late", actor="ann")
        await night.restart()
        assert night.engine.memory_start() > date(2026, 10, 20)
        await night.engine.trigger("down", actor="ann")
        await night.go(timedelta(minutes=2))
        assert night.told("down") == ("succeeded", "")
        await night.reload(jobs.replace("depends_on: [never]", "depends_on: [{job: up, run_date: -22}]"))
        await night.go(timedelta(minutes=2))
        assert night.told("late") == ("succeeded", "")


async def test_the_audit_log_loses_its_beginning_and_still_verifies(tmp_path: Path) -> None:
    """What is older than audit_retention goes, up to the first row that is not; the rest is proved from there on."""
    night = Night(tmp_path, "jobs: {}", at="2026-10-01T08:00Z", settings={"audit_retention": "10d"}, tick_s=DAYS)
    async with night:
        began = night.clock.now()
        rows = [AuditEntry(at=began + timedelta(days=day), actor="ann", action="hold") for day in range(15)]
        await night.engine.writer.save(Batch(audit=tuple(rows)))
        await night.engine.prune(began + timedelta(days=15))
        found = night.engine.store.verify_audit()
        assert (found.anchor.id, found.rows, found.broken) == (5, 10, None)


async def test_an_old_day_that_has_come_to_be_needed_while_it_prunes_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of an old date that is created meanwhile still knows how its upstreams have ended."""
    jobs = """
    jobs:
      one: {command: x, schedule: manual}
      two: {command: y, schedule: manual}
      both: {command: z, schedule: manual, depends_on: [one, two]}
    """
    day, old = "2026-10-01", date(2026, 10, 1)
    night = Night(tmp_path, jobs, at="2026-10-01T08:00Z", settings={"memory_days": 1}, tick_s=DAYS)
    night.plan("two", FakeResult(timedelta(hours=1)))
    async with night:
        await night.engine.trigger("one", run_date=old, actor="ann")
        await night.until("2026-10-25T09:30Z")
        await night.engine.trigger("two", run_date=old, actor="ann")

        async def meanwhile(_horizon: object) -> None:
            await night.engine.trigger("both", run_date=old, actor="ann")

        monkeypatch.setattr(night.engine.pruner, "_delete_audit_before", meanwhile)
        await night.engine.prune(night.clock.now())
        monkeypatch.undo()
        assert night.told("both", day) == ("waiting", "waiting for two (2026-10-01)")
        await night.until("2026-10-25T10:35Z")
        assert night.state("both", day) == "succeeded"
