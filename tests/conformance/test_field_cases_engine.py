"""Field cases that the engine answers: nights on a fake clock, with the inputs and numbers of the cases.

Where a case offers policies, DESIGN 8 or `spec/jobs.md` decides, and the docstring names what decides. The rules behind
them are tested in their own rooms; here the whole engine with its store goes through the story.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.attempts import Attempts
from pyscheduler.engine.explain import explain
from pyscheduler.errors import ConfigError
from pyscheduler.model.run import Run, Trigger
from pyscheduler.testing import FakeResult
from tests.night import Night, instant

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
OPEN_END = FakeResult(timedelta(days=400))


def clock_of(runs: list[Run]) -> list[str]:
    """Return the nominal times of runs, in UTC."""
    return [f"{run.scheduled_at:%H:%M}" for run in runs]


# --------------------------------------------------------------------------- FC-008 the spring gap


async def test_fc_008_a_job_in_the_spring_gap_runs_once_at_its_end(tmp_path: Path) -> None:
    """New York, 02:30 on 9 March 2025: at 07:00Z, also across a restart at that very moment; then 06:30Z daily."""
    jobs = """
    jobs:
      daily: {command: x, schedule: "30 2 * * *", timezone: America/New_York}
      yearly: {command: x, schedule: "0 2 9 3 *", timezone: America/New_York}
    """
    night = Night(tmp_path, jobs, at="2025-03-08T08:00Z")
    async with night:
        await night.until("2025-03-09T06:59:59Z")
        await night.crash()
        await night.clock.advance(2 * SECOND)
        await night.reopen()
        await night.until("2025-03-11T07:00Z")
        days = ("2025-03-09", "2025-03-10", "2025-03-11")
        daily = [run.scheduled_at for day in days for run in night.runs("daily", day)]
        assert daily == [instant(f"2025-03-{when}Z") for when in ("09T07:00", "10T06:30", "11T06:30")]
        (yearly,) = night.runs("yearly", "2025-03-09")
        assert yearly.scheduled_at == instant("2025-03-09T07:00Z")
        stored = night.engine.store.get_run(yearly.run_id)
        assert stored is not None
        assert stored.scheduled_at == yearly.scheduled_at


# --------------------------------------------------------------------------- FC-018 the host's zone


@pytest.fixture(params=["UTC", "Europe/London", "Asia/Kathmandu", "Pacific/Apia"])
def host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the whole process live in another zone for a test."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("host_zone")
async def test_fc_018_the_night_the_host_goes_back_loses_no_job(tmp_path: Path) -> None:
    """Six UTC jobs between 00:59 and 02:00 and one of London, once each, wherever the host thinks it is."""
    crons = {"a": "59 0", "b": "0 1", "c": "1 1", "d": "30 1", "e": "59 1", "f": "0 2"}
    jobs = "jobs:\n" + "".join(f'  {name}: {{command: x, schedule: "{cron} * * *"}}\n' for name, cron in crons.items())
    jobs += '  london: {command: x, schedule: "30 1 * * *", timezone: Europe/London}\n'
    night = Night(tmp_path, jobs, at="2025-10-25T22:00Z")
    async with night:
        await night.until("2025-10-26T04:00Z")
        fired = [clock_of(night.runs(name, "2025-10-26")) for name in (*crons, "london")]
        assert fired == [["00:59"], ["01:00"], ["01:01"], ["01:30"], ["01:59"], ["02:00"], ["00:30"]]


# --------------------------------------------------------------------------- FC-022 the turn of the year


async def test_fc_022_a_log_path_may_name_the_iso_week_with_its_own_year(tmp_path: Path) -> None:
    """1 January 2021 lies in week 53 of 2020: %G belongs to %V as %Y belongs to %m."""
    jobs = """
    jobs:
      j: {command: x, schedule: "0 0 1 1 *", stdout: "{log_dir}/{run_date:%Y/%m/%d}/{run_date:%G-W%V}.out"}
    """
    night = Night(tmp_path, jobs, at="2020-12-31T23:59Z")
    async with night:
        await night.until("2021-01-01T00:00Z")
        assert night.launcher.launched[0].stdout_path == tmp_path / "logs/2021/01/01/2020-W53.out"


# --------------------------------------------------------------------------- FC-024 a clock ten years ahead


async def test_fc_024_all_is_the_newest_thousand_and_one_line_counts_the_rest(tmp_path: Path) -> None:
    """`catch_up: all` is bounded (seed 000), whatever the clock says; the count of the others is told, not listed."""
    jobs = 'jobs: {b: {command: x, schedule: "* * * * *", catch_up: all, overlap: allow}}'
    night = Night(tmp_path, jobs, at="2016-07-12T00:00:30Z", settings={"max_running": 2000})
    async with night:
        await night.clock.step(instant("2026-07-12T00:00:30Z") - night.clock.now())
        await night.engine.settle()
        runs = [run for run in night.engine.book.open_runs() if run.job == "b"]
        assert len(runs) == 1000
        assert max(run.scheduled_at for run in runs) == instant("2026-07-12T00:00Z")
        assert [line.detail["count"] for line in night.lines("firings_dropped")] == [5_258_880 - 1000]


# --------------------------------------------------------------------------- FC-026 after a suspend

RESUMED = """
jobs:
  m: {command: x, schedule: "* * * * *", catch_up: none}
  h: {command: x, schedule: "0 * * * *", catch_up: all}
  d: {command: x, schedule: "0 6 * * *", catch_up: latest}
"""


async def test_fc_026_caught_up_work_survives_a_reload_and_a_restart_in_its_middle(tmp_path: Path) -> None:
    """The eight hours of `h` run one at a time, oldest first, each once, whatever happens meanwhile.

    There is no window: `all` is all (at most 1000), so eight of them and not the newest three.
    """
    night = Night(tmp_path, RESUMED, at="2026-06-01T00:29:50Z")
    night.plan("m", FakeResult(10 * SECOND))
    night.plan("h", FakeResult(4 * MINUTE))
    async with night:
        await night.until("2026-06-01T00:30:10Z")
        await night.clock.suspend(8 * HOUR)
        await night.engine.settle()
        await night.until("2026-06-01T08:35Z")
        assert await night.reload(RESUMED + "  other: {command: y, schedule: manual}\n")
        await night.until("2026-06-01T08:41Z")
        await night.crash()
        await night.reopen()
        await night.until("2026-06-01T08:47Z")
        await night.restart()
        await night.until("2026-06-01T09:30Z")
        hours = [run.rpartition(".")[2] for run in night.started() if run.startswith("h.")]
        assert hours == [str(n) for n in range(1, 10)]
        assert clock_of(night.runs("h")) == [f"0{n}:00" for n in range(1, 10)]
        assert {run.state.value for run in night.runs("h")} == {"succeeded"}
        assert len(night.runs("d")) == 1


# --------------------------------------------------------------------------- FC-028 a short restart, FC-030 a week


async def test_fc_028_the_same_holds_for_a_thousand_jobs(tmp_path: Path) -> None:
    """All thousand are due at 09:40, while nobody is there: each runs once for it, none early afterwards."""
    jobs = "jobs:\n" + "".join(f'  j{n}: {{command: x, schedule: "*/10 * * * *"}}\n' for n in range(1000))
    night = Night(tmp_path, jobs, at="2026-10-19T09:39:30Z", settings={"max_running": 2000})
    async with night:
        await night.restart(down=40 * SECOND)
        await night.until("2026-10-19T09:49:59Z")
        started = night.started()
        assert len(started) == len(set(started)) == 1000
        assert {clock for n in range(1000) for clock in clock_of(night.runs(f"j{n}"))} == {"09:40"}


async def test_fc_030_all_replays_the_week_in_order_each_with_its_own_date(tmp_path: Path) -> None:
    """Seven runs, 2 to 8 June, one after another, and each job is told the date it stands for."""
    jobs = 'jobs: {daily: {command: x, schedule: "0 6 * * *", catch_up: all}}'
    night = Night(tmp_path, jobs, at="2026-06-01T05:00Z")
    async with night:
        await night.until("2026-06-01T12:00Z")
        await night.restart(down=timedelta(days=6, hours=21))
        await night.go(HOUR)
        told = [
            (spec.env["PYSCHED_RUN_DATE"], spec.env["PYSCHED_SCHEDULED_AT"]) for spec in night.launcher.launched[1:]
        ]
        assert told == [(f"2026-06-0{day}", f"2026-06-0{day}T06:00:00Z") for day in range(2, 9)]
        assert night.launcher.max_concurrent == 1


# --------------------------------------------------------------------------- FC-032 a storm after a restart


async def test_fc_032_two_hundred_caught_up_runs_are_held_to_the_cap(tmp_path: Path) -> None:
    """One run each, never more than `max_running` at once, and no job has two of its runs at the same time.

    There is no `catch_up_spread`: the cap and the pools spread the storm, in order of criticality and due instant.
    """
    jobs = "jobs:\n" + "".join(f'  j{n}: {{command: x, schedule: "*/30 * * * *"}}\n' for n in range(200))
    night = Night(tmp_path, jobs, at="2026-10-19T08:05Z", settings={"max_running": 8})
    for n in range(200):
        night.plan(f"j{n}", FakeResult(2 * SECOND))
    async with night:
        await night.restart(down=2 * HOUR + 2 * MINUTE)
        await night.until("2026-10-19T10:08Z")
        assert all(clock_of(night.runs(f"j{n}")) == ["10:00"] for n in range(200))
        assert all(night.state(f"j{n}") == "succeeded" for n in range(200))
        await night.until("2026-10-19T10:31Z")
        assert all(clock_of(night.runs(f"j{n}")) == ["10:00", "10:30"] for n in range(200))
        assert all(night.state(f"j{n}") == "succeeded" for n in range(200))
        assert night.launcher.max_concurrent == 8


async def test_fc_032_interval_jobs_keep_their_own_phase_over_a_restart(tmp_path: Path) -> None:
    """25 jobs of `every 10s` with offsets of their own do not gather on one second."""
    jobs = "jobs:\n" + "".join(
        f'  j{n}: {{command: x, schedule: "{n % 10}/10 * * * * *", catch_up: none}}\n' for n in range(25)
    )
    night = Night(tmp_path, jobs, at="2026-10-19T08:00Z")
    for n in range(25):
        night.plan(f"j{n}", FakeResult(SECOND / 10))
    async with night:
        await night.restart(down=timedelta(seconds=31.5))
        await night.go(timedelta(seconds=20))
        for n in range(25):
            seconds = {run.scheduled_at.second % 10 for run in night.runs(f"j{n}")}
            assert seconds == {n % 10}


# --------------------------------------------------------------------------- FC-034, FC-036 restarts


async def test_fc_034_killed_between_claim_and_start_it_is_one_process_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start is committed and nothing was launched: `lost`, never started; with a retry it runs, once in all.

    DESIGN 1 P1 and DESIGN 4 decide: the store never calls a started attempt "not started", so the job's retries
    decide whether it is tried again. There is one run for the instant, before and after.
    """
    jobs = """
    jobs:
      once: {command: x, schedule: "0 8 * * *"}
      tried: {command: x, schedule: "0 8 * * *", retries: {count: 1, delay: 30s}}
    """
    night = Night(tmp_path, jobs, at="2026-10-19T07:59:41Z")
    async with night:
        await night.until("2026-10-19T07:59:59Z")
        with monkeypatch.context() as patch:
            patch.setattr(Attempts, "launch", _killed_before_it)
            await night.until("2026-10-19T08:00:00.2Z")
            assert [night.state(job) for job in ("once", "tried")] == ["running", "running"]
            await night.crash()
        assert night.launcher.launched == []
        await night.clock.advance_to(instant("2026-10-19T08:00:05Z"))
        await night.reopen()
        assert night.told("once") == ("failed", "lost")
        assert night.told("tried") == ("retry_wait", "retry 1/1 after lost")
        await night.until("2026-10-19T08:10Z")
        assert night.started() == ["tried.2026-10-19.1"]
        assert [len(night.runs(job)) for job in ("once", "tried")] == [1, 1]


def _killed_before_it(*_: object, **__: object) -> None:
    """Stand for a kill −9 between the commit and what it ordered."""


async def test_fc_034_killed_after_the_start_it_is_adopted(tmp_path: Path) -> None:
    """No second process, one run, and the one that runs is followed to its end."""
    night = Night(tmp_path, 'jobs: {j: {command: x, schedule: "0 8 * * *"}}', at="2026-10-19T07:59:41Z")
    async with night:
        await night.until("2026-10-19T08:00:01Z")
        await night.crash()
        await night.clock.advance_to(instant("2026-10-19T08:00:05Z"))
        await night.reopen()
        assert night.state("j") == "running"
        await night.until("2026-10-19T08:01:30Z")
        assert (night.state("j"), night.started()) == ("succeeded", ["j.2026-10-19.1"])
        assert len(night.runs("j")) == 1


async def test_fc_036_a_lost_attempt_counts_against_its_retries(tmp_path: Path) -> None:
    """Lost at 08:00:05, found at 08:00:10: the next try is 30 s after that, with a log of its own; the budget is two.

    A run that was only queued at the crash is started once, as if nothing had happened.
    """
    jobs = """
    jobs:
      k: {command: x, schedule: "0 8 * * *", retries: {count: 2, delay: 30s, backoff: 1}, pools: {one: 1}}
      waiting: {command: x, schedule: "0 8 * * *", pools: {one: 1}, criticality: low}
    pools: {one: 1}
    """
    night = Night(tmp_path, jobs, at="2026-10-19T07:59:59Z")
    night.plan("k", OPEN_END)
    async with night:
        await night.until("2026-10-19T08:00:05Z")
        assert night.state("waiting") == "queued"
        await night.crash()
        night.launcher.lose("k.2026-10-19.1")
        await night.clock.advance(5 * SECOND)
        await night.reopen()
        await night.until("2026-10-19T08:00:39Z")
        assert night.told("k") == ("retry_wait", "retry 1/2 after lost")
        assert night.state("waiting") == "running"
        await night.until("2026-10-19T08:02Z")
        assert night.started().count("waiting.2026-10-19.1") == 1
        for n in (2, 3):
            await night.crash()
            night.launcher.lose("k.2026-10-19.1")
            await night.reopen()
            await night.go(MINUTE)
            assert night.latest("k").attempt == min(n + 1, 3)
        assert night.told("k") == ("failed", "lost")
        logs = [spec.stdout_path for spec in night.launcher.launched if spec.run_id.startswith("k.")]
        assert len(set(logs)) == 3


# --------------------------------------------------------------------------- FC-070 one attempt's end is not another's


async def test_fc_070_five_timeouts_then_success_is_six_attempts_and_success(tmp_path: Path) -> None:
    """Nothing of a timed-out attempt reaches the next one: not its mark, not its clock, not its late end."""
    jobs = """
    jobs: {j: {command: x, schedule: manual, timeout: 5s, retries: {count: 10, delay: 1s, backoff: 1}}}
    """
    night = Night(tmp_path, jobs, at="2026-10-19T08:00Z")
    slow, stubborn = FakeResult(MINUTE), FakeResult(MINUTE, ignores_term=True)
    night.plan("j", slow, stubborn, slow, stubborn, slow, FakeResult(timedelta(seconds=4.9)))
    async with night:
        await night.engine.trigger("j", actor="ann")
        await night.go(5 * MINUTE)
        run = night.latest("j")
        assert (run.state.value, run.reason, run.attempt) == ("succeeded", "", 6)
        attempts = night.engine.store.attempts(run.run_id)
        assert [str(attempt.outcome) for attempt in attempts] == ["timeout"] * 5 + ["succeeded"]
        assert len({attempt.pid for attempt in attempts}) == 6
        assert len({spec.stdout_path for spec in night.launcher.launched}) == len(night.launcher.launched) == 6


@pytest.mark.parametrize("late", [timedelta(0), timedelta(milliseconds=1), timedelta(milliseconds=-1)])
async def test_fc_070_an_end_at_the_very_instant_of_the_timeout_is_told_once(tmp_path: Path, late: timedelta) -> None:
    """One final word for each attempt, in the book, the store and the logbook; never a retry after a success."""
    jobs = "jobs: {j: {command: x, schedule: manual, timeout: 5s, retries: {count: 1, delay: 1m}}}"
    night = Night(tmp_path, jobs, at="2026-10-19T08:00Z")
    night.plan("j", FakeResult(5 * SECOND + late), FakeResult(SECOND))
    async with night:
        run = await night.engine.trigger("j", actor="ann")
        words: list[str] = []
        night.engine.subscribe(lambda seen: words.append(seen.state.value))
        await night.go(5 * MINUTE)
        ends = [line.detail["outcome"] for line in night.lines("attempt_ended", run)]
        outcomes = [str(attempt.outcome) for attempt in night.engine.store.attempts(run.run_id)]
        assert ends == outcomes
        assert outcomes in (["succeeded"], ["timeout", "succeeded"])
        assert words.count("succeeded") == 1
        assert words[-1] == "succeeded"


# --------------------------------------------------------------------------- FC-072 a hung run


async def test_fc_072_skip_beside_a_hung_run_is_cheap_told_and_no_success(tmp_path: Path) -> None:
    """57 skipped runs: each has its reason, none an attempt or a log, and none feeds or starts what depends on it."""
    jobs = """
    jobs:
      j: {command: x, schedule: "* * * * *", overlap: skip}
      after: {command: y, schedule: "30 9 * * *", depends_on: [j]}
    """
    night = Night(tmp_path, jobs, at="2026-10-19T07:59:30Z")
    night.plan("j", *[FakeResult(10 * SECOND)] * 4, OPEN_END, FakeResult(10 * SECOND))
    async with night:
        await night.until("2026-10-19T09:01:30Z")
        runs = night.runs("j")
        skipped = [run for run in runs if run.reason == "skipped: overlap"]
        assert (len(runs), len(skipped), len(night.launcher.launched)) == (62, 57, 5)
        assert all(run.state == "cancelled" and run.attempt == 0 for run in skipped)
        hung = runs[4]
        assert night.engine.book.latest_for("j", hung.run_date) == hung
        await night.until("2026-10-19T09:30Z")
        assert night.state("after") == "waiting"
        await night.engine.kill(hung.run_id, actor="ann")
        await night.until("2026-10-19T09:31:30Z")
        assert night.runs("j")[-1].state == "succeeded"


async def test_fc_072_queue_holds_one_waiter_and_goes_on_after_the_kill(tmp_path: Path) -> None:
    """Spec 5.1 decides: of a run date only the newest waits, so a hung run piles nothing up."""
    night = Night(tmp_path, 'jobs: {j: {command: x, schedule: "* * * * *"}}', at="2026-10-19T07:59:30Z")
    night.plan("j", OPEN_END, FakeResult(10 * SECOND))
    async with night:
        await night.until("2026-10-19T09:00:30Z")
        waiting = [run for run in night.runs("j") if not run.is_final]
        assert [run.state.value for run in waiting] == ["running", "waiting"]
        assert waiting[1].scheduled_at == instant("2026-10-19T09:00Z")
        await night.engine.kill(waiting[0].run_id, actor="ann")
        await night.until("2026-10-19T09:01:30Z")
        assert night.started() == ["j.2026-10-19.1", waiting[1].run_id, night.runs("j")[-1].run_id]
        assert night.launcher.max_concurrent == 1


# --------------------------------------------------------------------------- FC-074 an upstream that will not run

UPSTREAM = """
jobs:
  u: {command: x, schedule: {cron: "0 1 * * 1-5", end: 2025-12-31}, catch_up: none}
  d: {command: y, schedule: "0 2 * * *", depends_on: [u], max_wait: 6h}
"""


@pytest.mark.parametrize(
    ("day", "known"),
    [("2026-01-03", "no firing of its schedule has this run date"), ("2026-01-05", "the schedule ended on 2025-12-31")],
)
async def test_fc_074_no_slot_on_that_date_is_said_at_once_and_ends_with_the_patience(
    tmp_path: Path, day: str, known: str
) -> None:
    """A Saturday, and a Monday after the upstream's end: `why` knows it at once; the wait holds no slot and has an end.

    Spec 4.6 and DESIGN 8 row 17 decide: a run that a hand can still make is waited for, as long as the job's patience.
    """
    night = Night(tmp_path, UPSTREAM, at=f"{day}T00:59Z")
    async with night:
        await night.until(f"{day}T02:00Z")
        assert night.told("d", day) == ("waiting", f"waiting for u ({day}): no run yet")
        assert night.engine.admission.running == 0
        answer = await explain(night.engine, "d", date.fromisoformat(day))
        assert answer.because is not None
        assert (answer.because.job, answer.because.text.startswith(known)) == ("u", True)
        await night.until(f"{day}T08:00Z")
        assert night.told("d", day) == ("failed", f"upstream missing: waiting for u ({day}): no run yet")
        assert night.launcher.launched == []


async def test_fc_074_paused_removed_cancelled_or_missed_it_is_known_or_ends_with_the_patience(tmp_path: Path) -> None:
    """c to f: paused and missed wait until `max_wait`; cancelled blocks at once; a removed one is refused at load."""
    jobs = """
    jobs:
      paused: {command: x, schedule: "0 3 * * *"}
      called: {command: x, schedule: "30 1 * * *", depends_on: [never]}
      missed: {command: x, schedule: "15 1 * * *", catch_up: none}
      never: {command: x, schedule: manual}
      c: {command: y, schedule: "0 2 * * *", depends_on: [paused], max_wait: 6h}
      e: {command: y, schedule: "0 2 * * *", depends_on: [called], max_wait: 6h}
      f: {command: y, schedule: "0 2 * * *", depends_on: [missed], max_wait: 6h}
    """
    night = Night(tmp_path, jobs, at="2026-01-05T00:59Z")
    async with night:
        await night.engine.pause("paused", actor="ann")
        await night.until("2026-01-05T01:10Z")
        await night.restart(down=10 * MINUTE)
        await night.until("2026-01-05T02:00Z")
        await night.engine.cancel("called.2026-01-05.1", actor="ann")
        await night.engine.settle()
        assert night.told("e") == ("blocked", "blocked: called (2026-01-05) cancelled")
        assert [night.state(job) for job in "cf"] == ["waiting", "waiting"]
        await night.until("2026-01-05T08:00Z")
        assert {night.told(job)[1].split(":")[0] for job in "cf"} == {"upstream missing"}
        assert {night.state(job) for job in "cf"} == {"failed"}
        with pytest.raises(ConfigError, match='unknown job "paused"'):
            await night.reload(jobs.replace('      paused: {command: x, schedule: "0 3 * * *"}\n', ""))


async def test_fc_074_two_hundred_waiting_runs_cost_no_slot_and_no_process(tmp_path: Path) -> None:
    """They wait in memory; a job beside them has all the slots; when the upstream comes they go."""
    jobs = "jobs:\n  u: {command: x, schedule: manual}\n  beside: {command: x, schedule: '30 2 * * *'}\n"
    jobs += "".join(f'  d{n}: {{command: y, schedule: "0 2 * * *", depends_on: [u]}}\n' for n in range(200))
    night = Night(tmp_path, jobs, at="2026-01-05T01:59Z", settings={"max_running": 1})
    for n in range(200):
        night.plan(f"d{n}", FakeResult(SECOND))
    async with night:
        await night.until("2026-01-05T02:31:30Z")
        assert night.started() == ["beside.2026-01-05.1"]
        await night.engine.trigger("u", actor="ann")
        await night.go(10 * MINUTE)
        assert {night.state(f"d{n}") for n in range(200)} == {"succeeded"}


# --------------------------------------------------------------------------- FC-076 many upstream runs of a date


async def test_fc_076_what_stands_for_a_date_is_its_latest_run_and_a_rerun_of_it_counts(tmp_path: Path) -> None:
    """Matching is by nominal date, never by start time or equal hour; a rerun by hand satisfies what was blocked.

    Spec 4.2 decides: the latest run of the date stands for it. A window of 24 slots is not expressible.
    """
    jobs = """
    jobs:
      h: {command: x, schedule: "0 * * * *", timezone: Europe/Berlin}
      d:
        command: y
        schedule: "0 4 * * *"
        timezone: Europe/Berlin
        calendar: none
        depends_on: [{job: h, run_date: -1}]
    """
    night = Night(tmp_path, jobs, at="2025-10-25T21:59Z")
    night.plan("h", *[FakeResult()] * 24, FakeResult(exit_code=1), FakeResult())
    async with night:
        await night.until("2025-10-27T03:01Z")
        assert len(night.runs("h", "2025-10-26")) == 25
        last = night.latest("h", "2025-10-26")
        assert (last.scheduled_at, last.state.value) == (instant("2025-10-26T22:00Z"), "failed")
        assert night.told("d", "2025-10-27") == ("blocked", "blocked: h (2025-10-26) failed")
        await night.engine.rerun(last.run_id, actor="ann")
        await night.go(3 * MINUTE)
        assert night.state("d", "2025-10-27") == "succeeded"


# --------------------------------------------------------------------------- FC-080 saving while things fall due


async def test_fc_080_fifty_saves_around_a_one_off_fire_it_once(tmp_path: Path) -> None:
    """Between 00:06:55 and 00:07:05; the interval keeps its phase, and each run is counted once."""
    jobs = """
    jobs:
      e: {command: x, schedule: "@every 10m"}
      f: {command: x, schedule: {once: "2026-10-19 00:07"}}
      g: {command: x, schedule: "7 0 * * *"}
    """
    night = Night(tmp_path, jobs, at="2026-10-18T23:59:30Z")
    async with night:
        await night.until("2026-10-19T00:06:55Z")
        for n in range(50):
            assert await night.reload(jobs + f"  other{n}: {{command: y, schedule: manual}}\n")
            await night.go(timedelta(milliseconds=200))
        await night.until("2026-10-19T00:20:30Z")
        assert clock_of(night.runs("e")) == ["00:00", "00:10", "00:20"]
        assert clock_of(night.runs("f")) == clock_of(night.runs("g")) == ["00:07"]
        triggers = {run.trigger for job in "efg" for run in night.runs(job)}
        assert triggers == {Trigger.SCHEDULE}
