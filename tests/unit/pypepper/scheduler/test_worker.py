"""The worker: pipeline.md 9.1 step by step, 9.2 row by row, 10 from "Heal" to "Fail", 11."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pypepper.exceptions import InternalException
from pypepper.scheduler import events
from pypepper.scheduler.channel import Channel, manager
from pypepper.scheduler.job import CANCEL_EVENT_KEY, Job, JobRedeliveryError, JobRequeuedError
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.store import InMemoryJobStore, get_job_store, set_job_store
from pypepper.scheduler.worker import Worker
from pypepper.scheduler.workflow import Workflow
from tests.pipes import (
    BOUND_S,
    Flaky,
    Scripted,
    job,
    meet,
    once,
    returning,
    row,
    scripted,
    status_of,
    task,
    work_off,
    workflow,
)


@pytest.fixture(params=["in place", "on a thread"], autouse=True)
def store(request: pytest.FixtureRequest) -> None:
    """Every promise holds for the default memory store, asked in place, and for one that is asked on a thread."""
    if request.param == "on a thread":
        set_job_store(Scripted())


def scheduled(*work: Any, **more: Any) -> Job:
    made = job(*work, **more)
    made.scheduled()
    return made


def length(channel: str = "c") -> int:
    return manager.available(channel).length()


# ---------------------------------------------------------------- 9.1


def test_stopped_and_empty_is_none() -> None:
    """pipeline.md 9.1 step 1."""
    manager.new("c").request_stop()
    assert once() is None


def test_a_job_is_run_to_its_end() -> None:
    """pipeline.md 9.1 steps 4 to 7 and 11: every workflow in order; versions 1, 2, 3."""
    ran: list[str] = []
    made = scheduled(lambda *_: ran.append("a"), lambda *_: ran.append("b"))
    assert once() is made
    assert ran == ["a", "b"]
    assert status_of(made) == ("Completed", "Completed")
    assert (made.version, row(made).version) == (3, 3)


def test_a_job_without_workflows_is_completed() -> None:
    """pipeline.md 9.1, last sentence."""
    made = scheduled()
    assert once() is made
    assert status_of(made) == ("Completed", "Completed")


def test_a_job_cancelled_before_it_was_picked_up() -> None:
    """pipeline.md 9.1 step 2: no work, and the row is right already."""
    ran: list[int] = []
    made = scheduled(lambda *_: ran.append(1))
    made.cancel()
    assert once() is made
    assert (ran, status_of(made)) == ([], ("Cancelled", "Cancelled"))
    assert row(made).version == 2


def test_a_cancelled_job_whose_row_is_behind_is_saved_once() -> None:
    """pipeline.md 9.1 step 2: one save, if the durable status is not Cancelled."""
    store = scripted(Cancelled=["raise", "land"])
    made = scheduled(returning())
    with pytest.raises(ConnectionError):
        made.cancel()
    assert once() is made
    assert status_of(made) == ("Cancelled", "Cancelled")
    assert [status for status, _ in store.puts].count("Cancelled") == 2


def test_a_cancelled_job_whose_save_raises_again() -> None:
    """pipeline.md 9.1 step 2: logged and raised."""
    scripted(Cancelled=["raise", "raise"])
    made = scheduled(returning())
    with pytest.raises(ConnectionError):
        made.cancel()
    with pytest.raises(ConnectionError):
        once()
    assert status_of(made) == ("Cancelled", "Scheduled")


def test_a_cancelled_job_whose_save_is_skipped() -> None:
    """pipeline.md 9.1 step 2: its False is ignored."""
    store = scripted(Cancelled=["skip", "skip", "skip"])
    made = scheduled(returning())
    made.cancel()
    assert once() is made
    assert status_of(made) == ("Cancelled", "Scheduled")
    assert [status for status, _ in store.puts].count("Cancelled") == 2


def test_a_stale_cancel_lands_at_last() -> None:
    """H8, done better: a cancelled job with an old version is told the row's, once."""
    made = scheduled(returning())
    assert get_job_store().put(made.to_record())
    made.cancel()
    assert status_of(made) == ("Cancelled", "Scheduled")
    once()
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_a_missing_row_is_healed() -> None:
    """pipeline.md 9.1 step 3: the snapshot is saved before RUN."""
    made = scheduled(returning())
    get_job_store().clear()
    once()
    assert status_of(made) == ("Completed", "Completed")
    assert made.version == 3


def test_an_illegal_run_is_raised_and_nothing_more() -> None:
    """pipeline.md 9.1 step 4: never scheduled; off the channel, no work."""
    ran: list[int] = []
    made = job(lambda *_: ran.append(1))
    manager.new("c").send_now(made)
    with pytest.raises(InternalException):
        once()
    assert (made.status, ran, length()) == ("Unknown", [], 0)


def test_a_terminal_job_is_not_run_again() -> None:
    """pipeline.md 9.1 step 4: a terminal one on the channel is illegal too, and its row stays."""
    made = scheduled(returning())
    once()
    manager.available("c").send_now(made)
    with pytest.raises(InternalException):
        once()
    assert status_of(made) == ("Completed", "Completed")
    assert row(made).version == 3


@pytest.mark.parametrize("durable", ["InProgress", "Completed", "Failed", "Cancelled"])
def test_another_holder_was_first(durable: str) -> None:
    """pipeline.md 9.1 step 6 and 10 rows "Run start, save False": the durable status is followed, without work."""
    ran: list[int] = []
    made = scheduled(lambda *_: ran.append(1))
    other = Job.from_record(row(made))
    other.restore_lifecycle(durable, durable)
    assert other.save()
    assert once() is made
    assert (ran, status_of(made)) == ([], (durable, durable))
    assert not made.context.context[CANCEL_EVENT_KEY].is_set()
    assert row(made).version == 2


def test_the_look_after_a_skipped_save_may_raise() -> None:
    """pipeline.md 9.1 step 6 (B): a raw exception, the job InProgress here and off the channel."""
    store = scripted(InProgress=["skip"])
    made = scheduled(returning())
    store.blind.extend(["see", "raise"])
    with pytest.raises(ConnectionError, match="cannot read"):
        once()
    assert (made.status, length()) == ("InProgress", 0)


def test_the_event_is_shared_before_the_first_workflow() -> None:
    """pipeline.md 9.1 step 7: an executor that polls its context finds the job's event."""
    seen: list[Any] = []
    made = scheduled(lambda _task, context: seen.append(context.context.get(CANCEL_EVENT_KEY)))
    once()
    assert seen == [made.context.context[CANCEL_EVENT_KEY]]


def test_the_example_of_a_cancel_inside() -> None:
    """pipeline.md 11, example: a and b run, c does not; Cancelled here and there, and nothing is raised."""
    ran: list[str] = []
    made = job()

    def cancelling(*_: Any) -> None:
        ran.append("a")
        made.cancel()

    made.workflows = [workflow(cancelling, lambda *_: ran.append("b")), workflow(lambda *_: ran.append("c"))]
    made.scheduled()
    assert once() is made
    assert ran == ["a", "b"]
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_an_executor_may_poll_or_wait_for_the_event() -> None:
    """pipeline.md 11 row Polling: `is_set()` and `wait(t)` on the token found in its context."""
    started, seen = threading.Event(), list[bool]()

    def work(_task: Any, context: Any) -> None:
        token = context.context.get(CANCEL_EVENT_KEY)
        seen.append(token.is_set())
        started.set()
        seen.append(token.wait(BOUND_S))

    made = scheduled(work)
    worker = threading.Thread(target=once)
    worker.start()
    meet(started)
    made.cancel()
    worker.join(BOUND_S)
    assert seen == [False, True]
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_nothing_inside_a_workflow_is_interrupted() -> None:
    """pipeline.md 11 row Cooperative (H12): the remaining tasks, attempts and rounds all still happen."""
    made, flaky, ran = job(), Flaky(3), list[int]()
    made.workflows = [
        workflow(lambda *_: made.cancel(), task(flaky, retry_count=1, round_times=2), lambda *_: ran.append(1))
    ]
    made.scheduled()
    once()
    assert (flaky.calls, ran, made.status) == (4, [1], "Cancelled")


def test_a_stop_is_no_cancel() -> None:
    """pipeline.md 11 row "Not cancel": what is queued when the channel stops is run like any other job."""
    made = scheduled(returning())
    manager.available("c").request_stop()
    once()
    assert status_of(made) == ("Completed", "Completed")
    assert not made.context.context[CANCEL_EVENT_KEY].is_set()


def test_a_rebuilt_jobs_cancel_is_followed_elsewhere() -> None:
    """pipeline.md 11 row "Who cancels": the worker follows a durable Cancelled, and does not set the event."""
    ran: list[int] = []
    made = scheduled(lambda *_: ran.append(1))
    elsewhere = Job.from_record(row(made))
    elsewhere.restore_lifecycle("Scheduled", "Scheduled")
    elsewhere.cancel()
    once()
    assert (ran, status_of(made)) == ([], ("Cancelled", "Cancelled"))
    assert not made.context.context[CANCEL_EVENT_KEY].is_set()


def test_a_cancel_in_the_last_workflow() -> None:
    """pipeline.md 9.1 step 10: it is not completed."""
    made = job()
    made.workflows = [workflow(lambda *_: made.cancel())]
    made.scheduled()
    assert once() is made
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_an_error_after_a_cancel_is_swallowed() -> None:
    """pipeline.md 9.1 step 8 and 11 row "Cancel vs. error": Cancelled, not Failed."""
    made = job()

    def cancel_and_fail(*_: Any) -> None:
        made.cancel()
        raise ValueError("after the cancel")

    made.workflows = [workflow(cancel_and_fail)]
    made.scheduled()
    assert once() is made
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_an_error_after_a_cancel_that_cannot_be_saved() -> None:
    """pipeline.md 9.1 step 8: the save's error is raised, with the workflow's as its cause."""
    scripted(Cancelled=["raise", "raise"])
    made = job()

    def cancel_and_fail(*_: Any) -> None:
        with pytest.raises(ConnectionError):
            made.cancel()
        raise ValueError("after the cancel")

    made.workflows = [workflow(cancel_and_fail)]
    made.scheduled()
    with pytest.raises(ConnectionError) as caught:
        once()
    assert isinstance(caught.value.__cause__, ValueError)
    assert made.status == "Cancelled"


def test_a_failed_workflow_fails_the_job() -> None:
    """pipeline.md 9.1 step 9: FAIL is saved, and the very exception raised; later workflows do not run."""
    raised, ran = ValueError("broken"), list[int]()

    def fail(*_: Any) -> None:
        raise raised

    made = scheduled(fail, lambda *_: ran.append(1))
    with pytest.raises(ValueError, match="broken") as caught:
        once()
    assert caught.value is raised
    assert (ran, status_of(made)) == ([], ("Failed", "Failed"))
    assert row(made).error == made.error == "ValueError: broken"


@pytest.mark.parametrize(("step", "cause"), [("raise", ConnectionError), ("skip", None)])
def test_a_failure_that_cannot_be_saved(step: str, cause: type[Exception] | None) -> None:
    """pipeline.md 9.1 step 9 and 10 row Fail: the workflow's error, the save's as its cause if there was one."""
    scripted(Failed=[step])
    made = scheduled(Flaky(9))
    with pytest.raises(ValueError, match="failure 1") as caught:
        once()
    assert type(caught.value.__cause__) is (cause or type(None))
    assert status_of(made) == ("Failed", "InProgress")
    assert made.save()
    assert status_of(made) == ("Failed", "Failed")


def test_a_completion_whose_save_raises() -> None:
    """pipeline.md 9.1 step 11 and 10 row "Complete, save raises": Completed here; `save()` only, never run again."""
    scripted(Completed=["raise"])
    ran: list[int] = []
    made = scheduled(lambda *_: ran.append(1))
    with pytest.raises(ConnectionError):
        once()
    assert status_of(made) == ("Completed", "InProgress")
    assert made.save()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_a_completion_whose_save_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 10 row "Complete, save False": nothing is raised; H9 done better: it is logged and counted."""
    said: list[str] = []
    told: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.ending.log.error", said.append)
    metrics.add(lambda name, _facts: told.append(name))
    scripted(Completed=["skip"])
    made = scheduled(returning())
    assert once() is made
    assert status_of(made) == ("Completed", "InProgress")
    assert "compare with Job.get_saved" in said[0]
    assert "save.skipped" in told


def test_a_cancel_that_wins_over_the_completion() -> None:
    """pipeline.md 11 row "Cancel vs. completion": the worker raises, the job stays Cancelled."""
    made = scheduled(returning())
    apply = made.apply_event

    def late(event: Any) -> None:
        if event is events.COMPLETE:
            made.cancel()
        apply(event)

    made.apply_event = late  # type: ignore[method-assign]
    with pytest.raises(InternalException):
        once()
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_a_cancel_that_wins_over_the_failure() -> None:
    """pipeline.md 11 row "Cancel vs. error": also when it lands between the look and FAIL."""
    made = scheduled(Flaky(9))
    apply = made.apply_event

    def late(event: Any) -> None:
        if event is events.FAIL:
            made.cancel()
        apply(event)

    made.apply_event = late  # type: ignore[method-assign]
    assert once() is made
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_an_illegal_fail_is_raised() -> None:
    """pipeline.md 9.1 step 9: a machine that somebody moved while the work went on is not moved back."""
    made = job()

    def meddle(*_: Any) -> None:
        made.restore_lifecycle("Completed", "Completed")
        raise ValueError("after the meddling")

    made.workflows = [workflow(meddle)]
    made.scheduled()
    with pytest.raises(InternalException):
        once()
    assert made.status == "Completed"


# ---------------------------------------------------------------- 10, run start


def failing(ran: list[int]) -> Job:
    made = job(lambda *_: ran.append(1))
    made.scheduled()
    return made


@pytest.mark.parametrize("step", ["raise", "skip"])
def test_run_start_path_a(step: str) -> None:
    """pipeline.md 10 rows "InProgress save raises" / "False, durable Scheduled" and path A: Failed, original error."""
    ran: list[int] = []
    scripted(InProgress=[step])
    made = failing(ran)
    kind, words = (ConnectionError, "no InProgress") if step == "raise" else (RuntimeError, "RUN persist skipped")
    with pytest.raises(kind, match=words):
        once()
    assert (ran, status_of(made), length()) == ([], ("Failed", "Failed"), 0)
    assert row(made).error is not None
    assert "not started" in row(made).error  # type: ignore[operator]


def test_run_start_path_a_for_a_lost_reply() -> None:
    """H10, done better: InProgress had landed and the reply was lost; Failed still lands, at the right version."""
    ran: list[int] = []
    scripted(InProgress=["lose"])
    made = failing(ran)
    with pytest.raises(ConnectionError):
        once()
    assert (ran, status_of(made)) == ([], ("Failed", "Failed"))


def test_a_lost_reply_does_not_lose_the_work() -> None:
    """H10, done better: re-queued after a lost reply, the job is run at the next pick-up, not given up."""
    ran: list[int] = []
    scripted(InProgress=["lose"], Failed=["raise"])
    made = failing(ran)
    with pytest.raises(JobRequeuedError):
        once()
    once()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


@pytest.mark.parametrize("puts", [["raise"], ["skip"]])
def test_heal_misses(puts: list[str]) -> None:
    """pipeline.md 10 row Heal: the row is missing and the save misses, so the run-start path is taken with it."""
    ran: list[int] = []
    store = scripted(Scheduled=["raise", "raise", "raise", *puts])
    made = job(lambda *_: ran.append(1))
    with pytest.raises(ConnectionError):
        made.scheduled()
    kind, words = (
        (ConnectionError, "no Scheduled") if puts == ["raise"] else (RuntimeError, "persist failed before RUN")
    )
    with pytest.raises(kind, match=words):
        once()
    assert (ran, status_of(made)) == ([], ("Failed", "Failed"))
    assert not any(status == "InProgress" for status, _ in store.puts)


def test_heal_skipped_by_a_row_that_has_appeared() -> None:
    """pipeline.md 9.1 step 3: a skipped save is fine once there is a row."""
    ran: list[int] = []
    made = job(lambda *_: ran.append(1))

    def appear() -> str:
        InMemoryJobStore.put(faulty, made.to_record())
        return "skip"

    faulty = scripted(Scheduled=["raise", "raise", "raise", appear])
    with pytest.raises(ConnectionError):
        made.scheduled()
    once()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_heal_lookup_raises() -> None:
    """pipeline.md 9.1 step 3: a look-up that raises takes the run-start path too."""
    store = scripted()
    made = scheduled(returning())
    store.blind.append("raise")
    with pytest.raises(ConnectionError, match="cannot read"):
        once()
    assert status_of(made) == ("Failed", "Failed")


def cancelled_in(store: Scripted, made: Job, status: str, then: str) -> None:
    """Let the job be cancelled, without a save, while this status is being put."""

    def cancel() -> str:
        made.restore_lifecycle("Cancelled", "Cancelled")
        return then

    store.script[status].append(cancel)


@pytest.mark.parametrize("where", ["InProgress", "Failed"])
def test_run_start_path_b(where: str) -> None:
    """pipeline.md 10 path B: Failed misses or is not tried, the job is Cancelled and that lands: original error."""
    ran: list[int] = []
    made = failing(ran)
    store = scripted(InProgress=[] if where == "InProgress" else ["raise"], Failed=[])
    InMemoryJobStore.put(store, made.to_record())
    cancelled_in(store, made, where, "raise")
    with pytest.raises(ConnectionError, match="no InProgress"):
        once()
    assert (ran, status_of(made), length()) == ([], ("Cancelled", "Cancelled"), 0)
    assert ("Failed" in [status for status, _ in store.puts]) is (where == "Failed")


def test_run_start_path_c() -> None:
    """pipeline.md 10 path C: as B, and the Cancelled save raises: that error."""
    ran: list[int] = []
    made = failing(ran)
    store = scripted(InProgress=[], Cancelled=["raise"])
    InMemoryJobStore.put(store, made.to_record())
    cancelled_in(store, made, "InProgress", "raise")
    with pytest.raises(ConnectionError, match="no Cancelled"):
        once()
    assert (ran, status_of(made)) == ([], ("Cancelled", "Scheduled"))
    assert made.save()


@pytest.mark.parametrize("failed", ["raise", "skip"])
def test_run_start_path_d(failed: str) -> None:
    """pipeline.md 10 path D: Failed misses; Scheduled again, on the channel, JobRequeuedError with the cause."""
    ran: list[int] = []
    scripted(InProgress=["raise"], Failed=[failed])
    made = failing(ran)
    with pytest.raises(JobRequeuedError, match="re-enqueued") as caught:
        once()
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert (ran, status_of(made), length()) == ([], ("Scheduled", "Scheduled"), 1)
    assert made.error is None
    once()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


@pytest.mark.parametrize("reason", ["full", "stopped"])
@pytest.mark.parametrize("last", ["land", "raise", "skip"])
def test_run_start_path_e(reason: str, last: str) -> None:
    """pipeline.md 10 path E: Failed, one more save that is only logged, JobRedeliveryError with reason and job."""
    ran: list[int] = []
    chan = manager.new("c", maxsize=1)

    def fill() -> str:
        if reason == "full":
            chan.send_now(job())
        else:
            chan.request_stop()
        return "raise"

    scripted(InProgress=["raise"], Failed=[fill, last])
    made = failing(ran)
    with pytest.raises(JobRedeliveryError, match=f"^channel {reason}") as caught:
        once()
    assert (caught.value.reason, caught.value.job) == (reason, made)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert (ran, status_of(made)) == ([], ("Failed", "Failed" if last == "land" else "Scheduled"))
    assert caught.value.job.save()


def test_a_redelivery_error_has_one_of_two_reasons() -> None:
    """pipeline.md 10: any other is a ValueError; both errors are RuntimeErrors."""
    with pytest.raises(ValueError, match="invalid reason"):
        JobRedeliveryError("x", reason="lost")
    assert JobRedeliveryError("x", reason="full").job is None
    assert issubclass(JobRedeliveryError, RuntimeError)
    assert issubclass(JobRequeuedError, RuntimeError)


def test_a_priority_survives_a_requeue() -> None:
    """Beyond the documents: put back, it is as urgent as it was."""
    scripted(InProgress=["raise"], Failed=["raise"])
    urgent, other = scheduled(returning(), priority=5), scheduled(returning())
    with pytest.raises(JobRequeuedError):
        once()
    assert once() is urgent
    assert once() is other


def test_a_stale_job_is_no_poison() -> None:
    """H8, done better: the first pick-up ends as the table says, the next goes on from the row's version."""
    ran: list[int] = []
    made = failing(ran)
    again = made.to_record()
    assert get_job_store().put(again)
    with pytest.raises(JobRequeuedError) as caught:
        once()
    assert "RUN persist skipped" in str(caught.value.__cause__)
    assert (made.version, row(made).version) == (1, 2)
    once()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_a_stale_job_that_was_begun_elsewhere_meanwhile_is_not_begun_here() -> None:
    """H8: what makes a stale job whole must not make it run twice."""
    ran: list[int] = []
    made = failing(ran)
    get_job_store().put(made.to_record())
    with pytest.raises(JobRequeuedError):
        once()
    other = Job.from_record(row(made))
    other.restore_lifecycle("InProgress", "InProgress")
    assert other.save()
    once()
    assert (ran, made.status) == ([], "InProgress")


# ---------------------------------------------------------------- 9.2


def test_the_loop_goes_on_after_a_job_and_ends_when_stopped_and_empty() -> None:
    """pipeline.md 9.2 rows 1 and 2: leftovers are run, then it returns."""
    made = [scheduled(returning(n)) for n in range(5)]
    work_off()
    assert {status_of(each) for each in made} == {("Completed", "Completed")}


async def test_an_idle_channel_is_waited_for() -> None:
    """pipeline.md 9.2 row 2: idle is not the end."""
    chan = manager.new("c")
    loop = asyncio.create_task(Worker(chan).run_forever())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not loop.done()
    chan.request_stop()
    await asyncio.wait_for(loop, BOUND_S)


def test_a_requeued_job_ends_the_loop() -> None:
    """pipeline.md 9.2 row 3: re-raised at once; the job is back in the queue, nothing else was touched."""
    scripted(InProgress=["raise"], Failed=["raise"])
    first, second = scheduled(returning()), scheduled(returning())
    with pytest.raises(JobRequeuedError):
        asyncio.run(asyncio.wait_for(Worker(manager.available("c")).run_forever(), BOUND_S))
    assert (first.status, second.status, length()) == ("Scheduled", "Scheduled", 2)
    work_off()
    assert (first.status, second.status) == ("Completed", "Completed")


def test_a_full_channel_ends_the_loop() -> None:
    """pipeline.md 9.2 row 4: re-raised at once, the other job stays."""
    chan, ran = manager.new("c", maxsize=2), list[int]()

    def fill() -> str:
        chan.send_now(job())
        return "raise"

    scripted(InProgress=["raise"], Failed=[fill])
    made = failing(ran)
    other = scheduled(returning())
    with pytest.raises(JobRedeliveryError) as caught:
        asyncio.run(asyncio.wait_for(Worker(chan).run_forever(), BOUND_S))
    assert (caught.value.reason, caught.value.job, other.status) == ("full", made, "Scheduled")


def test_a_stopped_channel_is_drained_first() -> None:
    """pipeline.md 9.2 row 5 and the example of 10: J and K end Failed, the loop drains, then J's error is raised."""
    scripted(InProgress=["raise", "raise"], Failed=["raise", "land", "raise", "land"])
    j, k, good = scheduled(returning()), scheduled(returning()), scheduled(returning())
    with pytest.raises(JobRedeliveryError) as caught:
        work_off()
    assert (caught.value.reason, caught.value.job) == ("stopped", j)
    assert (j.status, k.status, good.status) == ("Failed", "Failed", "Completed")


def test_the_example_of_a_dead_store() -> None:
    """pipeline.md 10, example: heal raises, Failed raises, J goes back to Scheduled and to the end of the queue."""
    scripted(Scheduled=["raise"] * 4, Failed=["raise"])
    made = job(returning())
    with pytest.raises(ConnectionError):
        made.scheduled()
    other = job()
    manager.available("c").send_now(other)
    with pytest.raises(JobRequeuedError):
        once()
    chan = manager.available("c")
    assert (made.status, length()) == ("Scheduled", 2)
    assert [asyncio.run(chan.receive()) for _ in range(2)] == [other, made]


def test_any_other_error_is_logged_and_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 9.2 row 6: a failed job, a failed persist, an illegal transition, a foreign item."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.worker.log.error", said.append)
    scripted(Completed=["raise"])
    failed, unsaved = scheduled(Flaky(9)), scheduled(returning())
    illegal, chan = job(), manager.available("c")
    chan.send_now(illegal)
    chan.send_now("no job at all")
    good = scheduled(returning())
    work_off()
    assert [failed.status, unsaved.status, illegal.status, good.status] == [
        "Failed",
        "Completed",
        "Unknown",
        "Completed",
    ]
    assert sum("loop continues" in line for line in said) == 4


async def test_a_cancelled_loop_leaves_its_job_in_progress() -> None:
    """pipeline.md 9.2 row 7: CancelledError propagates; the job stays InProgress, and its thread runs on."""
    started, go, ended = threading.Event(), threading.Event(), threading.Event()

    def work(*_: Any) -> None:
        started.set()
        meet(go)
        ended.set()

    made = job(work)
    made.apply_event(events.INIT)
    made.apply_event(events.SCHEDULE)
    await manager.new("c").send(made)
    loop = asyncio.create_task(Worker(manager.available("c")).run_forever())
    await asyncio.to_thread(meet, started)
    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loop
    go.set()
    await asyncio.to_thread(meet, ended)
    assert status_of(made) == ("InProgress", "InProgress")


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, StopIteration])
@pytest.mark.parametrize("awaited", [False, True])
def test_an_executors_exit_fails_its_job(kind: type[BaseException], awaited: bool) -> None:
    """H11, done better: Failed here and in the store, whatever it raises, and the worker does not hang."""
    flaky = Flaky(9, kind)

    async def work(given: Any, context: Any) -> int:
        return flaky(given, context)

    made = scheduled(task(work if awaited else flaky))
    with pytest.raises(SystemExit if kind is SystemExit else RuntimeError):
        once()
    assert status_of(made) == ("Failed", "Failed")


# ---------------------------------------------------------------- beyond


def test_coroutine_executors_run_on_the_workers_loop() -> None:
    """Issue 3: `async def` executors are awaited, beside plain ones, and their results are kept (H4)."""
    threads: list[int] = []

    async def work(_task: Any, _context: Any) -> str:
        await asyncio.sleep(0)
        threads.append(threading.get_ident())
        return "awaited"

    made = scheduled(workflow(work, lambda *_: threads.append(threading.get_ident())), returning("plain"))
    once()
    assert status_of(made) == ("Completed", "Completed")
    assert row(made).results == [["awaited", None], ["plain"]]
    assert threads[0] == threading.get_ident() != threads[1]


def test_a_workflow_of_the_programs_own_is_run_as_it_is() -> None:
    """pipeline.md 4: whoever overrides `run`, or only has one, is called."""
    ran: list[str] = []

    class Mine(Workflow):
        def run(self) -> list[Any]:
            ran.append("mine")
            return []

    class Duck:
        def run(self) -> list[Any]:
            ran.append("duck")
            return []

    made = job()
    made.workflows = [Mine(), Duck()]
    made.scheduled()
    once()
    assert (ran, made.status) == (["mine", "duck"], "Completed")


async def test_a_blocking_executor_never_stops_another_worker() -> None:
    """Issue 3, Speed: forty workers of one loop block at once, more than any common pool has threads."""
    chan, start = manager.new("c"), threading.Barrier(41)
    for _ in range(40):
        made = job(lambda *_: start.wait(BOUND_S))
        made.apply_event(events.INIT)
        made.apply_event(events.SCHEDULE)
        chan.send_now(made)
    workers = [asyncio.create_task(Worker(chan).run_once()) for _ in range(40)]
    await asyncio.to_thread(start.wait, BOUND_S)
    done = await asyncio.wait_for(asyncio.gather(*workers), BOUND_S)
    assert {each.status for each in done if each} == {"Completed"}


async def test_workers_share_a_channel() -> None:
    """pipeline.md 9: several on one channel work in parallel, and each job runs once."""
    ran: list[int] = []
    together, chan = threading.Barrier(2), manager.new("c")
    made = [job(lambda *_: ran.append(together.wait(BOUND_S))) for _ in range(6)]
    for each in made:
        each.apply_event(events.INIT)
        each.apply_event(events.SCHEDULE)
        await chan.send(each)
        each.save()
    chan.request_stop()
    await asyncio.wait_for(asyncio.gather(*(Worker(chan).run_forever() for _ in range(2))), BOUND_S)
    assert len(ran) == 6
    assert {status_of(each) for each in made} == {("Completed", "Completed")}


async def test_a_worker_with_nothing_to_wait_for_lets_others_work() -> None:
    """Promise P6: jobs that never wait do not keep the loop to themselves."""
    chan, turns = manager.new("c"), 0

    async def work(_task: Any, _context: Any) -> None: ...

    for _ in range(500):
        made = job(work)
        made.apply_event(events.INIT)
        made.apply_event(events.SCHEDULE)
        chan.send_now(made)
    chan.request_stop()
    loop = asyncio.create_task(Worker(chan).run_forever())
    while not loop.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 2


def test_a_worker_is_told_of_by_its_channel() -> None:
    """pipeline.md 9: the attribute `channel`."""
    chan = Channel()
    assert Worker(chan).channel is chan
