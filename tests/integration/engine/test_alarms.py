"""Alerts on a real engine and store: in the batch of their cause, once, on time, over restarts. Spec: jobs.md 15.1."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.model.alert import Raised
from pyscheduler.store.questions import AlertQuery
from pyscheduler.testing import FakeResult
from tests.night import Night

WAYS = """
notifiers:
  ops: {type: log, path: a.log}
  team: {type: log, path: b.log}
routes:
  - {match: "alert.#", notify: [ops]}
"""
FAILS = FakeResult(exit_code=1)
LASTS = FakeResult(duration=timedelta(hours=6))


def shown(night: Night) -> dict[str, list[tuple[str, str]]]:
    """Return every alert in the store, oldest first, with its deliveries."""
    page = night.engine.store.alerts(AlertQuery(limit=1000))
    return {
        told.alert.alert_id: [(each.notifier, each.status.value) for each in told.deliveries]
        for told in reversed(page.items)
    }


def ids(night: Night) -> list[str]:
    return list(shown(night))


def message(night: Night, alert_id: str) -> str:
    told = night.engine.store.alert(alert_id)
    assert told is not None
    return told.alert.message


async def test_a_failure_and_what_it_blocks_are_told_with_the_change(tmp_path: Path) -> None:
    """The rows are there when the change is shown; listeners hear of them once they are on disk."""
    jobs = (
        WAYS
        + """
jobs:
  bake: {command: x, schedule: "0 9 * * *", criticality: high, alerts: {notify: [team]}}
  ice: {command: x, depends_on: [bake]}
"""
    )
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("bake", FAILS)
    heard: list[tuple[str, tuple[str, ...]]] = []

    def hear(raised: tuple[Raised, ...]) -> None:
        assert all(night.engine.store.alert(each.alert.alert_id) for each in raised)
        heard.extend((each.alert.topic, each.notify) for each in raised)

    async with night:
        night.engine.watch_alerts(hear)
        await night.until("2026-10-19T09:02Z")
        assert shown(night) == {
            "bake.2026-10-19.1:failed:1": [("ops", "pending"), ("team", "pending")],
            "ice.2026-10-19.1:blocked:0": [("ops", "pending")],
        }
        assert heard == [
            ("alert.failed.high.bake", ("ops", "team")),
            ("alert.blocked.normal.ice", ("ops",)),
        ]


async def test_the_same_alert_is_raised_once_over_restarts_and_hands(tmp_path: Path) -> None:
    """Failed again by hand with the same attempt number; blocked, freed and blocked again."""
    jobs = (
        WAYS
        + """
jobs:
  bake: {command: x, schedule: "0 9 * * *"}
  ice: {command: x, depends_on: [bake]}
"""
    )
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("bake", FAILS, FAILS)
    async with night:
        await night.until("2026-10-19T09:02Z")
        before = shown(night)
        await night.engine.mark_success("bake.2026-10-19.1", actor="ann")
        await night.engine.mark_failed("bake.2026-10-19.1", actor="ann")
        await night.engine.settle()
        await night.restart(down=timedelta(minutes=1))
        assert shown(night) == before
        await night.engine.rerun("bake.2026-10-19.1", actor="ann")
        await night.go(timedelta(minutes=2))
        assert sorted(set(shown(night)) - set(before)) == ["bake.2026-10-19.1:failed:2"], "another attempt is news"


async def test_what_a_crash_lost_is_told_in_the_recoverys_flush(tmp_path: Path) -> None:
    night = Night(tmp_path, WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *"}}\n', at="2026-10-19T08:59Z")
    night.plan("a", LASTS)
    async with night:
        await night.until("2026-10-19T09:01Z")
        await night.crash()
        night.launcher.lose("a.2026-10-19.1")
        await night.reopen()
        assert ids(night) == ["a.2026-10-19.1:failed:1", "a.2026-10-19.1:lost:1"]


# --------------------------------------------------------------------------- deadlines

LATE = (
    WAYS
    + """
jobs:
  up: {command: x, schedule: manual}
  late: {command: x, schedule: "0 9 * * *", depends_on: [up], must_start_by: "09:30"}
  soon: {command: x, schedule: "0 9 * * *", depends_on: [up], must_start_by: 10m}
"""
)


async def test_a_run_that_does_not_start_in_time_is_told_at_its_deadline(tmp_path: Path) -> None:
    night = Night(tmp_path, LATE, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:09:59Z")
        assert ids(night) == []
        await night.until("2026-10-19T09:10Z")
        assert ids(night) == ["soon.2026-10-19.1:never_started:0"]
        await night.until("2026-10-19T12:00Z")
        assert ids(night) == ["soon.2026-10-19.1:never_started:0", "late.2026-10-19.1:never_started:0"]
        assert message(night, ids(night)[1]).endswith(
            "by 2026-10-19 09:30:00 UTC: it is waiting (waiting for up (2026-10-19): no run yet)"
        )


async def test_one_that_has_started_or_ended_is_not_told(tmp_path: Path) -> None:
    night = Night(tmp_path, LATE, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:05Z")
        await night.engine.force_start("soon.2026-10-19.1", actor="ann")
        await night.engine.cancel("late.2026-10-19.1", actor="ann")
        await night.until("2026-10-19T12:00Z")
        assert ids(night) == []


@pytest.mark.parametrize(("dies", "rings"), [("2026-10-19T09:05Z", True), ("2026-10-19T09:20Z", False)])
async def test_a_deadline_that_passed_while_it_was_down_rings_at_the_start(
    tmp_path: Path, dies: str, rings: bool
) -> None:
    """Only if it fell after the last sign of life: what the engine before has told is not told again."""
    night = Night(tmp_path, LATE, at="2026-10-19T08:59Z")
    async with night:
        await night.until(dies)
        before = ids(night)
        await night.crash()
        await night.clock.advance(timedelta(minutes=8))
        await night.reopen()
        await night.engine.settle()
        assert (ids(night) != before) is rings
        assert ids(night).count("soon.2026-10-19.1:never_started:0") == 1


async def test_a_late_run_has_no_deadline(tmp_path: Path) -> None:
    """A catch-up, a backfill, a rerun are first seen after it."""
    jobs = (
        WAYS
        + """
jobs:
  up: {command: x, schedule: manual}
  late: {command: x, schedule: "0 9 * * *", depends_on: [up], must_start_by: 10m, catch_up: all}
"""
    )
    night = Night(tmp_path, jobs, at="2026-10-19T08:00Z")
    async with night:
        await night.restart(down=timedelta(hours=6))
        assert night.state("late") == "waiting"
        await night.engine.backfill("late", start=date(2026, 10, 16), end=date(2026, 10, 19), actor="ann")
        await night.go(timedelta(hours=1))
        assert ids(night) == []


async def test_an_attempt_that_runs_too_long_is_told_and_not_touched(tmp_path: Path) -> None:
    jobs = WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *", max_runtime: 30m, retries: {count: 1}}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("a", FakeResult(exit_code=1, duration=timedelta(hours=1)), LASTS)
    async with night:
        await night.until("2026-10-19T09:29:59Z")
        assert ids(night) == []
        await night.until("2026-10-19T09:30Z")
        assert (ids(night), night.state("a")) == (["a.2026-10-19.1:too_long:1"], "running")
        await night.until("2026-10-19T11:00Z")
        assert ids(night) == ["a.2026-10-19.1:too_long:1", "a.2026-10-19.1:too_long:2"], "each attempt has its own"


async def test_an_attempts_length_is_not_the_wall_clocks(tmp_path: Path) -> None:
    """DESIGN 3: durations run on the monotonic clock. A clock put forward makes nobody late."""
    jobs = WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *", max_runtime: 30m}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("a", LASTS)
    async with night:
        await night.until("2026-10-19T09:01Z")
        await night.clock.step(timedelta(hours=2))
        await night.engine.settle()
        assert ids(night) == []


async def test_an_adopted_attempt_keeps_its_deadline(tmp_path: Path) -> None:
    jobs = WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *", max_runtime: 30m}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("a", LASTS)
    async with night:
        await night.until("2026-10-19T09:10Z")
        await night.crash()
        await night.clock.advance(timedelta(minutes=5))
        await night.reopen()
        await night.until("2026-10-19T09:29Z")
        assert ids(night) == []
        await night.until("2026-10-19T09:31Z")
        assert ids(night) == ["a.2026-10-19.1:too_long:1"]


OVER = WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *", max_runtime: 30m}}\n'


@pytest.mark.parametrize(("dies", "down", "told"), [(10, 25, 1), (10, 60, 1), (10, 15, 0), (40, 60, 1)])
async def test_an_overrun_that_nobody_saw_is_told_at_the_next_start(
    tmp_path: Path, dies: int, down: int, told: int
) -> None:
    """Whether the attempt still runs then or has ended meanwhile, and once: not what the engine before has told."""
    night = Night(tmp_path, OVER, at="2026-10-19T08:59:30Z")
    night.plan("a", FakeResult(duration=timedelta(minutes=50)))
    async with night:
        await night.until(f"2026-10-19T09:{dies}:00Z")
        await night.crash()
        await night.clock.advance(timedelta(minutes=down))
        await night.reopen()
        assert ids(night) == ["a.2026-10-19.1:too_long:1"][:told]
        await night.go(timedelta(hours=2))
        assert ids(night) == ["a.2026-10-19.1:too_long:1"]


async def test_an_attempt_that_ended_in_time_while_it_was_down_is_not_told(tmp_path: Path) -> None:
    night = Night(tmp_path, OVER, at="2026-10-19T08:59:30Z")
    night.plan("a", FakeResult(duration=timedelta(minutes=20)))
    async with night:
        await night.until("2026-10-19T09:10:00Z")
        await night.crash()
        await night.clock.advance(timedelta(hours=2))
        await night.reopen()
        assert (night.state("a"), ids(night)) == ("succeeded", [])


async def test_a_reload_moves_deadlines_but_adds_none_to_what_runs(tmp_path: Path) -> None:
    job = 'jobs: {{a: {{command: x, schedule: "@daily", max_runtime: {}}}, b: {{command: x, schedule: "@daily"{}}}}}\n'
    night = Night(tmp_path, WAYS + job.format("2h", ""), at="2026-10-18T23:59Z")
    night.plan("a", LASTS)
    night.plan("b", LASTS)
    async with night:
        await night.until("2026-10-19T00:10Z")
        await night.reload(WAYS + job.format("20m", ", max_runtime: 20m"))
        await night.until("2026-10-19T00:19Z")
        assert ids(night) == []
        await night.until("2026-10-19T00:21Z")
        assert ids(night) == ["a.2026-10-19.1:too_long:1"]
        await night.until("2026-10-19T03:00Z")
        assert ids(night) == ["a.2026-10-19.1:too_long:1"]


async def test_a_deadline_that_a_reload_brings_too_late_does_not_ring(tmp_path: Path) -> None:
    """First seen after it, a run has none (spec 15.1); nor after a second reload, or a change of the run."""
    without = LATE.replace(", must_start_by: 10m", "").replace(', must_start_by: "09:30"', "")
    night = Night(tmp_path, without, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T10:00Z")
        await night.reload(LATE)
        await night.engine.hold("soon.2026-10-19.1", actor="ann")
        await night.until("2026-10-19T12:00Z")
        assert ids(night) == []


async def test_a_deadline_that_a_reload_takes_away_does_not_ring(tmp_path: Path) -> None:
    night = Night(tmp_path, LATE, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:05Z")
        await night.reload(LATE.replace(", must_start_by: 10m", "").replace('"09:30"', '"09:20"'))
        await night.until("2026-10-19T09:19Z")
        assert ids(night) == []
        await night.until("2026-10-19T12:00Z")
        assert ids(night) == ["late.2026-10-19.1:never_started:0"]


# --------------------------------------------------------------------------- troubles and their ends


async def test_the_first_success_after_a_failure_is_told_where_asked_for(tmp_path: Path) -> None:
    jobs = WAYS + 'jobs: {a: {command: x, schedule: "*/10 * * * *", alerts: {on: [recovered]}}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z")
    night.plan("a", FAILS, FAILS, FakeResult(), FakeResult())
    async with night:
        await night.until("2026-10-19T09:15Z")
        await night.restart()
        await night.until("2026-10-19T09:45Z")
        assert ids(night) == [
            "a.2026-10-19.1:failed:1",
            "a.2026-10-19.2:failed:1",
            "a.2026-10-19.3:recovered:1",
        ]
        told = "a has recovered: a.2026-10-19.3 succeeded 20m00s after the first alert"
        assert message(night, "a.2026-10-19.3:recovered:1") == told


async def test_a_job_that_asks_for_nothing_writes_nothing_more(tmp_path: Path) -> None:
    """Only those who want to know of ends pay for remembering beginnings."""
    night = Night(tmp_path, WAYS + 'jobs: {a: {command: x, schedule: "0 9 * * *"}}\n', at="2026-10-19T08:59Z")
    night.plan("a", FAILS)
    async with night:
        await night.until("2026-10-19T09:05Z")
        values = night.engine.store.engine_values()
        assert [key for key in values if key.startswith(("outage:", "quiet:"))] == []


async def test_a_refused_reload_is_told_and_changes_nothing(tmp_path: Path) -> None:
    night = Night(tmp_path, WAYS, at="2026-10-19T08:59Z")
    async with night:
        await night.engine.reload_failed(["c.yaml:1: wrong"], actor="ann")
        (told,) = night.engine.store.alerts(AlertQuery()).items
        assert told.alert.topic == "alert.reload_failed.high._scheduler"
        assert told.alert.detail == {"problems": ["c.yaml:1: wrong"]}
        assert [each.notifier for each in told.deliveries] == ["ops"]


# --------------------------------------------------------------------------- silence

QUIET = WAYS + 'jobs: {a: {command: x, schedule: "* * * * *", overlap: skip, max_silence: 10m}}\n'


async def test_silence_counts_from_the_last_success_over_a_restart(tmp_path: Path) -> None:
    night = Night(tmp_path, QUIET, at="2026-10-19T08:59Z")
    night.plan("a", FakeResult(), LASTS)
    async with night:
        await night.until("2026-10-19T09:05Z")
        await night.restart(down=timedelta(minutes=2))
        await night.until("2026-10-19T09:09:59Z")
        stale = [each for each in ids(night) if ":stale:" in each]
        assert stale == []
        await night.until("2026-10-19T10:30Z")
        await night.restart(down=timedelta(minutes=1))
        await night.until("2026-10-19T11:30Z")
        assert [each for each in ids(night) if ":stale:" in each] == ["a:stale:20261019T090000.000000Z"]


async def test_a_paused_job_is_not_stale(tmp_path: Path) -> None:
    night = Night(tmp_path, QUIET, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:05Z")
        await night.engine.pause("a", actor="ann")
        await night.until("2026-10-19T10:00Z")
        assert ids(night) == []
        await night.engine.resume("a", actor="ann")
        await night.until("2026-10-19T11:00Z")
        assert ids(night) == []


async def test_a_reload_begins_and_ends_the_watch(tmp_path: Path) -> None:
    night = Night(tmp_path, QUIET.replace(", max_silence: 10m", ""), at="2026-10-19T08:59Z")
    night.plan("a", LASTS)
    async with night:
        await night.until("2026-10-19T09:30Z")
        await night.reload(QUIET)
        await night.until("2026-10-19T09:39Z")
        assert [each for each in ids(night) if "stale" in each] == []
        await night.until("2026-10-19T09:41Z")
        assert [each for each in ids(night) if "stale" in each] == ["a:stale:20261019T093000.000000Z"]
        await night.reload(QUIET.replace(", max_silence: 10m", ""))
        assert [key for key in night.engine.store.engine_values() if key.startswith("quiet:")] == []


async def test_old_alerts_of_no_run_go_with_the_retention(tmp_path: Path) -> None:
    night = Night(tmp_path, WAYS, at="2026-10-19T08:59Z", settings={"retention": "2d"})
    async with night:
        await night.engine.reload_failed(["wrong"], actor="ann")
        await night.go(timedelta(days=3))
        assert ids(night) == []
        assert night.engine.store.pending_notifiers() == []
