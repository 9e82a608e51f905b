"""What every store promises, whatever it is made of. The fixture gives each kind in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.errors import BadRequest, NaiveTime, StoreError, StoreUnavailable
from pyscheduler.model.config_record import ConfigRecord, ConfigVersion
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import Cause, Outcome, RunState, Trigger
from pyscheduler.store import Batch, LineQuery, RunQuery, Store
from pyscheduler.store.dialects import SQLITE
from tests.contract.store_kit import DAY, EVERY_STORE, NOON, OpenAgain, a_line, a_run, an_attempt, every_opener


@pytest.fixture(params=EVERY_STORE)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with every_opener(request, tmp_path / "state", monkeypatch) as again:
        yield again


@pytest.fixture
def store(open_again: OpenAgain) -> Store:
    return open_again()


# --------------------------------------------------------------------------- saved is saved


def test_what_was_saved_is_there_after_opening_again(open_again: OpenAgain) -> None:
    """Every field of a run, an attempt, a line, a configuration comes back as it was saved."""
    run = a_run(
        trigger=Trigger.CATCH_UP,
        state=RunState.HELD,
        reason="held by ada",
        cause=Cause.HAND,
        attempt=2,
        attempt_base=1,
        reruns=1,
        config_version=7,
        forced=True,
        held_from=RunState.QUEUED,
        not_before=NOON + timedelta(microseconds=1),
        queued_at=NOON,
        wait_until=NOON + timedelta(days=1),
    )
    attempt = an_attempt(
        run,
        2,
        took_s=2.5,
        config_version=7,
        boot_id="b-1",
        pid=4711,
        signal=9,
        reason="signal 9",
        stdout_path="/logs/a.out",
        stderr_path="/logs/a.err",
        status_path="/state/status/a.json",
        kill_by="ada",
        cpu_s=0.25,
        max_rss_bytes=5_000_000_000,
        note="leftovers: 12",
    )
    line = a_line(run, detail={"attempt": 2, "nested": {"ü": [1, None, True]}})
    record = ConfigRecord(
        version=7, loaded_at=NOON, digest="d7", sources=(ConfigSource(path="jobs.yaml", text="jobs: {}\n"),)
    )
    first = open_again()
    first.apply(Batch(runs=(run,), attempts=(attempt,), lines=(line,), engine={"last_tick": "noon"}, configs=(record,)))
    first.close()
    store = open_again()
    assert store.get_run(run.run_id) == run
    assert store.attempts(run.run_id) == [attempt]
    assert store.lines(LineQuery()).items == (replace(line, id=1),)
    assert store.engine_values() == {"last_tick": "noon"}
    assert store.latest_config() == store.config(7) == record


def test_a_batch_is_saved_whole_or_not_at_all(store: Store) -> None:
    """One row that the store refuses takes the others of its batch with it."""
    good, bad = a_run("good"), replace(a_run("bad"), run_id="bad.2027-05-20.2")
    with pytest.raises(StoreError) as refused:
        store.apply(Batch(runs=(good, bad), lines=(a_line(good),), engine={"last_tick": "x"}))
    assert not refused.value.outcome_unknown
    assert store.get_run("good.2027-05-20.1") is None
    assert store.lines(LineQuery()).items == ()
    assert store.engine_values() == {}


def test_after_a_refused_batch_the_next_one_is_saved(store: Store) -> None:
    """A refusal leaves no transaction open behind it."""
    with pytest.raises(StoreError):
        store.apply(Batch(runs=(replace(a_run(), run_id="x.2027-05-20.1"),)))
    store.apply(Batch(runs=(a_run(),)))
    assert [run.job for run in store.open_runs()] == ["nightly"]


def test_a_later_save_of_a_run_changes_it_but_not_what_it_is(store: Store) -> None:
    """State and reason follow the last save; job, date, number, instant and trigger are fixed by the first."""
    run = a_run()
    store.apply(Batch(runs=(run,)))
    moved = replace(run, state=RunState.SUCCEEDED, updated_at=NOON + timedelta(hours=1), scheduled_at=NOON)
    store.apply(Batch(runs=(moved,)))
    assert store.get_run(run.run_id) == replace(moved, scheduled_at=run.scheduled_at)


def test_the_last_copy_of_a_run_in_one_batch_wins(store: Store) -> None:
    """A batch that holds two copies of a run leaves the later one."""
    run = a_run()
    store.apply(Batch(runs=(run, replace(run, state=RunState.RUNNING))))
    assert [found.state for found in store.open_runs()] == [RunState.RUNNING]


def test_deleting_takes_everything_that_names_the_run(store: Store) -> None:
    """Attempts and lines go with their run; the scheduler's own lines and other runs stay."""
    gone, kept = a_run("gone", state=RunState.FAILED), a_run("kept", state=RunState.FAILED)
    store.apply(
        Batch(
            runs=(gone, kept),
            attempts=(an_attempt(gone), an_attempt(kept)),
            lines=(a_line(gone), a_line(kept), a_line(action="reload")),
        )
    )
    store.apply(Batch(deleted_runs=(gone.run_id,)))
    assert store.get_run(gone.run_id) is None
    assert store.attempts(gone.run_id) == []
    assert [line.run_id for line in store.lines(LineQuery(newest_first=False)).items] == [kept.run_id, None]
    assert store.attempts(kept.run_id) == [an_attempt(kept)]


def test_a_run_deleted_and_saved_in_one_batch_is_there_afresh(store: Store) -> None:
    """Deletions come first."""
    old = a_run(state=RunState.FAILED)
    store.apply(Batch(runs=(old,), lines=(a_line(old),)))
    store.apply(Batch(runs=(a_run(),), deleted_runs=(old.run_id,)))
    assert [run.state for run in store.open_runs()] == [RunState.QUEUED]
    assert store.lines(LineQuery()).items == ()


def test_an_engine_value_of_none_is_removed(store: Store) -> None:
    """None takes the key away; the others stay."""
    store.apply(Batch(engine={"a": "1", "b": "2"}))
    store.apply(Batch(engine={"a": None, "c": "3"}))
    assert store.engine_values() == {"b": "2", "c": "3"}


# --------------------------------------------------------------------------- uniqueness


@pytest.mark.parametrize("second", [Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.BACKFILL])
def test_a_due_instant_has_one_run(store: Store, second: Trigger) -> None:
    """P2: schedule, catch-up and backfill share one run per job and due instant; the store refuses another."""
    store.apply(Batch(runs=(a_run(seq=1, scheduled_at=NOON),)))
    with pytest.raises(StoreError):
        store.apply(Batch(runs=(a_run(seq=2, scheduled_at=NOON, trigger=second),)))
    assert len(store.open_runs()) == 1


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.DEPENDENCY])
def test_runs_by_hand_and_by_dependency_may_share_an_instant(store: Store, trigger: Trigger) -> None:
    """Only what a schedule makes is unique by its due instant (jobs.md 3.5)."""
    store.apply(Batch(runs=(a_run(seq=1, scheduled_at=NOON), a_run(seq=2, scheduled_at=NOON, trigger=trigger))))
    assert len(store.open_runs()) == 2


def test_a_deleted_runs_instant_may_be_used_again(store: Store) -> None:
    """Pruning frees the instant; the last handled tick is what keeps it from coming again."""
    first = a_run(seq=1, scheduled_at=NOON, state=RunState.FAILED)
    store.apply(Batch(runs=(first,)))
    store.apply(Batch(runs=(a_run(seq=2, scheduled_at=NOON),), deleted_runs=(first.run_id,)))
    assert [run.seq for run in store.open_runs()] == [2]


# --------------------------------------------------------------------------- odd values


@pytest.mark.parametrize("year", [1, 1969, 2038, 2106, 2200, 9999])
def test_instants_of_every_year_are_kept_to_the_microsecond(store: Store, year: int) -> None:
    """No year is too far: neither 2038 nor 2106 is an edge (field case FC-024)."""
    when = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    run = a_run(day=when.date(), scheduled_at=when, created_at=when, updated_at=when)
    store.apply(Batch(runs=(run,)))
    assert store.open_runs() == [run]


def test_instants_of_other_zones_come_back_in_utc(store: Store) -> None:
    """The instant is kept, not the zone it was said in."""
    east = datetime.fromisoformat("2027-05-20T14:00:00+02:00")
    store.apply(Batch(runs=(a_run(scheduled_at=east),)))
    (run,) = store.open_runs()
    assert run.scheduled_at == east
    assert run.scheduled_at.utcoffset() == timedelta(0)


def test_an_instant_without_a_zone_is_refused(store: Store) -> None:
    """Guessing a zone would move a night's work by hours."""
    with pytest.raises(NaiveTime):
        store.apply(Batch(runs=(a_run(scheduled_at=NOON.replace(tzinfo=None)),)))


def test_bytes_that_are_no_text_do_not_stop_a_commit(store: Store) -> None:
    """A lone surrogate (a path or a reason with odd bytes) is replaced; everything else of the batch is saved."""
    run = a_run(reason="exit 1: \udcff")
    store.apply(
        Batch(runs=(run,), attempts=(an_attempt(run, note="\ud800"),), lines=(a_line(run, detail={"file": "\udc80"}),))
    )
    assert store.open_runs() == [replace(run, reason="exit 1: ?")]
    assert store.attempts(run.run_id)[0].note == "?"
    assert store.lines(LineQuery()).items[0].detail == {"file": "?"}


def test_text_of_any_length_and_script_is_kept(store: Store) -> None:
    """Emoji, quotes and a megabyte of text are only text; and so is NUL, but on a server, which holds `?` for it."""
    reason = "'; DROP TABLE runs; -- \0 日本語 🎉 " + "x" * 1_000_000
    store.apply(Batch(runs=(a_run(reason=reason),)))
    assert store.open_runs()[0].reason == (reason if store.dialect == SQLITE else reason.replace("\0", "?"))


def test_a_lines_detail_may_hold_what_json_cannot(store: Store) -> None:
    """Dates, instants, sets and paths are written as text: a line must not stop a commit."""
    line = a_line(detail={"day": DAY, "at": NOON, "set": {"b", "a"}, "path": Path("/x"), "state": RunState.HELD})
    store.apply(Batch(lines=(line,)))
    assert store.lines(LineQuery()).items[0].detail == {
        "day": "2027-05-20",
        "at": "2027-05-20T12:00:00Z",
        "set": ["a", "b"],
        "path": "/x",
        "state": "held",
    }


# --------------------------------------------------------------------------- reads for an engine's start


def test_open_runs_are_all_that_have_not_ended(store: Store) -> None:
    """Every open state, however old; no final one."""
    states = list(RunState)
    store.apply(Batch(runs=tuple(a_run(seq=number, state=state) for number, state in enumerate(states, 1))))
    found = store.open_runs()
    assert [run.state for run in found] == [state for state in states if not a_run(state=state).is_final]


def test_the_latest_attempt_is_the_one_with_the_highest_number(store: Store) -> None:
    """Attempt 10 comes after attempt 9; a run without any is not in the answer."""
    run, other, none = a_run("a"), a_run("b"), a_run("c")
    store.apply(Batch(runs=(run, other, none), attempts=tuple(an_attempt(run, number) for number in range(1, 11))))
    store.apply(Batch(attempts=(an_attempt(other, 1, outcome=Outcome.LOST),)))
    found = store.latest_attempts(each.run_id for each in (run, other, none))
    assert {run_id: attempt.attempt for run_id, attempt in found.items()} == {run.run_id: 10, other.run_id: 1}
    assert found[other.run_id].outcome is Outcome.LOST


def test_ended_runs_since_a_day_come_newest_first_and_no_more_than_asked(store: Store) -> None:
    """Newest run date first, then newest instant; the limit cuts the oldest off."""
    days = [DAY - timedelta(days=back) for back in range(5)]
    runs = [
        a_run(seq=seq, day=day, state=RunState.SUCCEEDED if seq % 2 else RunState.FAILED, scheduled_at=NOON - age)
        for back, day in enumerate(days)
        for seq in range(1, 4)
        for age in (timedelta(days=back, minutes=seq),)
    ]
    store.apply(Batch(runs=(*runs, a_run(seq=9))))
    found = list(store.final_runs_since(days[3], 100))
    assert found == [run for run in runs if run.run_date >= days[3]]
    assert list(store.final_runs_since(days[3], 4)) == found[:4]


def test_the_ended_runs_of_a_date_come_failed_first_and_say_whether_they_are_all(store: Store) -> None:
    """What does not fit is never what failed; open runs and other dates are not among them."""
    states = (RunState.SUCCEEDED, RunState.SKIPPED, RunState.FAILED, RunState.CANCELLED)
    runs = [
        a_run(seq=seq, state=state, scheduled_at=NOON - timedelta(minutes=seq))
        for seq, state in enumerate(states * 2, 1)
    ]
    before = a_run(day=DAY - timedelta(days=1), state=RunState.FAILED, scheduled_at=NOON - timedelta(days=1))
    store.apply(Batch(runs=(*runs, a_run(seq=9), before)))
    found, is_all = store.ended_of_date(DAY, 8)
    assert is_all
    assert {run.run_id for run in found} == {run.run_id for run in runs}
    assert [run.state for run in found[:2]] == [RunState.FAILED, RunState.FAILED]
    assert store.ended_of_date(DAY, 3) == (found[:3], False)


def test_the_memory_window_holds_whole_days(store: Store) -> None:
    """The newest dates that fit, each complete; the first complete date is said; open runs are not in it."""
    days = [DAY - timedelta(days=back) for back in range(4)]
    ended = [
        a_run(seq=seq, day=day, state=RunState.SUCCEEDED, scheduled_at=NOON - timedelta(days=back, minutes=seq))
        for back, day in enumerate(days)
        for seq in range(1, 4)
    ]
    store.apply(Batch(runs=(*ended, a_run(seq=9))))
    for limit, first in (
        (100, days[3]),
        (12, days[3]),
        (11, days[2]),
        (6, days[1]),
        (5, days[0]),
        (2, DAY + timedelta(days=1)),
    ):
        found, complete_from = store.memory_window(days[3], limit)
        assert complete_from == first
        assert {run.run_id for run in found} == {run.run_id for run in ended if run.run_date >= first}
    assert store.memory_window(DAY + timedelta(days=1), 10) == ([], DAY + timedelta(days=1))


def test_all_runs_of_some_days_with_the_highest_numbers(store: Store) -> None:
    """Open and ended ones, oldest first within a day; a day without runs has no number."""
    before = DAY - timedelta(days=1)
    runs = [
        a_run("a", 1, state=RunState.FAILED),
        a_run("a", 12, trigger=Trigger.MANUAL, scheduled_at=NOON),
        a_run("a", 2, day=before, state=RunState.SUCCEEDED, scheduled_at=NOON - timedelta(days=1)),
        a_run("b", 3),
    ]
    store.apply(Batch(runs=tuple(runs)))
    found, seqs = store.runs_of_days([("a", DAY), ("a", before), ("c", DAY)])
    assert found == [runs[1], runs[0], runs[2]]
    assert seqs == {("a", DAY): 12, ("a", before): 2}


def test_all_attempts_of_some_runs(store: Store) -> None:
    """First to last, of more runs than are asked for at once."""
    runs = [a_run(seq=seq) for seq in range(1, 602)]
    store.apply(
        Batch(runs=tuple(runs), attempts=tuple(an_attempt(run, number) for run in runs for number in (10, 2, 1)))
    )
    found = store.attempts_of(run.run_id for run in runs)
    assert len(found) == 601
    assert [attempt.attempt for attempt in found[runs[600].run_id]] == [1, 2, 10]
    assert len(store.latest_attempts(run.run_id for run in runs)) == 601
    assert store.attempts_of(["none.2027-05-20.1"]) == {}


def test_the_starts_that_the_logbook_tells_of(store: Store) -> None:
    """Of runs that are asked for, more than fit into one question; other lines and other runs do not count."""
    runs = [a_run(seq=seq) for seq in range(1, 602)]
    told = [a_line(run, "attempt_started", detail={"attempt": number}) for run in runs for number in (1, 2)]
    store.apply(Batch(lines=(*told, a_line(runs[0], "attempt_ended", detail={"attempt": 3}))))
    assert store.starts_told(run.run_id for run in runs[:-1]) == {(run.run_id, n) for run in runs[:-1] for n in (1, 2)}
    assert store.starts_told(["none.2027-05-20.1"]) == set()


def test_numbers_and_names_that_are_taken(store: Store) -> None:
    """The highest number of each (job, run date), and the jobs that have runs at all."""
    other_day = DAY - timedelta(days=3)
    store.apply(
        Batch(
            runs=(
                *(a_run("a", seq) for seq in (1, 2, 10)),
                a_run("b", 4, day=other_day, state=RunState.FAILED, scheduled_at=NOON - timedelta(days=3)),
            )
        )
    )
    assert store.max_seq("a", DAY) == 10
    assert store.max_seq("a", other_day) == 0
    assert store.max_seqs(other_day) == {("a", DAY): 10, ("b", other_day): 4}
    assert store.max_seqs(DAY) == {("a", DAY): 10}
    assert store.jobs_with_runs() == {"a", "b"}
    assert store.first_dates(["a", "b", "c"]) == {"a": DAY, "b": other_day}
    assert store.has_runs("b")
    assert not store.has_runs("c")


def test_firings_with_runs_are_those_of_schedules_only(store: Store) -> None:
    """(since, until] of schedule, catch-up and backfill runs; a run by hand at the instant does not count."""
    triggers = [Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.BACKFILL, Trigger.MANUAL, Trigger.DEPENDENCY]
    runs = [a_run(seq=seq, trigger=trigger) for seq, trigger in enumerate(triggers, 1)]
    store.apply(Batch(runs=(*runs, a_run("other", 2))))
    until = NOON + timedelta(minutes=10)
    assert store.firings_with_runs("nightly", NOON, until) == {run.scheduled_at for run in runs[:3]}
    assert store.firings_with_runs("nightly", runs[0].scheduled_at, runs[1].scheduled_at) == {runs[1].scheduled_at}


def test_the_run_that_stands_for_its_date(store: Store) -> None:
    """The greatest instant, then the greatest number; one called off by overlap only where no other exists."""
    off: dict[str, Any] = {"state": RunState.CANCELLED, "cause": Cause.OVERLAP, "trigger": Trigger.MANUAL}
    before = DAY - timedelta(days=1)
    store.apply(
        Batch(
            runs=(
                *(a_run("tie", seq, scheduled_at=NOON, trigger=Trigger.MANUAL) for seq in (9, 10, 11)),
                a_run("late", 1, scheduled_at=NOON + timedelta(hours=1), state=RunState.FAILED),
                a_run("late", 2, scheduled_at=NOON),
                a_run("late", 3, scheduled_at=NOON + timedelta(hours=2), **off),
                a_run("off", 1, scheduled_at=NOON, **off),
                a_run("off", 2, scheduled_at=NOON, **off),
                a_run("byhand", 1, scheduled_at=NOON),
                a_run("byhand", 2, **(off | {"cause": Cause.HAND})),
                a_run("old", 1, day=before, state=RunState.SKIPPED),
            )
        )
    )
    found = {row.job: row for row in store.latest_index(DAY)}
    assert {job: row.seq for job, row in found.items()} == {"tie": 11, "late": 1, "off": 2, "byhand": 2}
    assert (found["late"].state, found["off"].cause) == (RunState.FAILED, Cause.OVERLAP)
    assert {row.run_id for row in store.latest_index(before, {"old", "tie"})} == {
        "old.2027-05-19.1",
        "tie.2027-05-20.11",
    }


def test_prunable_runs_are_the_oldest_that_have_ended(store: Store) -> None:
    """Final runs before a day, oldest date first, without those to keep, each with its attempts' log files."""
    runs = [a_run(seq=1, day=DAY - timedelta(days=age), scheduled_at=NOON - timedelta(days=age)) for age in range(6)]
    ended = [replace(run, state=RunState.SUCCEEDED) for run in runs]
    logs: dict[str, Any] = {"stdout_path": "/l/out", "stderr_path": "/l/err"}
    store.apply(
        Batch(
            runs=(*ended[:5], runs[5]),
            attempts=(
                an_attempt(ended[4], 1, **logs),
                an_attempt(ended[4], 2, stdout_path="/l/out", stderr_path="/l/out"),
            ),
        )
    )
    found = store.final_runs_before(DAY, 3, keep={ended[3].run_id})
    assert [run.run_id for run in found] == [ended[age].run_id for age in (4, 2, 1)]
    assert {run.run_id for run in store.final_runs_before(DAY, 100)} == {ended[age].run_id for age in (4, 3, 2, 1)}
    assert [run.run_id for run in store.final_runs_before(DAY, 2)] == [ended[age].run_id for age in (4, 3)]
    assert [run.log_paths for run in found] == [("/l/out", "/l/err"), (), ()]


def test_log_files_of_a_stretch_of_run_dates(store: Store) -> None:
    """Of ended runs whose date is in it, each file once; a merged stderr is no second file."""
    runs = [
        a_run(seq=1, day=DAY - timedelta(days=age), scheduled_at=NOON - timedelta(days=age), state=RunState.FAILED)
        for age in range(4)
    ]
    open_run = a_run("open", day=DAY - timedelta(days=1))
    logs = [an_attempt(run, stdout_path=f"{run.run_date}.out", stderr_path=f"{run.run_date}.err") for run in runs]
    merged = an_attempt(runs[1], 2, stdout_path="both", stderr_path="both")
    store.apply(Batch(runs=(*runs, open_run), attempts=(*logs, merged, an_attempt(open_run, stdout_path="open.out"))))
    found = list(store.log_paths_between(DAY - timedelta(days=2), DAY))
    assert sorted(found) == ["2027-05-18.err", "2027-05-18.out", "2027-05-19.err", "2027-05-19.out", "both"]
    found = list(store.log_paths_between(date.min, DAY - timedelta(days=2)))
    assert sorted(found) == ["2027-05-17.err", "2027-05-17.out"]


def test_keys_of_attempts_and_whether_their_files_may_go(store: Store) -> None:
    """Only when both the attempt and its run have ended; an unknown run has no keys."""
    ended, retried, running = (
        a_run("ended", state=RunState.FAILED),
        a_run("retried", state=RunState.RETRY_WAIT),
        a_run("running", state=RunState.RUNNING),
    )
    store.apply(
        Batch(
            runs=(ended, retried, running),
            attempts=(
                an_attempt(ended, key="k1", outcome=Outcome.FAILED),
                an_attempt(ended, 2, key="k2"),
                an_attempt(retried, key="k3", outcome=Outcome.FAILED),
                an_attempt(running, key="k4"),
            ),
        )
    )
    found = store.keys_of_runs([ended.run_id, retried.run_id, running.run_id, "x.2027-05-20.1"])
    assert found == {"k1": True, "k2": False, "k3": False, "k4": False}


# --------------------------------------------------------------------------- small reads


def test_counts_by_state_are_of_one_run_date(store: Store) -> None:
    """Open and ended runs of the date, each state that occurs."""
    before = DAY - timedelta(days=1)
    store.apply(
        Batch(
            runs=(
                *(a_run(seq=seq, state=RunState.SUCCEEDED) for seq in (1, 2)),
                a_run(seq=3, state=RunState.HELD),
                a_run("x", 1, day=before, state=RunState.HELD),
                a_run("x", 2, day=before, state=RunState.FAILED),
            )
        )
    )
    assert store.counts_by_state(DAY) == {RunState.SUCCEEDED: 2, RunState.HELD: 1}
    assert store.counts_by_state(date(2020, 1, 1)) == {}


def test_recent_durations_are_of_the_newest_succeeded_attempts(store: Store) -> None:
    """Newest run first, over all triggers; failed attempts and runs vouched for by hand have no say."""
    runs = [
        a_run(seq=seq, state=RunState.SUCCEEDED, attempt=2, trigger=Trigger.MANUAL if seq % 2 else Trigger.SCHEDULE)
        for seq in range(1, 13)
    ]
    vouched = a_run("nightly", 20, state=RunState.SUCCEEDED, attempt=1)
    failed = a_run("nightly", 21, state=RunState.FAILED, attempt=1)
    attempts = [an_attempt(run, number, took_s=number * run.seq) for run in runs for number in (1, 2)]
    lost = [an_attempt(run, 1, took_s=99, outcome=Outcome.FAILED) for run in (vouched, failed)]
    store.apply(Batch(runs=(*runs, vouched, failed), attempts=(*attempts, *lost)))
    assert store.recent_durations("nightly") == tuple(2.0 * seq for seq in range(12, 2, -1))
    assert store.recent_durations("nightly", 2) == (24.0, 22.0)
    assert store.recent_durations_for(["nightly", "unknown"], 1) == {"nightly": (24.0,)}


def test_run_ids_that_begin_with_a_text(store: Store) -> None:
    """In text order, no more than asked; `_` and `%` are letters like any other."""
    store.apply(Batch(runs=(a_run("ab", 1), a_run("ab", 2), a_run("a_b", 1), a_run("b", 1))))
    assert store.existing_run_ids("ab.") == ("ab.2027-05-20.1", "ab.2027-05-20.2")
    assert store.existing_run_ids("a", 2) == ("a_b.2027-05-20.1", "ab.2027-05-20.1")
    assert store.existing_run_ids("%") == ()


def test_configurations_are_kept_by_version(store: Store) -> None:
    """The newest, one by its number, and the list without their text, newest first."""
    records = [ConfigRecord(version=number, loaded_at=NOON, digest=f"d{number}", sources=()) for number in (1, 2, 3)]
    assert store.latest_config() is None
    store.apply(Batch(configs=tuple(records)))
    assert store.latest_config() == records[2]
    assert store.config(2) == records[1]
    assert store.config(9) is None
    assert store.config_versions(2) == [
        ConfigVersion(version=3, loaded_at=NOON, digest="d3"),
        *store.config_versions(1, 3),
    ]
    assert [version.version for version in store.config_versions(10, before=3)] == [2, 1]


# --------------------------------------------------------------------------- generation, closing


def test_each_start_is_a_new_generation(open_again: OpenAgain) -> None:
    """The number grows with every start and survives closing."""
    store = open_again()
    first, second = store.raise_generation(), store.raise_generation()
    store.close()
    third = open_again().raise_generation()
    assert [state.next for state in (first, second, third)] == [1, 2, 3]
    assert not any(state.older for state in (first, second, third))


def test_a_closed_store_says_so_and_may_be_closed_again(store: Store) -> None:
    """Neither reading nor writing after the end, and no harm in closing twice."""
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.apply(Batch(engine={"a": "1"}))
    with pytest.raises(StoreUnavailable, match="closed"):
        store.open_runs()


@pytest.mark.parametrize("cursor", ["x", "1~", "1~" + "9" * 30, "9" * 30 + "~1"])
def test_a_foreign_cursor_is_refused_even_where_there_is_nothing_to_list(store: Store, cursor: str) -> None:
    """An empty logbook looks at the cursor too."""
    with pytest.raises(BadRequest, match="no cursor of this list"):
        store.lines(LineQuery(cursor=cursor))
    if cursor != "1~" + "9" * 30:  # a run id may well be thirty nines
        with pytest.raises(BadRequest, match="no cursor of this list"):
            store.runs(RunQuery(cursor=cursor))
