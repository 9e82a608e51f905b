"""Why is it not running, and when will it? Every job and date has an answer that names the culprit. Promise P7."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.explain import LINKS, explain
from pyscheduler.errors import BadRequest, NotFound
from pyscheduler.rules.why import Answer, Culprit
from pyscheduler.testing import FakeResult
from tests.night import Night

JOBS = """
calendars:
  week: {weekdays: [mon, tue, wed, thu, fri], holidays: [2026-10-26]}
pools: {db: 1}
jobs:
  extract: {command: x, schedule: "0 9 * * *"}
  load: {command: x, depends_on: [extract], overlap: queue}
  report: {command: x, depends_on: [load]}
  alone: {command: x, schedule: manual}
  weekly: {command: x, schedule: "0 6 * * mon-fri", calendar: week}
  closing: {command: x, schedule: "0 6 * * mon-fri", calendar: week, run_date: previous_business_day}
  off: {command: x, schedule: "0 9 * * *", enabled: false}
  pooled: {command: x, schedule: manual, pools: {db: 1}, overlap: allow}
  flaky: {command: x, schedule: manual, retries: {count: 3, delay: 10m}}
  never: {command: x, schedule: "0 9 * * *", catch_up: none}
  chain: {command: x, schedule: "30 9 * * *", depends_on: [{job: chain, run_date: -1}]}
"""
LONG = FakeResult(timedelta(hours=5))
MONDAY = date(2026, 10, 19)


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path, JOBS, at="2026-10-19T08:00Z")


async def why(night: Night, job: str | None = None, day: str | None = None, run: str | None = None) -> Answer:
    return await explain(night.engine, job, None if day is None else date.fromisoformat(day), run)


async def test_its_time_has_not_come(night: Night) -> None:
    """For today and for any date to come the firing is named, in the scheduler's zone with its offset."""
    async with night:
        for day in ("2026-10-19", "2027-03-01"):
            answer = await why(night, "extract", day)
            assert answer.culprit is Culprit.TIME
            assert f"it fires at {day} 09:00:00+00:00" in answer.text
        assert (await why(night, "extract")).run_date == MONDAY


async def test_a_chain_is_followed_to_the_run_to_blame(night: Night) -> None:
    """Report waits for load, load for extract, and extract has failed: the last link says so."""
    night.plan("extract", FakeResult(exit_code=3))
    async with night:
        await night.until("2026-10-19T09:10Z")
        answer = await why(night, "report")
        assert answer.culprit is Culprit.DEPENDENCY
        assert answer.because is not None
        assert (answer.because.job, answer.because.culprit) == ("load", Culprit.DEPENDENCY)
        root = answer.because.because
        assert root is not None
        assert (root.job, root.culprit) == ("extract", Culprit.ENDED)
        assert "exit 3" in root.text
        assert "pysched rerun extract.2026-10-19.1" in root.release


async def test_a_chain_without_any_run_ends_at_the_firing_to_come(night: Night) -> None:
    """A dependency-only job's date to come is answered by its first upstream's firing."""
    async with night:
        answer = await why(night, "report", "2026-10-21")
        links = [(link.job, link.culprit) for link in links_of(answer)]
        assert links == [("report", Culprit.DEPENDENCY), ("load", Culprit.DEPENDENCY), ("extract", Culprit.TIME)]


def links_of(answer: Answer | None) -> list[Answer]:
    return [] if answer is None else [answer, *links_of(answer.because)]


async def test_a_job_that_waits_for_its_yesterday_has_a_chain_of_bounded_length(night: Night) -> None:
    """However many days wait for the one before, the answer has an end."""
    night.plan("chain", LONG)
    last = MONDAY + timedelta(days=LINKS + 10)
    async with night:
        for n in range(LINKS + 10):
            await night.engine.trigger("chain", run_date=MONDAY + timedelta(days=1 + n), actor="ann")
        answer = await why(night, "chain", last.isoformat())
        links = links_of(answer)
        assert len(links) == LINKS
        assert {link.culprit for link in links} == {Culprit.DEPENDENCY}


async def test_overlap_names_the_other_run_and_answers_for_it(night: Night) -> None:
    """A second run of a busy job waits for the first, and that one says since when it runs."""
    night.plan("alone", LONG)
    async with night:
        first = await night.engine.trigger("alone", actor="ann")
        second = await night.engine.trigger("alone", actor="ann")
        answer = await why(night, run=second.run_id)
        assert answer.culprit is Culprit.OVERLAP
        assert first.run_id in answer.text
        assert answer.because is not None
        assert answer.because.culprit is Culprit.RUNNING
        assert (await why(night, run=first.run_id)).culprit is Culprit.RUNNING


async def test_a_full_pool_names_its_holder(night: Night) -> None:
    """Who holds the pool is said, not only that it is full."""
    night.plan("pooled", LONG)
    async with night:
        first = await night.engine.trigger("pooled", actor="ann")
        second = await night.engine.trigger("pooled", actor="ann")
        answer = await why(night, run=second.run_id)
        assert answer.culprit is Culprit.POOL
        assert f"held by {first.run_id}" in answer.text


async def test_no_slot_is_said(tmp_path: Path) -> None:
    """The global cap is a culprit of its own."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:00Z", settings={"max_running": 1})
    night.plan("alone", LONG)
    async with night:
        await night.engine.trigger("alone", actor="ann")
        run = await night.engine.trigger("flaky", actor="ann")
        answer = await why(night, run=run.run_id)
        assert answer.culprit is Culprit.SLOTS
        assert "all 1 slots are taken" in answer.text


async def test_hands_are_named(night: Night) -> None:
    """Held by whom, paused by whom and why; what lets it go."""
    night.plan("alone", LONG)
    async with night:
        await night.engine.trigger("alone", actor="ann")
        run = await night.engine.trigger("alone", actor="ann")
        await night.engine.hold(run.run_id, actor="bob")
        answer = await why(night, run=run.run_id)
        assert answer.culprit is Culprit.HELD
        assert "held by bob" in answer.text
        assert answer.release == f"pysched release {run.run_id}"
        await night.engine.pause("flaky", actor="cay", reason="month end")
        queued = await night.engine.trigger("flaky", actor="ann")
        answer = await why(night, run=queued.run_id)
        assert answer.culprit is Culprit.PAUSED
        assert "the job is paused by cay since 2026-10-19 08:00:00+00:00 (month end)" in answer.text
        await night.engine.pause(actor="dan")
        answer = await why(night, "extract")
        assert answer.culprit is Culprit.PAUSED
        assert "the scheduler is paused by dan" in answer.text


async def test_a_retry_says_when_the_next_try_is(night: Night) -> None:
    """Between two tries the instant of the next one is the answer."""
    night.plan("flaky", FakeResult(timedelta(seconds=5), exit_code=1))
    async with night:
        run = await night.engine.trigger("flaky", actor="ann")
        await night.until("2026-10-19T08:01Z")
        answer = await why(night, run=run.run_id)
        assert answer.culprit is Culprit.RETRY
        assert "the next try is at 2026-10-19 08:10:05+00:00" in answer.text


@pytest.mark.parametrize(
    ("job", "day", "culprit", "said"),
    [
        ("weekly", "2026-10-26", Culprit.CALENDAR, "2026-10-26 is a holiday of calendar week"),
        ("weekly", "2026-10-24", Culprit.SCHEDULE, "no firing of its schedule has this run date"),
        ("closing", "2026-10-24", Culprit.CALENDAR, "2026-10-24 is no working day of calendar week"),
        ("off", "2026-10-19", Culprit.DISABLED, "the job is disabled"),
        ("alone", "2026-10-19", Culprit.MANUAL, "somebody triggers it"),
        ("extract", "2026-10-18", Culprit.UNKNOWN_PAST, "before this scheduler knew the job"),
        ("extract", "2020-01-01", Culprit.UNKNOWN_PAST, "or the run was pruned"),
    ],
)
async def test_a_date_without_a_run_is_answered_for(
    night: Night, job: str, day: str, culprit: Culprit, said: str
) -> None:
    """Past, present or to come, on or off: there is always a reason."""
    async with night:
        answer = await why(night, job, day)
        assert (answer.culprit, answer.run) == (culprit, None)
        assert said in answer.text


async def test_days_off_name_the_firings_around_them(night: Night) -> None:
    """A person asks about a Saturday because of the Friday or the Monday."""
    async with night:
        text = (await why(night, "weekly", "2026-10-24")).text
        assert "the firing before is 2026-10-23 06:00:00+00:00 for 2026-10-23" in text
        assert "the next firing is 2026-10-27 06:00:00+00:00 for 2026-10-27" in text


async def test_the_neighbours_of_a_day_off_are_those_by_run_date(night: Night) -> None:
    """Saturday's neighbour is Friday's run, though that fires on the Tuesday behind the holiday."""
    async with night:
        text = (await why(night, "closing", "2026-10-24")).text
        assert "the firing before is 2026-10-27 06:00:00+00:00 for 2026-10-23" in text
        assert "the next firing is 2026-10-28 06:00:00+00:00 for 2026-10-27" in text


async def test_a_paused_job_says_so_whatever_its_last_run_did(night: Night) -> None:
    """Asked about the job as it is now: the pause is to blame, not the run that ended well before it."""
    async with night:
        await night.until("2026-10-19T10:00Z")
        await night.engine.pause("extract", actor="ann", reason="month end")
        await night.engine.pause("alone", actor="ann")
        for day in (None, "2026-10-19"):
            answer = await why(night, "extract", day)
            assert (answer.culprit, answer.release) == (Culprit.PAUSED, "pysched resume extract")
            assert (
                "paused by ann since 2026-10-19 10:00:00+00:00 (month end), so its firings are dropped" in answer.text
            )
            assert "it ended at 2026-10-19 09:01:00+00:00, succeeded" in answer.text
        assert (await why(night, "alone")).culprit is Culprit.MANUAL, "it has no firings to drop"
        await night.engine.resume("extract", actor="ann")
        await night.engine.pause(actor="bob")
        assert (await why(night, "extract")).release == "pysched resume --all"
        assert (await why(night, "extract", "2026-10-21")).release == "pysched resume --all"


async def test_a_paused_job_that_still_runs_says_both(night: Night) -> None:
    """What runs goes on; nothing follows it."""
    night.plan("extract", LONG)
    async with night:
        await night.until("2026-10-19T10:00Z")
        await night.engine.pause("extract", actor="ann")
        answer = await why(night, "extract")
        assert answer.culprit is Culprit.RUNNING
        assert "attempt 1 runs since 2026-10-19 09:00:00+00:00; the job is paused by ann" in answer.text


async def test_a_paused_jobs_firing_is_not_announced(night: Night) -> None:
    """It would be dropped; with everything paused nothing is left to announce."""
    async with night:
        firings = night.engine.firings
        first = firings.next_run()
        await night.engine.pause("extract", actor="ann")
        assert "extract" not in firings.upcoming()
        assert "never" in firings.upcoming()
        assert firings.next_run() == first
        await night.engine.pause(actor="ann")
        assert (firings.upcoming(), firings.next_run()) == ({}, None)
        assert firings.next_instant() == first, "it still rings, and the firing is dropped and told"


async def test_a_run_ended_when_its_attempt_did(night: Night) -> None:
    """However late that was written down; what a hand decides, ends at that moment."""
    night.plan("extract", FakeResult(timedelta(minutes=5), exit_code=3))
    async with night:
        await night.until("2026-10-19T09:01Z")
        await night.crash()
        await night.clock.advance(timedelta(hours=2))
        await night.reopen()
        answer = await why(night, run="extract.2026-10-19.1")
        assert "it ended at 2026-10-19 09:05:00+00:00, failed: exit 3" in answer.text
        await night.engine.mark_success("extract.2026-10-19.1", actor="ann", reason="by hand")
        answer = await why(night, run="extract.2026-10-19.1")
        assert "it ended at 2026-10-19 11:01:00+00:00, succeeded: mark_success by ann: by hand" in answer.text


async def test_the_way_out_of_a_withdrawn_run_is_one(night: Night) -> None:
    """A job that is gone or disabled cannot be rerun before it is back."""
    night.plan("alone", LONG)
    async with night:
        await night.engine.trigger("alone", actor="ann")
        gone = await night.engine.trigger("alone", actor="ann")
        await night.reload(JOBS.replace("alone:", "other:"))
        assert list(night.engine.called_off) == [gone.run_id]
        answer = await why(night, run=gone.run_id)
        assert answer.release.startswith("put the job back into the configuration, reload, then pysched rerun")
        await night.reload(JOBS.replace("alone: {command: x,", "alone: {command: x, enabled: false,"))
        assert not list(night.engine.called_off)
        assert (await why(night, run=gone.run_id)).release.startswith("enabled: true, a reload, then pysched rerun")


async def test_a_reason_that_names_the_state_is_not_said_twice(night: Night) -> None:
    """`skipped: skipped: …` helps nobody."""
    async with night:
        await night.reload(JOBS + "  aid: {command: x, depends_on: [{job: extract, on: failure}]}\n")
        await night.until("2026-10-19T10:00Z")
        text = (await why(night, "aid")).text
        assert text.endswith(", skipped: extract (2026-10-19) did not fail")


async def test_dropped_firings_are_read_from_the_logbook(night: Night) -> None:
    """What catch-up dropped, or a pause, has its line in the logbook: that line is the answer."""
    async with night:
        await night.restart(down=timedelta(days=2))
        answer = await why(night, "never", "2026-10-19")
        assert answer.culprit is Culprit.MISSED
        assert "it was due at 2026-10-19 09:00:00+00:00 and got no run: 2 firings from" in answer.text
        assert "(catch_up: none)" in answer.text
        await night.engine.pause("extract", actor="ann")
        await night.until("2026-10-22T10:00Z")
        await night.engine.resume("extract", actor="ann")
        assert "(paused)" in (await why(night, "extract", "2026-10-22")).text


async def test_a_job_added_later_was_not_known_before(night: Night) -> None:
    """A reload adds a job: its earlier firings are not missed, and the answer says since when it is known."""
    async with night:
        await night.until("2026-10-19T12:00Z")
        added = JOBS + '  added: {command: x, schedule: "0 10 * * *"}\n'
        await night.reload(added)
        answer = await why(night, "added", "2026-10-19")
        assert answer.culprit is Culprit.UNKNOWN_PAST
        assert "its memory of the job begins at 2026-10-19 12:00:00+00:00" in answer.text


async def test_a_job_of_many_firings_is_asked_about_its_next_one(tmp_path: Path) -> None:
    """Of a date's firings those before the scheduler knew the job do not matter while others are to come."""
    jobs = 'jobs: {minutely: {command: x, schedule: "* * * * *"}}'
    night = Night(tmp_path, jobs, at="2026-10-19T08:00:30Z")
    async with night:
        answer = await why(night, "minutely")
        assert answer.culprit is Culprit.TIME
        assert "it fires at 2026-10-19 08:01:00+00:00" in answer.text


async def test_an_old_run_is_read_back(night: Night) -> None:
    """A run that is no longer in memory has its answer too."""
    async with night:
        run = await night.engine.trigger("alone", run_date=date(2026, 9, 7), actor="ann")
        await night.go(timedelta(minutes=5))
        await night.restart()
        assert night.engine.book.published(run.run_id) is None
        answer = await why(night, run=run.run_id)
        assert answer.culprit is Culprit.ENDED
        assert "succeeded" in answer.text
        assert (await why(night, "alone", "2026-09-07")).run is not None


async def test_what_is_not_there_is_said(night: Night) -> None:
    """An unknown job or run, or no question at all, is the caller's mistake."""
    async with night:
        with pytest.raises(NotFound, match="no job nobody"):
            await why(night, "nobody")
        with pytest.raises(NotFound, match="no job nobody"):
            await why(night, "nobody", "2026-10-19")
        with pytest.raises(NotFound, match="no run alone"):
            await why(night, run="alone.2026-10-19.7")
        with pytest.raises(NotFound, match="no run id"):
            await why(night, run="alone")
        with pytest.raises(BadRequest):
            await why(night)


@pytest.mark.parametrize("day", ["0001-01-01", "1900-06-01", "9999-12-31"])
async def test_dates_at_the_ends_of_time_are_answered(night: Night, day: str) -> None:
    """No date that can be written down makes the answer fail."""
    async with night:
        for job in ("extract", "weekly", "closing", "report", "alone", "chain"):
            assert (await why(night, job, day)).text


async def test_every_open_run_has_an_answer(night: Night) -> None:
    """Whatever state a run is in, its answer has a text and a way out."""
    night.plan("extract", LONG)
    night.plan("alone", LONG)
    night.plan("pooled", LONG)
    night.plan("flaky", FakeResult(timedelta(seconds=5), exit_code=1))
    async with night:
        for job in ("extract", "alone", "alone", "pooled", "pooled", "flaky"):
            await night.engine.trigger(job, actor="ann")
        held = await night.engine.trigger("alone", run_date=date(2026, 10, 12), actor="ann")
        await night.engine.hold(held.run_id, actor="ann")
        await night.until("2026-10-19T08:05Z")
        runs = night.engine.book.open_runs()
        assert len({run.state for run in runs}) >= 5
        for run in runs:
            answer = await why(night, run=run.run_id)
            assert answer.text
            assert answer.release
            assert answer.culprit is not Culprit.ENDED
