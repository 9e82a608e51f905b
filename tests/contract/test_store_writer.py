"""What group commit promises to those who wait: durable on return, in order, together, and loud when it fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.errors import StoreError, StoreUnavailable
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, LineQuery, Store, StoreWriter
from tests.contract.store_kit import EVERY_STORE, OpenAgain, a_line, a_run, every_opener


@pytest.fixture(params=EVERY_STORE)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with every_opener(request, tmp_path / "state", monkeypatch) as again:
        yield again


@pytest.fixture
def store(open_again: OpenAgain) -> Store:
    return open_again()


class Gate:
    """Holds the store's commits up until it is opened, so that a test can let saves pile up behind one."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self._open, self._apply = threading.Event(), threading.Event(), store.apply
        monkeypatch.setattr(store, "apply", self._waiting)

    def _waiting(self, batch: Batch) -> None:
        self.entered.set()
        assert self._open.wait(30), "the test never opened the gate"
        self._apply(batch)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.entered.wait, 30), "no commit ever began"

    def open(self) -> None:
        self._open.set()


async def started(store: Store) -> StoreWriter:
    writer = StoreWriter(store)
    writer.start()
    return writer


async def test_a_save_returns_when_its_batch_is_stored(store: Store) -> None:
    """What was awaited can be read; an idle writer commits at once, and says when it is idle again."""
    writer = await started(store)
    assert writer.idle
    await writer.save(Batch(runs=(a_run(),)))
    assert [run.run_id for run in store.open_runs()] == ["nightly.2027-05-20.1"]
    assert writer.commits == 1
    assert writer.idle
    await writer.close()


async def test_saves_posted_together_are_one_commit(store: Store) -> None:
    """Fifty saves of one turn of the loop cost one trip to the disk."""
    writer = await started(store)
    await asyncio.gather(*(writer.save(Batch(runs=(a_run(seq=seq),))) for seq in range(1, 51)))
    assert writer.commits == 1
    assert len(store.open_runs()) == 50
    await writer.close()


async def test_a_trip_sets_out_at_the_end_of_the_turn(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever saves in the same turn of the loop comes along, however long the turn takes."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    saving = writer.save(Batch(engine={"a": "1"}))
    waited_for = saving.send(None)  # as far as the first turn goes; we have not let go of the loop
    assert not gate.entered.wait(0.3)
    gate.open()
    await asyncio.wait_for(asyncio.shield(waited_for), 30)
    saving.close()
    await writer.close()


async def test_what_arrives_during_a_commit_is_the_next_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a commit is under way everything that comes is merged into one that follows it."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    first = asyncio.create_task(writer.save(Batch(runs=(a_run(seq=1),))))
    await gate.reached()
    rest = [asyncio.create_task(writer.save(Batch(runs=(a_run(seq=seq),)))) for seq in range(2, 40)]
    await asyncio.sleep(0)
    assert not writer.idle
    gate.open()
    await asyncio.gather(first, *rest)
    assert writer.commits == 2
    await writer.close()


async def test_whoever_was_answered_has_the_word_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from an answer travels with what was already waiting, and not one commit later.

    As with an operator's next trigger: the answer passes a shield and a task before the next save is posted.
    """
    gate = Gate(store, monkeypatch)
    writer = await started(store)

    async def two_steps() -> None:
        await asyncio.shield(asyncio.ensure_future(writer.save(Batch(engine={"step": "1"}))))
        await writer.save(Batch(engine={"step": "2"}))

    steps = asyncio.create_task(two_steps())
    await gate.reached()
    other = asyncio.create_task(writer.save(Batch(engine={"other": "1"})))
    await asyncio.sleep(0)
    gate.open()
    await asyncio.gather(steps, other)
    assert writer.commits == 2
    await writer.close()


async def test_waiters_wake_in_the_order_in_which_they_saved(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Effects follow the order of the decisions, within a group and from one group to the next."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    woken: list[int] = []

    async def save(number: int) -> None:
        await writer.save(Batch(engine={"last": str(number)}))
        woken.append(number)

    tasks = [asyncio.create_task(save(0))]
    await gate.reached()
    for number in range(1, 100):
        tasks.append(asyncio.create_task(save(number)))
        if number % 7 == 0:
            await asyncio.sleep(0)
    gate.open()
    await asyncio.gather(*tasks)
    assert woken == list(range(100))
    assert store.engine_values() == {"last": "99"}
    await writer.close()


async def test_merging_keeps_the_order_of_decisions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The later state of a run wins and its lines stand in the order they were saved in."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    blocker = asyncio.create_task(writer.save(Batch(engine={"x": "1"})))
    await gate.reached()
    run = a_run()
    later = [
        asyncio.create_task(writer.save(Batch(runs=(a_run(state=state),), lines=(a_line(run, action=state),))))
        for state in (RunState.QUEUED, RunState.RUNNING, RunState.FAILED)
    ]
    await asyncio.sleep(0)
    gate.open()
    await asyncio.gather(blocker, *later)
    assert writer.commits == 2
    assert store.get_run(run.run_id) == a_run(state=RunState.FAILED)
    lines = store.lines(LineQuery(run_id=run.run_id, newest_first=False)).items
    assert [line.action for line in lines] == ["queued", "running", "failed"]
    await writer.close()


async def test_after_a_failed_commit_every_save_fails_with_the_same_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later decision may rest on the lost one: nothing more is written, though the store could."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    bad = Batch(runs=(a_run("a", 1), a_run("a", 2, scheduled_at=a_run("a", 1).scheduled_at)))
    first = asyncio.create_task(writer.save(bad))
    await gate.reached()
    behind = [asyncio.create_task(writer.save(Batch(engine={"k": str(number)}))) for number in range(3)]
    await asyncio.sleep(0)
    gate.open()
    errors = await asyncio.gather(first, *behind, return_exceptions=True)
    assert isinstance(errors[0], StoreError)
    assert all(error is errors[0] for error in errors)
    assert writer.failed is errors[0]
    with pytest.raises(StoreError) as later:
        await writer.save(Batch(engine={"k": "9"}))
    assert later.value is errors[0]
    assert store.engine_values() == {}
    assert writer.commits == 0
    assert writer.idle
    await writer.close()


async def test_a_group_fails_whole(store: Store) -> None:
    """Whoever travels with a batch that is refused hears of it too: nothing of the group was saved."""
    writer = await started(store)
    good, bad = (
        Batch(runs=(a_run("good"),)),
        Batch(runs=(a_run("a", 1), a_run("a", 2, scheduled_at=a_run("a").scheduled_at))),
    )
    errors = await asyncio.gather(writer.save(good), writer.save(bad), return_exceptions=True)
    assert all(isinstance(error, StoreError) for error in errors)
    assert store.open_runs() == []
    await writer.close()


async def test_our_own_bug_stops_the_writer_too(store: Store) -> None:
    """An error that is no StoreError reaches the waiter as it is, and ends the saving all the same."""
    writer = await started(store)
    with pytest.raises(AttributeError):
        await writer.save(Batch(runs=("not a run",)))  # type: ignore[arg-type]
    assert isinstance(writer.failed, AttributeError)
    await writer.close()


async def test_a_cancelled_waiter_does_not_take_its_batch_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision stands: cancelling the wait changes nothing about what is saved."""
    gate = Gate(store, monkeypatch)
    writer = await started(store)
    first = asyncio.create_task(writer.save(Batch(runs=(a_run("a"),))))
    await gate.reached()
    second = asyncio.create_task(writer.save(Batch(runs=(a_run("b"),))))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    gate.open()
    await writer.save(Batch(runs=(a_run("c"),)))
    assert {run.job for run in store.open_runs()} == {"a", "b", "c"}
    assert writer.idle
    await writer.close()


async def test_closing_saves_what_is_pending_and_ends_the_thread(store: Store) -> None:
    """Nothing posted before is lost; saving afterwards is refused; closing again is harmless."""
    before = threading.active_count()
    writer = await started(store)
    pending = [asyncio.create_task(writer.save(Batch(runs=(a_run(seq=seq),)))) for seq in range(1, 4)]
    await asyncio.sleep(0)
    await writer.close()
    await asyncio.gather(*pending)
    assert len(store.open_runs()) == 3
    await writer.close()
    with pytest.raises(StoreUnavailable):
        await writer.save(Batch(engine={"a": "1"}))
    assert not any(thread.name == "store-writer" for thread in threading.enumerate())
    assert threading.active_count() <= before + 1  # the loop's helper thread that joined ours


def test_a_loop_that_was_closed_without_us_leaves_no_thread_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that just ends has its last batch saved all the same, and the thread goes with the loop."""
    gate = Gate(store, monkeypatch)

    async def main() -> None:
        writer = await started(store)
        saving = asyncio.create_task(writer.save(Batch(runs=(a_run(),))))
        await gate.reached()
        saving.cancel()

    asyncio.run(main())
    gate.open()
    for thread in threading.enumerate():
        if thread.name == "store-writer":
            thread.join(30)
            assert not thread.is_alive()
    assert len(store.open_runs()) == 1


async def test_a_writer_is_started_once_and_before_it_saves(store: Store) -> None:
    """Saving before the start is refused, starting twice is our bug."""
    writer = StoreWriter(store)
    with pytest.raises(StoreUnavailable):
        await writer.save(Batch(engine={"a": "1"}))
    await writer.close()
    writer.start()
    with pytest.raises(RuntimeError):
        writer.start()
    await writer.close()


async def test_an_error_seen_while_idle_is_said_to_the_next_save(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The idle writer looks after the files; what it finds stops it like a failed commit."""
    found, gone = threading.Event(), StoreUnavailable("the disk is gone")

    def tidy() -> None:
        found.set()
        raise gone

    monkeypatch.setattr("pyscheduler.store.writer.TIDY_AFTER_S", 0.01)
    monkeypatch.setattr(store, "tidy", tidy)
    writer = await started(store)
    assert await asyncio.to_thread(found.wait, 30)
    with pytest.raises(StoreUnavailable) as said:
        await writer.save(Batch(engine={"a": "1"}))
    assert said.value is gone
    await writer.close()


async def test_what_rides_along_is_there_with_what_follows(store: Store) -> None:
    """One commit for both, whoever posts next; it wakes nobody by itself, and a later batch can take it back."""
    writer = await started(store)
    writer.ride_along(Batch(engine={"a": "1", "b": "1"}))
    assert writer.idle
    await writer.save(Batch(runs=(a_run(),), engine={"b": None}))
    assert store.engine_values().get("a") == "1"
    assert "b" not in store.engine_values()
    assert writer.commits == 1
    writer.ride_along(Batch(engine={"c": "1"}))
    await writer.close()
    assert "c" not in store.engine_values()
