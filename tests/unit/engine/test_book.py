"""The runs in memory: two copies, and indexes that agree with a plain look at everything."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.engine.book import DAY_TRIGGERS, RunBook
from pyscheduler.model.run import ACTIVE_STATES, Cause, Run, RunState, Trigger
from pyscheduler.rules.dependencies import latest_of
from pyscheduler.rules.numbering import Numbering
from pyscheduler.rules.overlap import waits_for_overlap
from tests.builders import DAY, NOON, a_run

S = RunState
TOMORROW = DAY + timedelta(days=1)


def test_working_and_published_are_two() -> None:
    """Nobody decides on an old copy, nobody sees an unsaved one."""
    book = RunBook()
    run = a_run()
    book.put(run)
    assert (book.get(run.run_id), book.published(run.run_id)) == (run, None)
    book.publish(run)
    later = replace(run, state=S.QUEUED)
    book.put(later)
    assert (book.get(run.run_id), book.published(run.run_id)) == (later, run)


def test_an_ended_run_is_packed_when_it_is_shown_and_opened_again_by_a_hand() -> None:
    """Packing changes nothing that can be asked."""
    book = RunBook()
    done = a_run(state=S.SUCCEEDED, attempt=2)
    book.put(done)
    assert book.is_live(done.run_id)
    book.publish(done)
    assert not book.is_live(done.run_id)
    assert book.get(done.run_id) == book.published(done.run_id) == book.latest_for("load", DAY) == done
    reopened = replace(done, state=S.SCHEDULED)
    book.put(reopened)
    assert (book.get(done.run_id), book.published(done.run_id)) == (reopened, done)
    assert [run.run_id for run in book.open_for("load")] == [done.run_id]


def test_restore_throws_away_what_was_never_on_disk() -> None:
    """New runs vanish, changed ones and reopened ones are back at their published copy, with their indexes."""
    book = RunBook()
    kept, done = a_run("kept", state=S.WAITING), a_run("done", state=S.FAILED, attempt=1)
    for run in (kept, done):
        book.put(run)
        book.publish(run)
    book.put(replace(kept, state=S.RUNNING))
    book.put(replace(done, state=S.QUEUED))
    book.put(a_run("fresh"))
    book.put(a_run("kept", seq=2))
    book.restore()
    assert book.get(kept.run_id) == kept
    assert book.get(done.run_id) == book.published(done.run_id) == done
    assert book.latest_for("fresh", DAY) is None
    assert book.next_seq("fresh", DAY) == 1
    assert book.next_seq("kept", DAY) == 2
    assert [run.run_id for run in book.open_runs()] == [kept.run_id]
    assert not book.is_busy("done", "")


def test_numbers_go_on_after_runs_that_are_not_in_memory() -> None:
    """A number that the store has is never given again."""
    book = RunBook()
    book.raise_seq("load", DAY, 7)
    assert book.next_seq("load", DAY) == 8
    assert book.latest_for("load", DAY) is None
    book.put(a_run(seq=8))
    assert book.next_seq("load", DAY) == 9
    book.raise_seq("load", DAY, 3)
    assert book.next_seq("load", DAY) == 9


def test_a_firing_finds_its_run_by_instant() -> None:
    """Schedule, catch-up and backfill share one slot; a manual run at the same instant is none of them."""
    book = RunBook()
    assert book.by_scheduled("load", DAY, NOON) is None
    book.put(a_run(trigger=Trigger.MANUAL))
    assert book.by_scheduled("load", DAY, NOON) is None
    run = a_run(seq=2, trigger=Trigger.BACKFILL)
    book.put(run)
    assert book.by_scheduled("load", DAY, NOON) is run
    assert book.by_scheduled("load", DAY, NOON + timedelta(minutes=1)) is None
    assert book.by_scheduled("load", DAY, NOON - timedelta(minutes=1)) is None


def test_a_run_is_found_by_the_days_it_waits_for_until_it_runs() -> None:
    """The index by upstream day follows state and configuration."""
    book = RunBook()
    book.upstream_days = lambda run: (("extract", run.run_date),)
    run = a_run(state=S.WAITING)
    book.put(run)
    assert book.waiting_on("extract", DAY) == [run]
    queued = replace(run, state=S.QUEUED)
    book.put(queued)
    assert book.waiting_on("extract", DAY) == [queued]
    book.upstream_days = lambda run: (("other", run.run_date),)
    book.reindex_waits()
    assert book.waiting_on("extract", DAY) == []
    assert book.waiting_on("other", DAY) == [queued]
    book.put(replace(run, state=S.RUNNING))
    assert book.waiting_on("other", DAY) == []
    book.put(replace(run, state=S.RETRY_WAIT))
    assert len(book.waiting_on("other", DAY)) == 1


def test_eviction_forgets_old_days_but_those_it_is_told_to_keep() -> None:
    """Open runs stay however old; what was evicted is known to be incomplete."""
    book = RunBook(date.min)
    old, kept, open_ = (a_run(job, day=DAY, state=S.SUCCEEDED) for job in ("old", "kept", "open"))
    open_ = replace(open_, state=S.HELD)
    new = a_run("old", day=TOMORROW, state=S.FAILED)
    for run in (old, kept, open_, new):
        book.put(run)
        book.publish(run)
    assert book.evict_before(TOMORROW, lambda day: day[0] == "kept") == 1
    assert book.get(old.run_id) is None
    assert [book.get(run.run_id) for run in (kept, open_, new)] == [kept, open_, new]
    assert not book.is_complete("old", DAY)
    assert book.is_complete("old", TOMORROW)
    book.load([old])
    book.mark_complete("old", DAY)
    assert book.is_complete("old", DAY)
    assert book.latest_for("old", DAY) == old


def test_pruned_runs_are_forgotten_and_the_next_one_stands() -> None:
    """When the run that stood for a day goes, the next best does; when the last goes, the numbers begin anew."""
    book = RunBook()
    first, second = (a_run(seq=n, state=S.SUCCEEDED) for n in (1, 2))
    for run in (first, second):
        book.put(run)
        book.publish(run)
    book.forget([second.run_id])
    assert book.latest_for("load", DAY) == first
    book.forget([first.run_id])
    assert book.latest_for("load", DAY) is None
    assert book.next_seq("load", DAY) == 1


STEP = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from([DAY, TOMORROW]),
    st.integers(1, 4),
    st.sampled_from(RunState),
    st.sampled_from([Cause.NONE, Cause.OVERLAP]),
    st.sampled_from(Trigger),
    st.integers(0, 3),
    st.booleans(),
)


@given(steps=st.lists(STEP, max_size=40))
def test_every_index_agrees_with_a_look_at_everything(steps: list[tuple[object, ...]]) -> None:
    """Whatever was put and published in whatever order, each index answers as a scan would."""
    book, plain = RunBook(), dict[str, Run]()
    for job, day, seq, state, cause, trigger, hours, publish in steps:
        fixed = plain.get(f"{job}.{day}.{seq}")
        run = a_run(
            str(job),
            day,  # type: ignore[arg-type]
            int(seq),  # type: ignore[call-overload]
            state=state,
            cause=cause,
            trigger=fixed.trigger if fixed else trigger,
            scheduled_at=fixed.scheduled_at if fixed else NOON + timedelta(hours=int(hours)),  # type: ignore[call-overload]
        )
        plain[run.run_id] = run
        book.put(run)
        if publish:
            book.publish(run)
    for job in ("a", "b"):
        mine = [run for run in plain.values() if run.job == job]
        assert {run.run_id for run in book.open_for(job)} == {run.run_id for run in mine if not run.is_final}
        assert {run.run_id for run in book.active_for(job)} == {r.run_id for r in mine if r.state in ACTIVE_STATES}
        assert {r.run_id for r in book.overlap_waiters(job)} == {r.run_id for r in mine if waits_for_overlap(r)}
        for day in (DAY, TOMORROW):
            of_day = [run for run in mine if run.run_date == day]
            assert book.latest_for(job, day) == latest_of(of_day)
            assert {run.run_id for run in book.runs_for(job, day)} == {run.run_id for run in of_day}
            assert book.next_seq(job, day) == max((run.seq for run in of_day), default=0) + 1
            assert (book.dependency_run(job, day) is None) == (not any(r.trigger in DAY_TRIGGERS for r in of_day))


def test_numbers_after_a_restore_are_far_above_and_nothing_between_is_looked_at() -> None:
    """The floor holds for its dates, a run above it is found, and one that was never on disk gives its number back."""
    book = RunBook()
    book.numbering = Numbering.after_restore(90_000, NOON, DAY)
    above = book.numbering.above
    book.load([a_run(seq=1, state=RunState.SUCCEEDED)])
    assert book.next_seq("load", DAY) == above + 1
    assert book.next_seq("load", DAY + timedelta(days=8)) == 1
    book.put(a_run(seq=above + 1))
    assert [run.seq for run in book.runs_for("load", DAY)] == [1, above + 1]
    assert book.next_seq("load", DAY) == above + 2
    book.restore()
    assert [run.seq for run in book.runs_for("load", DAY)] == [1]
    assert book.next_seq("load", DAY) == above + 1
    book.load([a_run(seq=above + 1, state=RunState.SUCCEEDED)])
    assert book.evict_before(DAY + timedelta(days=1), lambda _day: False) == 2
