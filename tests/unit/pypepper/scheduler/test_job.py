"""A job, its saves and its cancel: pipeline.md 7, 11, and the rows Cancel of 10."""

from __future__ import annotations

import threading
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from pypepper.common.config import config
from pypepper.common.context import Context
from pypepper.exceptions import InternalException
from pypepper.fsm.fsm import State
from pypepper.scheduler import events
from pypepper.scheduler.base import IBase, now_text
from pypepper.scheduler.job import CANCEL_EVENT_KEY, Job
from pypepper.scheduler.store import JobRecord, get_job_store
from tests.pipes import job, returning, row, scripted, status_of, task, workflow


def event_of(made: Any) -> threading.Event:
    event = made.context.context[CANCEL_EVENT_KEY]
    assert isinstance(event, threading.Event)
    return event


def test_a_new_job() -> None:
    """pipeline.md 7, table, each row."""
    made = Job()
    assert uuid.UUID(made.id).version == 4
    assert (made.category, made.channel_id) == (None, "default")
    assert made.workflows == []
    assert not event_of(made).is_set()
    assert (made.status, made.version) == ("Unknown", 1)
    assert made.created == made.updated
    assert (Job.progress, IBase.progress) == (0, 0)
    assert (made.priority, made.error) == (0, None)
    other = Job("nightly", "c")
    assert (other.category, other.channel_id) == ("nightly", "c")
    assert event_of(other) is not event_of(made)
    other.category, other.channel_id = "x", "y"
    assert (other.to_record().category, other.to_record().channel_id) == ("x", "y")


def test_an_instants_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 7: UTC with milliseconds, in every minute."""
    for instant_ns, text in [
        (1_933_135_628_123_999_999, "2031-04-05T06:07:08.123+00:00"),
        (1_933_135_679_999_000_000, "2031-04-05T06:07:59.999+00:00"),
        (1_933_135_679_999_000_001, "2031-04-05T06:07:59.999+00:00"),
        (1_933_135_680_000_000_000, "2031-04-05T06:08:00.000+00:00"),
        (1_933_135_628_000_000_000, "2031-04-05T06:07:08.000+00:00"),
    ]:
        monkeypatch.setattr("pypepper.scheduler.base.time.time_ns", lambda instant_ns=instant_ns: instant_ns)
        assert now_text() == text
    monkeypatch.undo()
    assert datetime.fromisoformat(now_text()).utcoffset() == timedelta(0)


def test_apply_event_moves_once() -> None:
    """pipeline.md 7.1 row 2: one transition, nothing saved; illegal raises and moves nothing."""
    made = job()
    made.apply_event(events.INIT)
    assert status_of(made) == ("Initializing", None)
    with pytest.raises(InternalException, match="invalid event"):
        made.apply_event(events.RUN)
    assert status_of(made) == ("Initializing", None)


def test_restore_lifecycle_checks_nothing() -> None:
    """pipeline.md 7.1, last row: machine and status are set to whatever is given."""
    made = job()
    made.restore_lifecycle(State("Elsewhere"), "Other")
    assert (made.to_record().status, made.status) == ("Elsewhere", "Other")
    made.restore_lifecycle("Scheduled", "Scheduled")
    assert status_of(made)[0] == "Scheduled"
    made.restore_lifecycle(None, "Unknown")
    assert made._fsm.current() is None
    assert made.to_record().status == "Unknown"


def test_the_machine_is_authoritative() -> None:
    """pipeline.md 6.2: records and is_cancelled read the machine, not the attribute."""
    made = job()
    made.status = "Cancelled"
    assert not made.is_cancelled()
    assert made.to_record().status == "Unknown"
    made._fsm.restore(State("Cancelled"))
    assert made.is_cancelled()


def test_to_record_writes_nothing() -> None:
    """pipeline.md 7.1: a snapshot of now."""
    made = job(returning(), returning())
    assert made.to_record() == JobRecord(
        id=made.id,
        category="test",
        channel_id="c",
        status="Unknown",
        created=made.created,
        updated=made.updated,
        workflow_count=2,
    )
    assert get_job_store().list() == []


def test_log_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 7.1: one info line."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.job.log.info", said.append)
    made = job()
    made.log()
    assert len(said) == 1
    assert made.id in said[0]


def test_get_saved_looks_into_the_store() -> None:
    """pipeline.md 7.1: the row or None."""
    made = job()
    assert Job.get_saved(made.id) is None
    made.save()
    assert row(made).id == made.id


# ---------------------------------------------------------------- save


@pytest.fixture
def deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name a durable store that nobody applied."""
    monkeypatch.setattr(config, "_deferred", "postgres")


@pytest.mark.usefixtures("deferred")
def test_the_guard_comes_first() -> None:
    """pipeline.md 7.2 step 1: ValueError before anything else happens."""
    made = job()
    before = vars(made).copy()
    with pytest.raises(ValueError, match="setup_from_config"):
        made.save()
    with pytest.raises(ValueError, match="setup_from_config"):
        Job.get_saved(made.id)
    assert vars(made) == before
    assert get_job_store().list() == []


def test_a_save_that_lands(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 7.2 steps 2 and 4: a fresh `updated`, and the durable version."""
    monkeypatch.setattr("pypepper.scheduler.job.now_text", iter(["t0", "t1", "t2"]).__next__)
    made = job()
    assert made.save() is True
    assert (made.version, made.updated) == (1, "t1")
    assert made.save() is True
    assert (made.version, made.updated, row(made).updated, row(made).created) == (2, "t2", "t2", "t0")


@pytest.mark.parametrize("step", ["raise", "skip"])
def test_a_save_that_does_not_land_changes_nothing(step: str) -> None:
    """pipeline.md 7.2 step 3: the exception passes, or False; version, updated, status and machine stay."""
    scripted(Unknown=["land", step])
    made = job()
    made.save()
    before = (made.version, made.updated, made.status, made._fsm.current())
    if step == "raise":
        with pytest.raises(ConnectionError):
            made.save()
    else:
        assert made.save() is False
    assert (made.version, made.updated, made.status, made._fsm.current()) == before


def test_a_skipped_save_never_reloads_the_version() -> None:
    """pipeline.md 7.2, last sentence: a stale job stays stale until it is rebuilt."""
    made = job()
    made.save()
    Job.from_record(row(made)).save()
    assert (made.save(), made.save(), made.version) == (False, False, 1)
    rebuilt = Job.from_record(row(made))
    assert (rebuilt.save(), rebuilt.version) == (True, 3)


def test_a_row_that_vanished_leaves_the_version() -> None:
    """pipeline.md 7.2 step 4: unchanged if the read gives None."""
    store = scripted()
    made = job()
    made.version = 7
    store.get = lambda _id: None  # type: ignore[method-assign,assignment]
    assert made.save() is True
    assert made.version == 7


def test_a_row_that_cannot_be_read_back_is_read_before_the_next_save() -> None:
    """H10, done better: the write has landed, so save says True, and the job is not stale for good."""
    store = scripted()
    made = job()
    made.save()
    store.blind.append("raise")
    assert made.save() is True
    assert (made.version, row(made).version) == (1, 2)
    assert made.save() is True
    assert made.version == row(made).version == 3


def test_a_lost_reply_does_not_make_a_job_stale() -> None:
    """H10, done better: the row is known again as the one that was written."""
    scripted(Unknown=["land", "lose"])
    made = job()
    made.save()
    with pytest.raises(ConnectionError):
        made.save()
    assert (made.version, row(made).version) == (1, 2)
    assert made.save() is True
    assert made.version == row(made).version == 3


def test_a_lost_reply_is_not_taken_for_anothers_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """H10: a row of another instant, status or version is another's, and this job is stale."""
    texts = iter(f"t{n}" for n in range(9))
    monkeypatch.setattr("pypepper.scheduler.job.now_text", texts.__next__)
    scripted(Unknown=["land", "raise"])
    made = job()
    made.save()
    with pytest.raises(ConnectionError):
        made.save()
    Job.from_record(row(made)).save()
    assert made.save() is False
    assert made.version == 1


def test_a_lost_reply_far_behind_is_anothers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """H10: the same instant and status, but two versions on: somebody wrote in between."""
    monkeypatch.setattr("pypepper.scheduler.job.now_text", lambda: "t")
    scripted(Unknown=["land", "raise"])
    made = job()
    made.save()
    with pytest.raises(ConnectionError):
        made.save()
    other = Job.from_record(row(made))
    other.save()
    other.save()
    assert made.save() is False


def test_results_and_the_last_error_are_in_the_record() -> None:
    """Beyond the documents: in fields of their own, and only once a task was tried."""
    from tests.pipes import Flaky

    made = job(workflow(returning({"rows": 3}), task(Flaky(1), optional=True)), returning("b"))
    assert (made.to_record().results, made.to_record().error) == (None, None)
    for each in made.workflows:
        each.run()
    assert made.to_record().results == [[{"rows": 3}, None], ["b"]]
    assert made.to_record().error == "ValueError: failure 1"
    made.error = "the job's own"
    assert made.to_record().error == "the job's own"


# ---------------------------------------------------------------- cancel


def scheduled(*work: Any) -> Job:
    made = job(*work)
    made.scheduled()
    return made


@pytest.mark.parametrize("start", ["Scheduled", "InProgress"])
def test_cancel_sets_moves_and_saves(start: str) -> None:
    """pipeline.md 11: event set, Cancelled here and in the store."""
    made = scheduled(returning())
    if start == "InProgress":
        made.apply_event(events.RUN)
        made.save()
    made.cancel()
    assert event_of(made).is_set()
    assert status_of(made) == ("Cancelled", "Cancelled")
    assert made.is_cancelled()


def test_the_event_is_one_object_for_job_and_tasks() -> None:
    """pipeline.md 11 rows Key and Where: in task contexts only after sharing, and never replaced."""
    made = job(workflow(task(), task()), returning())
    tasks = [each for flow in made.workflows for each in flow.tasks]
    assert CANCEL_EVENT_KEY == "pypepper.scheduler.cancel_event"
    assert not any(CANCEL_EVENT_KEY in each.context.context for each in tasks)
    event = event_of(made)
    made.share_cancel_event()
    made.share_cancel_event()
    assert [event_of(each) is event for each in [made, *tasks]] == [True] * 4


def test_a_context_of_the_programs_own_gets_an_event() -> None:
    """pipeline.md 11 row Where: `always`, also in a context that the program has put in place of the first."""
    made = scheduled(returning())
    made.context = Context()
    made.cancel()
    assert event_of(made).is_set()
    assert event_of(made.workflows[0].tasks[0]) is event_of(made)


def test_cancel_shares_the_event_first() -> None:
    """pipeline.md 11 step 1: whoever polls a task's context sees it."""
    made = scheduled(returning())
    made.cancel()
    assert event_of(made.workflows[0].tasks[0]).is_set()


@pytest.mark.parametrize("state", ["Unknown", "Initializing", "Completed", "Failed", "Cancelled"])
def test_an_illegal_cancel_leaves_everything(state: str) -> None:
    """pipeline.md 10 row "Cancel, illegal state"; H6 done better: the event stays as it was."""
    made = job(returning())
    made.restore_lifecycle(State(state), state)
    before = state == "Cancelled"
    if before:
        event_of(made).set()
    with pytest.raises(InternalException):
        made.cancel()
    assert status_of(made) == (state, None)
    assert event_of(made).is_set() is before


def test_a_second_cancel_does_not_unset_the_event_of_the_first() -> None:
    """H6: the loser of two cancels must not clear what the winner has set."""
    made = scheduled(returning())
    made.cancel()
    event_of(made).clear()
    with pytest.raises(InternalException):
        made.cancel()
    assert event_of(made).is_set()


def test_a_cancel_whose_save_raises() -> None:
    """pipeline.md 10 row "Cancel, save raises": Cancelled, event set, store behind; `save()` is all to be done."""
    scripted(Cancelled=["raise"])
    made = scheduled(returning())
    with pytest.raises(ConnectionError):
        made.cancel()
    assert event_of(made).is_set()
    assert status_of(made) == ("Cancelled", "Scheduled")
    assert made.save()
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_a_cancel_whose_save_is_skipped() -> None:
    """pipeline.md 10 row "Cancel, save False": nothing is raised; H9: a metrics hook hears of it."""
    from pypepper.scheduler.metrics import metrics

    told: list[str] = []
    metrics.add(lambda name, facts: told.append(f"{name} {facts.get('status')}"))
    scripted(Cancelled=["skip"])
    made = scheduled(returning())
    made.cancel()
    assert event_of(made).is_set()
    assert status_of(made) == ("Cancelled", "Scheduled")
    assert "save.skipped Cancelled" in told


def test_of_cancel_and_complete_one_wins() -> None:
    """pipeline.md 11 row "Cancel vs. completion": whoever transitions first; the other raises."""
    for _ in range(50):
        made = scheduled(returning())
        made.apply_event(events.RUN)
        start, errors = threading.Barrier(2), list[Exception]()

        def end(act: Any, start: threading.Barrier = start, errors: list[Exception] = errors) -> None:
            start.wait()
            try:
                act()
            except InternalException as error:
                errors.append(error)

        threads = [
            threading.Thread(target=end, args=[made.cancel]),
            threading.Thread(target=end, args=[lambda made=made: made.apply_event(events.COMPLETE)]),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(errors) == 1
        machine = made._fsm.current()
        assert machine is not None
        assert made.status == machine.value in {"Cancelled", "Completed"}
        assert event_of(made).is_set() is made.is_cancelled()
