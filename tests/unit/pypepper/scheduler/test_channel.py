"""Channels and their manager: pipeline.md 5, each row; H1, H2 and H3 done better."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pypepper.scheduler import channel as module
from pypepper.scheduler.channel import Channel, ChannelManager, manager
from tests.pipes import BOUND_S, meet


def test_the_words() -> None:
    """pipeline.md 1.2: the three verdicts and the function that makes a channel."""
    assert (module.SEND_OK, module.SEND_FULL, module.SEND_STOPPED) == ("ok", "full", "stopped")
    assert module.new(3).maxsize == 3
    assert Channel().maxsize == 0


async def test_verdicts() -> None:
    """pipeline.md 5 row 1: ok, full, and stopped before full; never a bool, all truthy."""
    chan = Channel(1)
    assert await chan.send("a") == "ok"
    assert await chan.send("b") == "full"
    chan.request_stop()
    assert await chan.send("c") == "stopped"
    assert chan.length() == 1


@pytest.mark.parametrize("maxsize", [0, -1])
async def test_zero_or_less_is_unbounded(maxsize: int) -> None:
    """pipeline.md 5: as many as are sent."""
    chan = Channel(maxsize)
    assert {await chan.send(n) for n in range(1000)} == {"ok"}
    assert chan.length() == 1000


async def test_first_in_first_out_by_reference() -> None:
    """pipeline.md 5 row 2 and bullet 3: the very objects, in order."""
    chan, items = Channel(), [object() for _ in range(5)]
    for item in items:
        await chan.send(item)
    assert [await chan.receive() for _ in items] == items


async def test_receive_waits_for_an_item() -> None:
    """pipeline.md 5 row 2: not stopped and empty, it waits."""
    chan = Channel()
    waiting = asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    assert not waiting.done()
    await chan.send("late")
    assert await waiting == "late"


async def test_receive_after_a_stop() -> None:
    """pipeline.md 5 row 2: queued items without waiting, then None, again and again."""
    chan = Channel()
    await chan.send(1)
    chan.request_stop()
    assert [await chan.receive(), await chan.receive(), await chan.receive()] == [1, None, None]


async def test_a_stop_wakes_every_waiter() -> None:
    """pipeline.md 5 row 3: idempotent, for good, and without a slot of the queue."""
    chan = Channel(1)
    waiting = [asyncio.create_task(chan.receive()) for _ in range(3)]
    await asyncio.sleep(0)
    chan.request_stop()
    chan.request_stop()
    assert await asyncio.gather(*waiting) == [None, None, None]
    assert (chan.stop, chan.length()) == (True, 0)


async def test_item_and_stop_at_once() -> None:
    """pipeline.md 5 row 2: the item wins, whichever came first in the same turn of the loop."""
    chan = Channel()
    waiting = asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    assert await chan.send("item") == "ok"
    chan.request_stop()
    assert await waiting == "item"
    assert await chan.receive() is None


def test_stop_is_for_looking() -> None:
    """pipeline.md 5 row 4: assignment raises, and each channel has a flag of its own."""
    one, other = Channel(), Channel()
    with pytest.raises(AttributeError):
        one.stop = True  # type: ignore[misc]
    one.request_stop()
    assert (one.stop, other.stop) == (True, False)


async def test_the_verdict_stays_what_it_was() -> None:
    """pipeline.md 5 bullet 1: full, then stopped: the send stays full."""
    chan = Channel(1)
    await chan.send(1)
    verdict = await chan.send(2)
    chan.request_stop()
    assert (verdict, chan.stop) == ("full", True)


async def test_priorities_go_first_and_keep_their_order() -> None:
    """Beyond the documents: a higher priority first, equals in the order they came."""
    chan = Channel(6)
    for name, priority in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0), ("f", 9)]:
        assert await chan.send(name, priority) == "ok"
    assert await chan.send("g", 9) == "full"
    assert [await chan.receive() for _ in range(6)] == ["f", "b", "d", "a", "e", "c"]
    assert chan._lanes.keys() == {0}


async def test_a_cancelled_receive_takes_no_item_along() -> None:
    """H2, done better: the job that comes after the cancel is still there."""
    chan = Channel()
    waiting = asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await chan.send("job")
    assert chan._waiting == {}
    assert await asyncio.wait_for(chan.receive(), BOUND_S) == "job"


async def test_a_receive_cancelled_after_it_was_woken_hands_the_wake_on() -> None:
    """H2, done better: woken for an item and cancelled in the same turn, it lets the next waiter have it."""
    chan = Channel()
    first, second = asyncio.create_task(chan.receive()), asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    await chan.send("job")
    first.cancel()
    assert await asyncio.wait_for(second, BOUND_S) == "job"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_late_comer_may_take_what_a_sleeper_was_woken_for() -> None:
    """The sleeper finds nothing, and waits again."""
    chan = Channel()
    sleeper = asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    chan.send_now("one")
    assert await chan.receive() == "one"
    await asyncio.sleep(0)
    assert not sleeper.done()
    chan.send_now("two")
    assert await asyncio.wait_for(sleeper, BOUND_S) == "two"


@pytest.mark.parametrize("what", ["send", "stop"])
async def test_another_thread_wakes_a_sleeping_loop(what: str) -> None:
    """H3, done better: send and request_stop from a thread reach a loop with nothing else to do."""
    chan = Channel()
    waiting = asyncio.create_task(chan.receive())
    await asyncio.sleep(0)
    act: Any = (lambda: chan.send_now("job")) if what == "send" else chan.request_stop
    threading.Timer(0.02, act).start()
    assert await asyncio.wait_for(waiting, BOUND_S) == ("job" if what == "send" else None)


def test_one_loop_after_another() -> None:
    """H1, done better: idle under a first loop, awaited under a second: it waits, and gets the job."""
    chan = Channel()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(chan.receive(), 0.01)

    async def take() -> Any:
        waiting = asyncio.create_task(chan.receive())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await chan.send("job")
        return await waiting

    asyncio.run(give_up())
    assert asyncio.run(take()) == "job"


def test_a_waiter_whose_loop_was_closed_keeps_nobody_waiting() -> None:
    """H1: a loop that went away with a receiver in it, without cancelling it, loses no item."""
    chan, dead = Channel(), asyncio.new_event_loop()
    left = dead.create_task(chan.receive())
    dead.run_until_complete(asyncio.sleep(0))
    dead.close()
    chan.send_now("job")
    assert asyncio.run(asyncio.wait_for(chan.receive(), BOUND_S)) == "job"
    left._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_loop_that_stands_still_keeps_nobody_waiting() -> None:
    """H1: of each loop that waits one receiver is woken, so a stopped loop cannot swallow the wake-up."""
    chan, still = Channel(), asyncio.new_event_loop()
    parked = still.create_task(chan.receive())
    still.run_until_complete(asyncio.sleep(0))

    async def take() -> Any:
        waiting = asyncio.create_task(chan.receive())
        await asyncio.sleep(0)
        chan.send_now("job")
        return await asyncio.wait_for(waiting, BOUND_S)

    assert asyncio.run(take()) == "job"
    chan.request_stop()
    assert still.run_until_complete(asyncio.wait_for(parked, BOUND_S)) is None
    still.close()


# ---------------------------------------------------------------- the manager


def test_the_manager_is_one() -> None:
    """pipeline.md 1.2: calling the class again returns the instance."""
    assert ChannelManager() is manager


def test_new_and_available_are_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 5, manager row 1: maxsize matters at the creation only, a differing one is a debug line."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.channel.log.debug", said.append)
    chan = manager.new("a", maxsize=2)
    assert manager.available("a") is manager.new("a", maxsize=2) is chan
    assert manager.new("a", 7) is chan
    assert chan.maxsize == 2
    assert any("7 is ignored" in line for line in said)
    assert manager.available("b", maxsize=3).maxsize == 3


def test_put_get_and_remove() -> None:
    """pipeline.md 5, manager rows 2 to 4: replace, look, and remove; the removed one is not stopped."""
    mine, other = Channel(), Channel()
    manager.put("a", mine)
    manager.put("a", other)
    assert manager.get("a") is other
    assert manager.remove("a") is other
    assert not other.stop
    assert manager.get("a") is None


def test_removing_what_is_not_there() -> None:
    """pipeline.md 5, manager row 4, done better: None, with others registered and without."""
    assert manager.remove("a") is None
    manager.new("b")
    assert manager.remove("a") is None


def test_put_refuses_none_and_keeps_the_old() -> None:
    """pipeline.md 5, manager row 2."""
    mine = manager.new("a")
    with pytest.raises(ValueError, match="invalid channel"):
        manager.put("a", None)  # type: ignore[arg-type]
    assert manager.get("a") is mine


@pytest.mark.parametrize("call", ["new", "available", "get", "remove", "put"])
def test_an_empty_key_is_refused(call: str) -> None:
    """pipeline.md 5, manager, every row: `invalid key`, by a raise and not an assertion."""
    given = (Channel(),) if call == "put" else ()
    with pytest.raises(ValueError, match="invalid key"):
        getattr(manager, call)("", *given)


def test_reset_forgets_and_stops_nothing() -> None:
    """Issue 3: a public reset for the tests of programs."""
    mine = manager.new("a")
    manager.reset()
    assert manager.get("a") is None
    assert not mine.stop
    assert manager.new("a") is not mine


def test_many_threads_get_one_channel() -> None:
    """pipeline.md 17: the manager is safe from any thread."""
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait(BOUND_S)
        found.append(manager.new("shared"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_sends_of_many_threads_against_a_bound() -> None:
    """pipeline.md 17: as many land as there is room, and no more."""
    chan, start = Channel(50), threading.Barrier(8)
    verdicts: list[str] = []
    done = threading.Event()

    def push() -> None:
        start.wait(BOUND_S)
        mine = [chan.send_now(n) for n in range(20)]
        verdicts.extend(mine)
        if len(verdicts) == 160:
            done.set()

    for _ in range(8):
        threading.Thread(target=push).start()
    meet(done)
    assert verdicts.count("ok") == chan.length() == 50
    assert verdicts.count("full") == 110
