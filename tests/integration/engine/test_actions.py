"""What an operator may do: the table of jobs.md 11, refusals included, each with its line in the logbook."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.book import Day
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.errors import BadRequest, Conflict, NotFound, StoreUnavailable, Unavailable
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, Trigger
from pyscheduler.rules.recovery import CaughtUp
from pyscheduler.testing import FakeResult
from tests.night import Night, ids

FAILS = FakeResult(exit_code=1)
LONG = FakeResult(timedelta(hours=2))
MINUTE = timedelta(minutes=1)

JOBS = """
jobs:
  load: {command: x, schedule: "0 9 * * *", retries: {count: 1, delay: 10m}}
  report: {command: y, depends_on: [load]}
  hand: {command: z, schedule: manual}
  off: {command: z, schedule: manual, enabled: false}
"""

TWO = """
jobs:
  one: {command: x, schedule: "0 9 * * *"}
  two: {command: y, schedule: "0 9 * * *"}
"""


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """A quarter to nine, nothing has run."""
    return Night(tmp_path, JOBS, at="2026-10-19T08:45Z")


async def test_trigger_creates_a_manual_run_every_time(night: Night) -> None:
    """Any date is accepted; without one it is the job's default; nothing is deduplicated."""
    async with night:
        first = await night.engine.trigger("hand", actor="ann", reason="month end")
        assert (first.run_id, first.trigger, first.scheduled_at) == (
            "hand.2026-10-19.1",
            Trigger.MANUAL,
            night.clock.now(),
        )
        await night.engine.trigger("hand", actor="ann")
        old = await night.engine.trigger("hand", actor="ann", run_date=date(2020, 2, 29))
        assert old.run_id == "hand.2020-02-29.1"
        line = night.lines("trigger")[0]
        assert (line.actor, line.run_id, line.detail["before"], line.detail["reason"]) == (
            "ann",
            "hand.2026-10-19.1",
            None,
            "month end",
        )


async def test_trigger_numbers_go_on_after_what_only_the_store_knows(tmp_path: Path) -> None:
    """A run of years ago is not in memory, and its number is not used again."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z", settings={"retention": "9000d"})
    async with night:
        await night.engine.trigger("hand", actor="ann", run_date=date(2020, 2, 29))
        await night.go(2 * MINUTE)
        await night.restart()
        assert night.engine.book.get("hand.2020-02-29.1") is None
        again = await night.engine.trigger("hand", actor="ann", run_date=date(2020, 2, 29))
        assert again.run_id == "hand.2020-02-29.2"


async def test_triggering_an_upstream_creates_its_dependants(night: Night) -> None:
    """Once for the run date; a second run of the upstream creates nothing and is looked at again."""
    async with night:
        await night.engine.trigger("load", actor="ann")
        await night.engine.trigger("load", actor="ann")
        await night.engine.settle()
        assert ids(night.runs("report")) == ["report.2026-10-19.1"]


async def test_refusals_say_which_and_what_to_do_instead(night: Night) -> None:
    """404 unknown, 409 disabled or wrong state, 400 nonsense."""
    async with night:
        with pytest.raises(NotFound, match="no job nope"):
            await night.engine.trigger("nope", actor="ann")
        with pytest.raises(Conflict, match="disabled"):
            await night.engine.trigger("off", actor="ann")
        with pytest.raises(NotFound, match=r"no run load\.2026-10-19\.7"):
            await night.engine.hold("load.2026-10-19.7", actor="ann")
        with pytest.raises(NotFound, match="is no run id"):
            await night.engine.hold("../../etc/passwd", actor="ann")
        with pytest.raises(BadRequest, match="swap"):
            await night.engine.backfill("load", start=date(2026, 10, 2), end=date(2026, 10, 1), actor="ann")
        with pytest.raises(BadRequest, match="367 days"):
            await night.engine.backfill("load", start=date(2025, 10, 1), end=date(2026, 10, 2), actor="ann")
        await night.until("2026-10-19T09:00Z")
        for action in (night.engine.hold, night.engine.skip, night.engine.mark_success, night.engine.cancel):
            with pytest.raises(Conflict, match=r"pysched kill load\.2026-10-19\.1 ends it as failed"):
                await action("load.2026-10-19.1", actor="ann")
        with pytest.raises(Conflict, match="it runs already"):
            await night.engine.release("load.2026-10-19.1", actor="ann")
        with pytest.raises(NotFound, match="did you mean load"):
            await night.engine.trigger("Laod", actor="ann")
        with pytest.raises(Conflict, match="let it end"):
            await night.engine.rerun("load.2026-10-19.1", actor="ann")
        with pytest.raises(Conflict):
            await night.engine.kill("report.2026-10-19.1", actor="ann")


async def test_the_deed_stands_before_what_came_of_it(night: Night) -> None:
    """The logbook tells in order: who asked, what was made and started, who marked it, how that ended."""
    async with night:
        run = await night.engine.trigger("load", actor="ann")
        await night.go(timedelta(minutes=5))
        await night.engine.mark_failed(run.run_id, actor="bob", reason="wrong file")
        await night.engine.rerun(run.run_id, actor="bob", downstream=True, reason="right file")
        actions = [line.action for line in night.lines(run=run)]
        assert actions[:3] == ["trigger", "created", "attempt_started"]
        assert actions[-4:-1] == ["mark_failed", "finished", "rerun"]
        after = [line.detail["after"] for line in night.lines("rerun")]
        assert after[0] == "queued", "it tells where the run stood when all was decided"


async def test_the_reason_given_is_shown_with_the_run(night: Night) -> None:
    """Beside who did it, where everybody looks; the logbook has it too."""
    async with night:
        await night.until("2026-10-19T09:00Z")
        held = await night.engine.hold("report.2026-10-19.1", actor="ann", reason="late data")
        assert held.reason == "held by ann: late data"
        marked = await night.engine.mark_success("report.2026-10-19.1", actor="bob", reason="by hand")
        assert marked.reason == "mark_success by bob: by hand"


async def test_an_odd_run_date_is_remarked_upon_and_taken(night: Night) -> None:
    """Any date will do, but a slip of the pen should not go unseen."""
    async with night:
        engine = night.engine
        odd = await engine.trigger("load", run_date=date(2099, 1, 1), actor="ann")
        assert engine.remark_on(engine.config.jobs["load"], odd.run_date) == "2099-01-01 is 26372 days ahead"
        plain = await engine.trigger("load", run_date=date(2026, 10, 18), actor="ann")
        told = {line.run_id: line.detail.get("remark") for line in night.lines("trigger")}
        assert told == {odd.run_id: "2099-01-01 is 26372 days ahead", plain.run_id: None}


async def test_hold_and_release(night: Night) -> None:
    """A held run stands still through everything, and is decided anew when released."""
    async with night:
        await night.until("2026-10-19T09:00Z")
        held = await night.engine.hold("report.2026-10-19.1", actor="ann")
        assert (held.state, held.reason) == ("held", "held by ann")
        await night.until("2026-10-19T09:05Z")
        assert night.state("report") == "held"
        with pytest.raises(Conflict):
            await night.engine.hold("report.2026-10-19.1", actor="ann")
        await night.engine.release("report.2026-10-19.1", actor="bob")
        await night.engine.settle()
        assert night.state("report") == "running"
        assert [(line.actor, line.detail["before"]) for line in night.lines("release")] == [("bob", "held")]
        with pytest.raises(Conflict):
            await night.engine.release("report.2026-10-19.1", actor="ann")


async def test_a_hold_between_two_tries_counts_as_the_wait(night: Night) -> None:
    """Released, it goes straight to the overlap rule: the hold was long enough."""
    night.plan("load", FAILS, FakeResult())
    async with night:
        await night.until("2026-10-19T09:01Z")
        await night.engine.hold("load.2026-10-19.1", actor="ann")
        await night.until("2026-10-19T10:00Z")
        assert night.told("load") == ("held", "held by ann")
        await night.engine.release("load.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert (night.state("load"), night.latest("load").attempt) == ("running", 2)


async def test_kill_ends_failed_and_is_not_tried_again(night: Night) -> None:
    """The order is on disk before the signal; a second one is refused."""
    night.plan("load", FakeResult(timedelta(hours=1), ignores_term=True))
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.kill("load.2026-10-19.1", actor="ann")
        with pytest.raises(Conflict, match="already being killed"):
            await night.engine.kill("load.2026-10-19.1", actor="bob")
        await night.go(timedelta(seconds=10))
        assert night.told("load") == ("failed", "killed by ann")
        assert night.told("report") == ("blocked", "blocked: load (2026-10-19) failed")


async def test_force_start_passes_dependencies_overlap_holds_and_pauses_but_no_pool(tmp_path: Path) -> None:
    """First in line; slots and pools stay (jobs.md 11)."""
    night = Night(
        tmp_path,
        """
        pools: {p: 1}
        jobs:
          holder: {command: x, schedule: manual, pools: {p: 1}}
          forced: {command: y, schedule: manual, depends_on: [never], pools: {p: 1}}
          never: {command: z, schedule: manual}
        """,
        at="2026-10-19T08:45Z",
    )
    async with night:
        await night.engine.trigger("holder", actor="ann")
        run = await night.engine.trigger("forced", actor="ann")
        await night.engine.hold(run.run_id, actor="ann")
        await night.engine.pause("forced", actor="ann")
        forced = await night.engine.force_start(run.run_id, actor="ann")
        assert (forced.state, forced.reason, forced.forced) == ("queued", "force-started by ann", True)
        await night.go(MINUTE)
        assert night.state("forced") == "running"


Action = Callable[[Night, str], Awaitable[Run]]


@pytest.mark.parametrize(
    ("action", "state", "reason", "dependant"),
    [
        (lambda n, r: n.engine.skip(r, actor="ann"), "skipped", "skip by ann", "running"),
        (lambda n, r: n.engine.mark_success(r, actor="ann"), "succeeded", "mark_success by ann", "running"),
        (lambda n, r: n.engine.mark_failed(r, actor="ann"), "failed", "mark_failed by ann", "blocked"),
        (lambda n, r: n.engine.cancel(r, actor="ann"), "cancelled", "cancelled by ann", "blocked"),
    ],
    ids=["skip", "mark_success", "mark_failed", "cancel"],
)
async def test_hands_end_a_waiting_run(night: Night, action: Action, state: str, reason: str, dependant: str) -> None:
    """Each is final, told, and heard by the dependants."""
    night.plan("load", FAILS)
    async with night:
        await night.until("2026-10-19T09:01Z")
        assert night.state("load") == "retry_wait"
        run = await action(night, "load.2026-10-19.1")
        await night.engine.settle()
        assert (run.state, run.reason) == (state, reason)
        assert night.state("report") == dependant
        await night.go(timedelta(minutes=20))
        assert night.state("load") == state, "the retry's timer must be off"


async def test_an_ended_run_can_be_marked_and_old_ones_are_read_back(tmp_path: Path) -> None:
    """Marks work on final runs too, however old."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z", tick_s=86400)
    night.plan("load", FAILS)
    async with night:
        await night.until("2026-10-19T09:30Z")
        assert night.told("report") == ("blocked", "blocked: load (2026-10-19) failed")
        await night.engine.cancel("report.2026-10-19.1", actor="ann")
        await night.until("2026-11-19T08:00Z")
        assert night.engine.book.get("load.2026-10-19.1") is None
        marked = await night.engine.mark_success("load.2026-10-19.1", actor="ann")
        assert marked.state == "succeeded"


@pytest.mark.parametrize("when", ["before its save", "after it"])
async def test_an_old_run_may_leave_the_memory_while_it_is_acted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The hourly sweep of old days comes in the middle: the answer is the run, and it can be acted on again."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z", tick_s=86400)
    night.plan("load", FAILS)
    async with night:
        await night.until("2026-10-19T09:30Z")
        await night.engine.cancel("report.2026-10-19.1", actor="ann")
        await night.until("2026-11-19T08:00Z")
        await night.engine.settle()
        engine, proceed = night.engine, night.engine.proceed

        def sweep() -> None:
            engine.book.evict_before(date(2026, 11, 1), lambda _: False)

        async def meanwhile() -> None:
            if when == "before its save":
                sweep()
            await proceed()
            if when == "after it":
                sweep()

        monkeypatch.setattr(engine, "proceed", meanwhile)
        assert (await engine.mark_success("load.2026-10-19.1", actor="ann")).state == "succeeded"
        assert (await engine.mark_failed("load.2026-10-19.1", actor="ann")).state == "failed"
        monkeypatch.undo()
        assert engine.book.latest_for("load", date(2026, 10, 19)) == engine.book.get("load.2026-10-19.1")
        [run, *_] = await engine.rerun("load.2026-10-19.1", actor="ann")
        assert run.is_final is False


async def test_rerun_with_downstream_reopens_the_ended_dependants(tmp_path: Path) -> None:
    """Of each the latest run of the matching date, transitively, only if it has ended; across dates (offset -1)."""
    night = Night(
        tmp_path,
        """
        calendars: {week: {weekdays: [mon, tue, wed, thu, fri]}}
        jobs:
          ingest: {command: x, schedule: "0 9 * * *", calendar: week}
          digest: {command: y, depends_on: [{job: ingest, run_date: -1}]}
          mail: {command: z, depends_on: [digest]}
        """,
        at="2027-05-13T08:00Z",
    )
    async with night:
        await night.until("2027-05-13T12:00Z")
        assert ids(night.runs("digest", "2027-05-14")) == ["digest.2027-05-14.1"]
        assert night.state("mail", "2027-05-14") == "succeeded"
        reopened = await night.engine.rerun("ingest.2027-05-13.1", actor="ann", downstream=True)
        assert ids(reopened) == ["ingest.2027-05-13.1", "digest.2027-05-14.1", "mail.2027-05-14.1"]
        await night.engine.settle()
        assert night.told("digest", "2027-05-14") == ("waiting", "waiting for ingest (2027-05-13)")
        await night.go(timedelta(minutes=5))
        assert [
            night.latest(job, day).attempt
            for job, day in (
                ("ingest", "2027-05-13"),
                ("digest", "2027-05-14"),
                ("mail", "2027-05-14"),
            )
        ] == [2, 2, 2]
        assert night.latest("ingest", "2027-05-13").reruns == 1


async def test_rerun_alone_leaves_ended_dependants_ended(night: Night) -> None:
    """Only waiting and blocked ones react; and the retry budget is fresh."""
    async with night:
        await night.until("2026-10-19T09:10Z")
        night.plan("load", FAILS)
        await night.engine.rerun("load.2026-10-19.1", actor="ann")
        await night.go(MINUTE)
        assert night.told("load") == ("retry_wait", "retry 1/1 after exit 1")
        assert night.state("report") == "succeeded"


async def test_a_queued_dependant_is_recalled_when_its_upstream_is_reopened(tmp_path: Path) -> None:
    """It waits again rather than start on data that is being made anew (DESIGN 8 row 17)."""
    night = Night(
        tmp_path,
        JOBS.replace("report: {", "busy: {command: b, schedule: manual, criticality: critical}\n  report: {"),
        at="2026-10-19T08:45Z",
        settings={"max_running": 1},
    )
    night.plan("busy", LONG)
    async with night:
        await night.until("2026-10-19T09:00:30Z")
        await night.engine.trigger("busy", actor="ann")
        await night.until("2026-10-19T09:01Z")
        assert night.state("report") == "queued"
        await night.engine.rerun("load.2026-10-19.1", actor="ann")
        await night.engine.settle()
        assert night.told("report") == ("waiting", "waiting for load (2026-10-19)")


async def test_backfill_makes_one_run_a_working_day_that_has_none(tmp_path: Path) -> None:
    """In date order, each due at its first firing; a second call makes none; firings still to come stay alone."""
    night = Night(
        tmp_path,
        """
        calendars: {week: {weekdays: [mon, tue, wed, thu, fri]}}
        jobs:
          daily: {command: x, schedule: ["0 9 * * *", "0 17 * * *"], calendar: week}
          hand: {command: z, schedule: manual}
        """,
        at="2026-10-19T08:45Z",
    )
    async with night:
        made = await night.engine.backfill("daily", start=date(2026, 10, 15), end=date(2026, 10, 20), actor="ann")
        assert [(run.run_id, f"{run.scheduled_at:%d %H:%M}", run.trigger) for run in made] == [
            ("daily.2026-10-15.1", "15 09:00", Trigger.BACKFILL),
            ("daily.2026-10-16.1", "16 09:00", Trigger.BACKFILL),
        ]
        await night.go(5 * MINUTE)
        assert night.started() == ["daily.2026-10-15.1", "daily.2026-10-16.1"]
        assert await night.engine.backfill("daily", start=date(2026, 10, 15), end=date(2026, 10, 20), actor="ann") == []
        await night.until("2026-10-19T09:00Z")
        assert [run.trigger for run in night.runs("daily")] == [Trigger.SCHEDULE]
        hand = await night.engine.backfill("hand", start=date(2026, 10, 1), end=date(2026, 10, 1), actor="ann")
        assert f"{hand[0].scheduled_at:%d %H:%M}" == "01 00:00"


async def test_a_pause_drops_firings_and_tells_how_many(night: Night) -> None:
    """Running goes on, queued runs stay, firings get no run, one line a job says so at the end."""
    night.plan("load", LONG)
    async with night:
        await night.until("2026-10-19T09:00Z")
        await night.engine.pause(actor="ann", reason="migration")
        with pytest.raises(Conflict, match="already paused, by ann"):
            await night.engine.pause(actor="bob")
        run = await night.engine.trigger("hand", actor="ann")
        await night.engine.settle()
        assert (night.state("load"), night.state("hand")) == ("running", "queued")
        await night.until("2026-10-21T10:00Z")
        assert night.state("load", "2026-10-19") == "succeeded"
        assert night.runs("load", "2026-10-20") == []
        await night.restart()
        assert night.engine.book.published(run.run_id).state == "queued"  # type: ignore[union-attr]
        await night.engine.resume(actor="bob")
        await night.engine.settle()
        assert night.engine.book.published(run.run_id).state == "running"  # type: ignore[union-attr]
        dropped = night.lines("firings_dropped")
        assert [(line.job, line.actor, line.detail["count"], line.detail["why"]) for line in dropped] == [
            ("load", "bob", 2, "paused")
        ]
        with pytest.raises(Conflict, match="not paused"):
            await night.engine.resume(actor="ann")


async def test_resume_with_catch_up_applies_the_jobs_rule(night: Night) -> None:
    """`resume --catch-up`: under `latest` the newest missed firing runs."""
    async with night:
        await night.engine.pause("load", actor="ann")
        await night.until("2026-10-21T10:00Z")
        await night.engine.resume("load", actor="ann", catch_up=True)
        await night.go(MINUTE)
        assert [run.trigger for run in night.runs("load", "2026-10-21")] == [Trigger.CATCH_UP]
        assert night.runs("load", "2026-10-20") == []


async def test_a_resume_that_is_killed_while_it_catches_up_has_not_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next scheduler is paused still, and asked again it makes up for the rest: nothing twice."""
    night = Night(tmp_path, TWO, at="2026-10-19T08:45Z")
    async with night:
        await night.engine.pause(actor="ann")
        await night.until("2026-10-19T09:30Z")
        catch_up = night.engine.firings.catch_up

        async def killed(job: Job, since: datetime, until: datetime) -> CaughtUp:
            if job.name == "two":
                await night.engine.proceed()
                await night.crash()
                raise StoreUnavailable("it is gone")
            return await catch_up(job, since, until)

        monkeypatch.setattr(night.engine.firings, "catch_up", killed)
        with pytest.raises(StoreUnavailable):
            await night.engine.resume(actor="ann", catch_up=True)
        await night.reopen()
        assert [what for what, _ in night.engine.desk.pauses.items()] == [EVERYTHING]
        await night.engine.resume(actor="ann", catch_up=True)
        assert [len(night.runs(name)) for name in ("one", "two")] == [1, 1]
        await night.restart()
        assert night.engine.desk.pauses.items() == []


async def test_a_resume_goes_on_under_a_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that has gone while the others caught up has nothing to make up for."""
    night = Night(tmp_path, TWO, at="2026-10-19T08:45Z")
    async with night:
        await night.engine.pause(actor="ann")
        await night.until("2026-10-19T09:30Z")
        firings = night.engine.firings
        reads = firings._instants_with_runs

        async def meanwhile(job: str, since: datetime, until: datetime) -> set[datetime]:
            monkeypatch.undo()
            await night.reload(TWO.replace("  one:", "  other:").replace("  two:", "  three:"))
            return await reads(job, since, until)

        monkeypatch.setattr(firings, "_instants_with_runs", meanwhile)
        await night.engine.resume(actor="ann", catch_up=True)
        assert night.engine.error is None
        assert [len(night.runs(name)) for name in ("one", "two")] == [0, 0]


@pytest.mark.parametrize("deed", ["trigger", "backfill"])
async def test_a_job_that_goes_while_its_old_days_are_read_gets_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    """What is created is what the configuration says by then."""
    night = Night(tmp_path, TWO, at="2026-10-19T08:45Z")
    async with night:
        engine, load_days, day = night.engine, night.engine.load_days, date(2026, 8, 3)

        async def meanwhile(days: Iterable[Day]) -> None:
            await load_days(days)
            await night.reload(TWO.replace("  one:", "  other:"))

        monkeypatch.setattr(engine, "load_days", meanwhile)
        deeds: dict[str, Callable[[], Awaitable[object]]] = {
            "trigger": lambda: engine.trigger("one", run_date=day, actor="ann"),
            "backfill": lambda: engine.backfill("one", start=day, end=day, actor="ann"),
        }
        with pytest.raises(NotFound, match="no job one"):
            await deeds[deed]()
        assert night.runs("one", "2026-08-03") == []


async def test_two_pauses_of_one_job_both_have_to_end(night: Night) -> None:
    """The scheduler's and the job's own; what the first dropped is told when the second ends."""
    async with night:
        await night.engine.pause(actor="ann")
        await night.until("2026-10-19T10:00Z")
        await night.engine.pause("load", actor="bob")
        await night.until("2026-10-20T10:00Z")
        await night.engine.resume(actor="ann")
        await night.until("2026-10-21T10:00Z")
        assert night.lines("firings_dropped") == []
        await night.engine.resume("load", actor="bob")
        assert [line.detail["count"] for line in night.lines("firings_dropped")] == [3]


async def test_no_action_on_an_engine_that_is_not_there(tmp_path: Path) -> None:
    """503 while starting, stopping and failed; nothing was done."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:45Z")
    with pytest.raises(Unavailable, match="starting"):
        await night.engine.trigger("hand", actor="ann")
    async with night:
        await night.engine.stop()
        with pytest.raises(Unavailable, match="stopping"):
            await night.engine.trigger("hand", actor="ann")
