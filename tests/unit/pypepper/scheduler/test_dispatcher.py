"""From a new job to a queued and saved one: pipeline.md 8, and the first three rows of 10."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pypepper.common.config import config
from pypepper.exceptions import InternalException
from pypepper.scheduler import events
from pypepper.scheduler.channel import Channel, manager
from pypepper.scheduler.dispatcher import Dispatcher, Processor
from pypepper.scheduler.job import (
    ChannelEnqueueError,
    ChannelFullError,
    ChannelStoppedError,
    Job,
    dispatcher,
)
from tests.pipes import job, meet, returning, row, scripted, status_of, work_off


def queued(channel: str = "c") -> int:
    chan = manager.get(channel)
    return chan.length() if chan else -1


def test_scheduled_means_queued_and_saved() -> None:
    """pipeline.md 8, all steps well: Scheduled here and in the store, one item on the channel, version 1."""
    made = job(returning())
    assert made.scheduled() is None  # type: ignore[func-returns-value]
    assert status_of(made) == ("Scheduled", "Scheduled")
    assert queued() == 1
    assert (made.version, row(made).version) == (1, 1)


def test_the_dispatcher_is_one() -> None:
    """pipeline.md 1.2: calling the class again returns the instance."""
    assert Dispatcher() is dispatcher


@pytest.mark.parametrize("state", ["Initializing", "InProgress", "Completed", "Failed", "Cancelled"])
def test_only_an_unknown_job_can_be_scheduled(state: str) -> None:
    """pipeline.md 8 step 1: InternalException, the job as it was, channel and store untouched."""
    made = job()
    made.restore_lifecycle(state, state)
    with pytest.raises(InternalException):
        made.scheduled()
    assert status_of(made) == (state, None)
    assert queued() == -1


def test_a_scheduled_job_is_not_scheduled_again() -> None:
    """pipeline.md 8 bullet 2: raises, keeps Scheduled, enqueues nothing."""
    made = job()
    made.scheduled()
    with pytest.raises(InternalException):
        made.scheduled()
    assert status_of(made) == ("Scheduled", "Scheduled")
    assert queued() == 1


def test_schedule_fails_after_init(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 8 step 1 and 10 row Schedule: rolled back to what it was."""
    made = job()
    apply = made.apply_event

    def refuse(event: Any) -> None:
        if event is events.SCHEDULE:
            raise InternalException("invalid event")
        apply(event)

    monkeypatch.setattr(made, "apply_event", refuse)
    with pytest.raises(InternalException):
        made.scheduled()
    assert status_of(made) == ("Unknown", None)


def test_the_line_is_said_before_the_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 8 step 2 and 16: info "scheduled", whatever becomes of the send."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.dispatcher.log.info", said.append)
    manager.new("c").request_stop()
    with pytest.raises(ChannelStoppedError):
        job().scheduled()
    assert len(said) == 1
    assert "scheduled" in said[0]


def test_an_empty_channel_id() -> None:
    """pipeline.md 8 step 3: ValueError, rolled back."""
    made = job(channel="")
    with pytest.raises(ValueError, match="invalid key"):
        made.scheduled()
    assert status_of(made) == ("Unknown", None)


async def test_inside_a_loop() -> None:
    """pipeline.md 8 step 4: RuntimeError with the recipe, rolled back; the channel was made all the same."""
    made = job()
    with pytest.raises(RuntimeError, match=r"await Channel\.send\(job\) before job\.save\(\)"):
        made.scheduled()
    assert status_of(made) == ("Unknown", None)
    assert queued() == 0
    with pytest.raises(RuntimeError, match="event loop"):
        Processor().run(made, Channel())


async def test_the_recipe_inside_a_loop() -> None:
    """pipeline.md 8 bullet 3: INIT, SCHEDULE, send, save."""
    made, chan = job(returning()), manager.new("c")
    made.apply_event(events.INIT)
    made.apply_event(events.SCHEDULE)
    assert await chan.send(made) == "ok"
    assert made.save()
    assert status_of(made) == ("Scheduled", "Scheduled")


@pytest.mark.parametrize(
    ("full", "kind", "words"),
    [(True, ChannelFullError, "^channel full"), (False, ChannelStoppedError, "^channel stopped")],
)
def test_a_refused_send(full: bool, kind: type[Exception], words: str) -> None:
    """pipeline.md 8 step 5 and 10 row Enqueue: typed error, rolled back, no row; it may be tried again."""
    chan = manager.new("c", maxsize=1)
    first, second = job(returning()), job(returning())
    if full:
        first.scheduled()
    else:
        chan.request_stop()
    with pytest.raises(kind, match=words):
        second.scheduled()
    assert status_of(second) == ("Unknown", None)
    if full:
        assert asyncio.run(chan.receive()) is first
        second.scheduled()
        assert status_of(second) == ("Scheduled", "Scheduled")


def test_the_errors_are_siblings() -> None:
    """pipeline.md 8, last row: neither catches the other."""
    assert issubclass(ChannelFullError, ChannelEnqueueError)
    assert issubclass(ChannelStoppedError, ChannelEnqueueError)
    assert issubclass(ChannelEnqueueError, RuntimeError)
    assert not issubclass(ChannelStoppedError, ChannelFullError)
    assert not issubclass(ChannelFullError, ChannelStoppedError)


def test_an_answer_that_is_no_verdict() -> None:
    """A channel of a program's own that answers something else has not queued anything we know of."""

    class Old(Channel):
        async def send(self, value: Any, priority: int = 0) -> Any:
            return True

    manager.put("c", Old())
    made = job()
    with pytest.raises(ChannelEnqueueError, match="no verdict"):
        made.scheduled()
    assert status_of(made) == ("Unknown", None)


def test_a_channel_of_the_programs_own_may_wait() -> None:
    """pipeline.md 8: the processor runs a short loop of its own for it."""

    class Slow(Channel):
        async def send(self, value: Any, priority: int = 0) -> Any:
            await asyncio.sleep(0)
            return await super().send(value, priority)

    manager.put("c", Slow())
    job().scheduled()
    assert queued() == 1


@pytest.mark.parametrize(
    ("script", "puts"),
    [(["raise", "land"], 2), (["skip", "land"], 2), (["raise", "skip", "land"], 3)],
)
def test_the_row_is_tried_again(script: list[str], puts: int) -> None:
    """pipeline.md 8 step 7: an exception and False both count as a miss; three tries."""
    store = scripted(Scheduled=script)
    made = job()
    made.scheduled()
    assert status_of(made) == ("Scheduled", "Scheduled")
    assert len(store.puts) == puts


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (["raise"] * 3, ConnectionError, "no Scheduled"),
        (["skip", "raise", "skip"], ConnectionError, "no Scheduled"),
        (["skip"] * 3, RuntimeError, "Scheduled persist skipped after enqueue"),
    ],
)
def test_three_misses(script: list[str], kind: type[Exception], words: str) -> None:
    """pipeline.md 8 step 7 and 10 row "After enqueue": raised, but Scheduled and on the channel; a worker heals."""
    store = scripted(Scheduled=script)
    made = job(returning())
    with pytest.raises(kind, match=words):
        made.scheduled()
    assert len(store.puts) == 3
    assert status_of(made) == ("Scheduled", None)
    assert queued() == 1
    work_off()
    assert status_of(made) == ("Completed", "Completed")
    assert made.version == 3


def test_the_guard_while_scheduling(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 14.2, last sentence: enqueued, all three saves raise, and ValueError comes out."""
    monkeypatch.setattr(config, "_deferred", "postgres")
    made = job()
    with pytest.raises(ValueError, match="setup_from_config"):
        made.scheduled()
    assert made.status == "Scheduled"
    assert queued() == 1


def test_an_error_after_the_send_rolls_nothing_back() -> None:
    """pipeline.md 8 step 6: the point of no return."""

    class Broken(Processor):
        def run(self, job: Job, chan: Channel, *, on_enqueued: Any = None) -> None:
            super().run(job, chan, on_enqueued=on_enqueued)
            raise OSError("after the send")

    dispatcher.put("c", Broken())
    made = job()
    with pytest.raises(OSError, match="after the send"):
        made.scheduled()
    assert made.status == "Scheduled"
    assert queued() == 1


def test_a_cancel_during_a_refused_send_is_kept() -> None:
    """A cancel that wins while the channel says no is not rolled back."""

    class Cancelling(Channel):
        async def send(self, value: Any, priority: int = 0) -> Any:
            value.cancel()
            return "full"

    manager.put("c", Cancelling())
    made = job()
    with pytest.raises(ChannelFullError):
        made.scheduled()
    assert status_of(made) == ("Cancelled", "Cancelled")


def test_processors_are_kept_by_channel_id() -> None:
    """pipeline.md 8 step 3 and 18: cached; `invalid processor` for None; reset forgets them."""
    one = dispatcher.available("c")
    assert dispatcher.available("c") is one
    assert dispatcher.available("d") is not one
    with pytest.raises(ValueError, match="invalid processor"):
        dispatcher.put("c", None)  # type: ignore[arg-type]
    assert dispatcher.available("c") is one
    dispatcher.reset()
    assert dispatcher.available("c") is not one


async def test_async_run_sends_and_tells() -> None:
    """pipeline.md 8, name row 2: a static coroutine; `on_enqueued` right after a landed send only."""
    chan, told = Channel(1), []
    await Processor.async_run(job(), chan, on_enqueued=lambda: told.append(chan.length()))
    with pytest.raises(ChannelFullError):
        await Processor.async_run(job(), chan, on_enqueued=lambda: told.append(99))
    assert told == [1]


def test_run_tells_too() -> None:
    """pipeline.md 8, name row 1."""
    chan, told = Channel(), []
    Processor().run(job(), chan)
    Processor().run(job(), chan, on_enqueued=lambda: told.append(chan.length()))
    assert told == [2]


def test_a_jobs_priority_is_its_place_in_line() -> None:
    """Beyond the documents: higher first."""
    low, high = job(), job(priority=7)
    low.scheduled()
    high.scheduled()
    chan = manager.available("c")
    assert [asyncio.run(chan.receive()) for _ in range(2)] == [high, low]


def test_a_fast_consumer_waits_for_the_producers_row() -> None:
    """H15, done better: the producer holds the job's saving until the row is there, so versions stay 1, 2, 3."""
    sent, go = threading.Event(), threading.Event()
    made = job(returning())

    class Pausing(Processor):
        def run(self, job: Job, chan: Channel, *, on_enqueued: Any = None) -> None:
            super().run(job, chan, on_enqueued=on_enqueued)
            sent.set()
            meet(go)

    dispatcher.put("c", Pausing())
    scripted()
    producer = threading.Thread(target=made.scheduled)
    producer.start()
    meet(sent)
    consumer = threading.Thread(target=work_off)
    consumer.start()
    go.set()
    producer.join()
    consumer.join()
    assert status_of(made) == ("Completed", "Completed")
    assert (made.version, row(made).version) == (3, 3)
