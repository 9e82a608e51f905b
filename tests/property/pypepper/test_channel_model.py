"""A channel against a model: any mix of sends, receives, cancels and a stop. pipeline.md 5; H2."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from pypepper.scheduler.channel import Channel


class ChannelMachine(RuleBasedStateMachine):
    """The model is a list of (-priority, number): what is sent and not yet handed out, in its order."""

    receivers = Bundle("receivers")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.chan = Channel(maxsize=4)
        self.sent: list[tuple[int, int]] = []
        self.got: list[tuple[int, int]] = []
        self.waiting: set[asyncio.Task[Any]] = set()
        self.stopped = False
        self.count = 0

    def teardown(self) -> None:
        for waiter in self.waiting:
            waiter.cancel()
        self.turn()
        self.loop.close()

    def turn(self) -> None:
        """Let the loop do all it can do now."""
        for _ in range(4):
            self.loop.run_until_complete(asyncio.sleep(0))
        for waiter in [each for each in self.waiting if each.done()]:
            self.waiting.discard(waiter)
            if not waiter.cancelled():
                self.take(waiter.result())

    def take(self, item: tuple[int, int] | None) -> None:
        if item is None:
            assert self.stopped, "None means stopped and empty"
            return
        self.got.append(item)

    @rule(priority=st.integers(-1, 2), settle=st.booleans())
    def send(self, priority: int, settle: bool) -> None:
        """The verdict is the model's."""
        item = (-priority, self.count)
        self.count += 1
        room = self.chan.length() < 4
        verdict = self.chan.send_now(item, priority)
        assert verdict == ("stopped" if self.stopped else "ok" if room else "full")
        if verdict == "ok":
            self.sent.append(item)
        if settle:
            self.turn()

    @rule(target=receivers)
    def receive(self) -> asyncio.Task[Any]:
        """Begin to wait; whether anything is there shows when the loop turns."""
        waiter = self.loop.create_task(self.chan.receive())
        self.waiting.add(waiter)
        return waiter

    @rule(waiter=consumes(receivers))
    def cancel(self, waiter: asyncio.Task[Any]) -> None:
        """Cancel a receiver, wherever it is: asleep, woken in this very turn, or done."""
        waiter.cancel()

    @rule()
    def settle(self) -> None:
        """Let everybody act."""
        self.turn()
        if self.chan.length():
            assert not self.waiting, "somebody waits although there is an item"
        if self.stopped:
            assert not self.waiting, "somebody waits although it is stopped"

    @rule()
    def stop(self) -> None:
        """Stop, again and again."""
        self.chan.request_stop()
        self.stopped = True

    @invariant()
    def nothing_is_lost_and_nothing_comes_twice(self) -> None:
        """What was sent is handed out, or queued, or in the hands of a receiver that has ended and was not asked."""
        held = [each.result() for each in self.waiting if each.done() and not each.cancelled()]
        out = sorted(self.got + [item for item in held if item is not None])
        assert len(out) == len(set(out))
        assert len(out) + self.chan.length() == len(self.sent)

    @invariant()
    def the_stop_shows(self) -> None:
        assert self.chan.stop is self.stopped


TestChannel = ChannelMachine.TestCase
TestChannel.settings = settings(max_examples=150, stateful_step_count=30)


class OrderMachine(RuleBasedStateMachine):
    """With one receiver at a time, items come in the model's order."""

    def __init__(self) -> None:
        super().__init__()
        self.chan = Channel()
        self.queue: list[tuple[int, int]] = []
        self.count = 0

    @rule(priority=st.integers(-3, 3))
    def send(self, priority: int) -> None:
        self.count += 1
        self.queue.append((-priority, self.count))
        assert self.chan.send_now((-priority, self.count), priority) == "ok"

    @rule()
    def receive(self) -> None:
        if self.queue:
            self.queue.sort()
            assert asyncio.run(self.chan.receive()) == self.queue.pop(0)
        assert self.chan.length() == len(self.queue)


TestOrder = OrderMachine.TestCase
TestOrder.settings = settings(max_examples=30, stateful_step_count=30)
