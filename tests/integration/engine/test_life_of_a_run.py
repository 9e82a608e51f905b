"""From the bell to the end: seed 004's life of a run, on a fake clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from pyscheduler.testing import FakeResult
from tests.night import Night, ids, instant

CHAIN = """
jobs:
  bake:
    command: ./bake.sh
    schedule: "0 9 * * *"
  ice:
    command: ./ice.sh
    depends_on: [bake]
"""

FAILS = FakeResult(exit_code=1)


async def test_a_chain_runs_in_order_on_the_bell(tmp_path: Path) -> None:
    """Rung at nine, baked by one past, iced a minute later; the dependant is created with its upstream."""
    night = Night(tmp_path, CHAIN, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:00Z")
        assert night.told("bake") == ("running", "")
        assert night.told("ice") == ("waiting", "waiting for bake (2026-10-19)")
        await night.until("2026-10-19T09:01Z")
        assert night.state("bake") == "succeeded"
        assert night.state("ice") == "running"
        await night.until("2026-10-19T09:02Z")
        assert night.state("ice") == "succeeded"
        assert night.started() == ["bake.2026-10-19.1", "ice.2026-10-19.1"]
        actions = [(line.action, line.run_id) for line in night.lines()]
        assert actions[:3] == [
            ("created", "bake.2026-10-19.1"),
            ("created", "ice.2026-10-19.1"),
            ("attempt_started", "bake.2026-10-19.1"),
        ]
        assert night.lines("created")[1].detail == {"trigger": "dependency", "because": "bake.2026-10-19.1"}


async def test_a_failed_upstream_blocks_and_its_rerun_unblocks(tmp_path: Path) -> None:
    """The dependant says who blocked it, and goes on by itself when that is put right."""
    night = Night(tmp_path, CHAIN, at="2026-10-19T08:59Z")
    night.plan("bake", FAILS, FakeResult())
    async with night:
        await night.until("2026-10-19T09:01Z")
        assert night.told("ice") == ("blocked", "blocked: bake (2026-10-19) failed")
        await night.engine.rerun("bake.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert night.told("ice") == ("waiting", "waiting for bake (2026-10-19)")
        await night.until("2026-10-19T09:03Z")
        assert (night.state("bake"), night.state("ice")) == ("succeeded", "succeeded")


async def test_retries_wait_and_grow_and_end(tmp_path: Path) -> None:
    """The example of jobs.md 6: 20 s, 60 s, 120 s between the tries, and then it is over."""
    night = Night(
        tmp_path,
        """
        jobs:
          load:
            command: ./load.sh
            schedule: "0 9 * * *"
            retries: {count: 3, delay: 20s, backoff: 3, max_delay: 2m}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("load", FakeResult(timedelta(seconds=1), exit_code=7))
    async with night:
        await night.until("2026-10-19T09:00:01Z")
        assert night.told("load") == ("retry_wait", "retry 1/3 after exit 7")
        await night.until("2026-10-19T09:10Z")
        run = night.latest("load")
        assert night.told("load") == ("failed", "exit 7")
        attempts = night.engine.store.attempts(run.run_id)
        starts = [attempt.started_at - instant("2026-10-19T09:00Z") for attempt in attempts]
        assert [start.total_seconds() for start in starts] == [0, 21, 82, 203]


async def test_a_timeout_is_a_timeout_even_if_the_job_leaves_with_zero(tmp_path: Path) -> None:
    """DESIGN 8 row 1, and the retry rules follow."""
    night = Night(
        tmp_path,
        """
        jobs:
          slow: {command: ./slow.sh, schedule: "0 9 * * *", timeout: 30s, retries: {count: 1, delay: 1m}}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("slow", FakeResult(timedelta(hours=1)), FakeResult(timedelta(seconds=5)))
    async with night:
        await night.until("2026-10-19T09:00:30Z")
        assert night.told("slow") == ("retry_wait", "retry 1/1 after timeout")
        await night.until("2026-10-19T09:02Z")
        assert night.state("slow") == "succeeded"


async def test_overlap_queue_keeps_the_newest_of_a_date(tmp_path: Path) -> None:
    """A job busy for 150 minutes: of the firings meanwhile only the newest waits, the others are superseded."""
    night = Night(tmp_path, 'jobs: {hourly: {command: x, schedule: "0 9-12 * * *"}}', at="2026-10-19T08:59Z")
    night.plan("hourly", FakeResult(timedelta(minutes=150)), FakeResult())
    async with night:
        await night.until("2026-10-19T11:00Z")
        assert [(run.seq, run.state.value, run.reason) for run in night.runs("hourly")] == [
            (1, "running", ""),
            (2, "cancelled", "superseded"),
            (3, "waiting", "waiting for previous run"),
        ]
        await night.until("2026-10-19T11:31Z")
        assert [run.state.value for run in night.runs("hourly")] == ["succeeded", "cancelled", "succeeded"]


async def test_overlap_skip_cancels_and_the_earlier_run_stands_for_the_date(tmp_path: Path) -> None:
    """The cancelled newest run does not block the dependants (DESIGN 8 row 2)."""
    night = Night(
        tmp_path,
        """
        jobs:
          hourly: {command: x, schedule: "0 9-10 * * *", overlap: skip}
          report: {command: y, depends_on: [hourly]}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("hourly", FakeResult(timedelta(minutes=90)))
    async with night:
        await night.until("2026-10-19T10:00Z")
        assert [run.reason for run in night.runs("hourly")] == ["", "skipped: overlap"]
        assert night.told("report") == ("waiting", "waiting for hourly (2026-10-19)")
        await night.until("2026-10-19T10:31Z")
        assert night.state("report") == "succeeded"


async def test_pools_and_the_cap_bound_what_runs(tmp_path: Path) -> None:
    """Twelve jobs at once, eight slots, a pool of three: never more, and all of them run."""
    jobs = "pools: {db: 3}\njobs:\n"
    for n in range(12):
        pool = "pools: {db: 1}" if n < 6 else "pools: {}"
        jobs += f'  j{n}: {{command: x, schedule: "0 9 * * *", {pool}}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59Z", settings={"max_running": 8})
    async with night:
        await night.until("2026-10-19T09:00Z")
        assert night.launcher.max_concurrent == 8
        assert night.engine.admission.in_use["db"] == 2 or night.engine.admission.in_use["db"] == 3
        await night.until("2026-10-19T09:10Z")
        assert all(night.state(f"j{n}") == "succeeded" for n in range(12))
        assert night.launcher.max_concurrent == 8
        assert (night.engine.admission.running, night.engine.admission.free("db")) == (0, 3)


async def test_a_failure_branch_is_skipped_and_decided_again_by_a_rerun(tmp_path: Path) -> None:
    """What only a verdict skipped comes back when its upstream is rerun and then fails (DESIGN 8 row 5)."""
    night = Night(
        tmp_path,
        """
        jobs:
          load: {command: x, schedule: "0 9 * * *"}
          clean: {command: y, depends_on: [{job: load, on: failure}]}
        """,
        at="2026-10-19T08:59Z",
    )
    night.plan("load", FakeResult(), FAILS)
    async with night:
        await night.until("2026-10-19T09:01Z")
        assert night.told("clean") == ("skipped", "skipped: load (2026-10-19) did not fail")
        await night.engine.rerun("load.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert night.told("clean") == ("waiting", "waiting for load (2026-10-19)")
        await night.until("2026-10-19T09:03Z")
        assert night.state("clean") == "succeeded"


async def test_jitter_delays_the_start_and_nothing_else(tmp_path: Path) -> None:
    """`scheduled_at` is the nominal instant; the start comes later by the job's own constant."""
    night = Night(
        tmp_path,
        'jobs: {spread: {command: x, schedule: {cron: "0 9 * * *", jitter: 10m}}}',
        at="2026-10-19T08:59Z",
    )
    async with night:
        await night.until("2026-10-19T09:00Z")
        run = night.latest("spread")
        assert (run.state.value, run.scheduled_at) == ("queued", instant("2026-10-19T09:00Z"))
        assert run.not_before is not None
        assert instant("2026-10-19T09:00Z") < run.not_before <= instant("2026-10-19T09:10Z")
        await night.until("2026-10-19T09:12Z")
        attempt = night.engine.store.attempts(run.run_id)[0]
        assert abs((attempt.started_at - run.not_before).total_seconds()) < 1


async def test_a_bad_template_is_the_attempts_fault(tmp_path: Path) -> None:
    """It fails as a start error with its retries, and nothing was launched."""
    night = Night(
        tmp_path,
        'jobs: {odd: {command: "echo {run_date:%Y}", stdout: "{log_dir}/{run_id}", schedule: "0 9 * * *"}}',
        at="2026-10-19T08:59Z",
    )
    async with night:
        await night.until("2026-10-19T09:00Z")
        spec = night.launcher.launched[0]
        assert spec.argv == ("/bin/sh", "-c", "echo 2026")
        assert spec.stdout_path == tmp_path / "logs" / "odd.2026-10-19.1"
        assert spec.env["PYSCHED_RUN_ID"] == "odd.2026-10-19.1"


async def test_max_wait_ends_endless_waiting(tmp_path: Path) -> None:
    """`failed`, upstream missing (DESIGN 8 row 17); its dependants are blocked by it."""
    night = Night(
        tmp_path,
        """
        jobs:
          u: {command: x, schedule: manual}
          d: {command: y, schedule: "0 2 * * *", depends_on: [u], max_wait: 6h}
          e: {command: z, depends_on: [d]}
        """,
        at="2026-01-05T01:59Z",
    )
    async with night:
        await night.until("2026-01-05T07:59Z")
        assert night.told("d") == ("waiting", "waiting for u (2026-01-05): no run yet")
        await night.until("2026-01-05T08:00Z")
        assert night.told("d") == ("failed", "upstream missing: waiting for u (2026-01-05): no run yet")
        assert night.told("e") == ("blocked", "blocked: d (2026-01-05) failed")


async def test_max_wait_does_not_touch_what_came_in_time(tmp_path: Path) -> None:
    """FC-074: the upstream is run by hand for the date before the end of the patience, and the run starts."""
    night = Night(
        tmp_path,
        """
        jobs:
          u: {command: x, schedule: manual}
          d: {command: y, schedule: "0 2 * * *", depends_on: [u], max_wait: 6h}
        """,
        at="2026-01-05T01:59Z",
    )
    async with night:
        await night.until("2026-01-05T07:30Z")
        await night.engine.trigger("u", actor="ann")
        await night.until("2026-01-05T09:00Z")
        assert ids(night.runs("d")) == ["d.2026-01-05.1"]
        assert night.state("d") == "succeeded"


LONG = """
jobs:
  bake: {command: ./bake.sh, schedule: "0 9 * * *"}
"""


def pids_on_disk(night: Night) -> list[int | None]:
    rows = night.engine.store.attempts_of(["bake.2026-10-19.1"])
    return [row.pid for row in rows.get("bake.2026-10-19.1", [])]


async def test_the_row_of_an_ended_attempt_names_its_minder(tmp_path: Path) -> None:
    """It is noted in memory first, and an attempt that ends at once has it in its last row."""
    night = Night(tmp_path, LONG, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:02Z")
        assert night.state("bake") == "succeeded"
        assert pids_on_disk(night) == [10001]


async def test_a_running_attempt_s_minder_is_on_disk_soon(tmp_path: Path) -> None:
    """Nothing else has to happen for that."""
    night = Night(tmp_path, LONG, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:00Z")
        async with asyncio.timeout(60):
            while pids_on_disk(night) != [10001]:
                await asyncio.sleep(0.01)
        assert night.state("bake") == "running"


async def test_a_polite_stop_writes_the_minders_down(tmp_path: Path) -> None:
    """The next engine finds them in the store, however short ago they were started."""
    night = Night(tmp_path, LONG, at="2026-10-19T08:59Z")
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.restart()
        assert pids_on_disk(night) == [10001]
