"""The queue between those who schedule jobs and the workers that run them. Spec: pipeline.md 5.

What must always hold:

- one lock decides `send` against `request_stop`: a send either landed before the stop or was refused, never both;
- an item leaves the queue in the very step that hands it to a receiver, with no wait in between: a cancelled `receive`
  never takes a job with it (H2);
- whoever waits is woken on its own loop, so senders, stoppers and receivers may sit on any thread and any loop (H1,
  H3). Of each loop that waits one receiver is woken for an item: a loop that stands still cannot keep the rest asleep.

Items of one priority leave in the order they came; a higher priority goes first.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Any, ClassVar, Final, Literal

from pypepper.common.log import log
from pypepper.scheduler.base import OneOfAKind
from pypepper.scheduler.threads import running_loop

SendResult = Literal["ok", "full", "stopped"]
SEND_OK: Final = "ok"
SEND_FULL: Final = "full"
SEND_STOPPED: Final = "stopped"

Waiter = asyncio.Future[None]


class Channel:
    """A queue of jobs; `maxsize` of 0 or less means unbounded. Nothing is copied, nothing outlives the process."""

    def __init__(self, maxsize: int = 0) -> None:
        self._maxsize = maxsize
        self._lock = threading.Lock()
        self._stop = False
        self._count = 0
        self._lanes: dict[int, deque[Any]] = {0: deque()}
        self._order: tuple[int, ...] = (0,)
        self._waiting: dict[asyncio.AbstractEventLoop, deque[Waiter]] = {}

    @property
    def stop(self) -> bool:
        """Tell whether a stop was requested; for looking only: what became of a send is what it returned."""
        return self._stop

    @property
    def maxsize(self) -> int:
        """Return the bound; 0 or less for none."""
        return self._maxsize

    def length(self) -> int:
        """Return how many items are queued."""
        return self._count

    async def send(self, value: Any, priority: int = 0) -> SendResult:
        """Queue an item, or say why not: "ok", "full" or "stopped" (which is checked first). Never waits.

        None must not be sent: receivers read it as stopped and empty.
        """
        return self.send_now(value, priority)

    def send_now(self, value: Any, priority: int = 0) -> SendResult:
        """Do what `send` does, from plain code and any thread."""
        with self._lock:
            if self._stop:
                return SEND_STOPPED
            if 0 < self._maxsize <= self._count:
                return SEND_FULL
            self._lane(priority).append(value)
            self._count += 1
            if self._waiting:
                self._wake_one_of_each_loop()
        return SEND_OK

    async def receive(self) -> Any:
        """Return the next item, waiting for one; None when the channel is stopped and empty.

        What is queued is handed out after a stop too, without waiting.
        """
        while True:
            with self._lock:
                if self._count:
                    return self._take()
                if self._stop:
                    return None
                waiter = self._wait_here()
            try:
                await waiter
            except BaseException:
                self._give_up(waiter)
                raise

    def request_stop(self) -> None:
        """Take nothing more from now on, and wake whoever waits. For good; a second call changes nothing."""
        with self._lock:
            self._stop = True
            for loop, waiters in self._waiting.items():
                for waiter in waiters:
                    _wake(loop, waiter)
            self._waiting.clear()

    # ---------------------------------------------------------------- all below: under the lock

    def _lane(self, priority: int) -> deque[Any]:
        lane = self._lanes.get(priority)
        if lane is None:
            lane = self._lanes[priority] = deque()
            self._order = tuple(sorted(self._lanes, reverse=True))
        return lane

    def _take(self) -> Any:
        self._count -= 1
        for priority in self._order:
            lane = self._lanes[priority]
            if lane:
                item = lane.popleft()
                if not lane and priority:
                    del self._lanes[priority]
                    self._order = tuple(sorted(self._lanes, reverse=True))
                return item
        raise AssertionError("the count says there is an item, and no lane has one")

    def _wait_here(self) -> Waiter:
        loop = asyncio.get_running_loop()
        waiter: Waiter = loop.create_future()
        self._waiting.setdefault(loop, deque()).append(waiter)
        return waiter

    def _wake_one_of_each_loop(self) -> None:
        for loop in list(self._waiting):
            waiters = self._waiting[loop]
            _wake(loop, waiters.popleft())
            if not waiters:
                del self._waiting[loop]

    def _give_up(self, waiter: Waiter) -> None:
        """Leave the line; a wake-up that this waiter had already taken goes to the next one."""
        with self._lock:
            loop = waiter.get_loop()
            waiters = self._waiting.get(loop)
            if waiters is not None and waiter in waiters:
                waiters.remove(waiter)
                if not waiters:
                    del self._waiting[loop]
            elif self._count:
                self._wake_one_of_each_loop()


def _wake(loop: asyncio.AbstractEventLoop, waiter: Waiter) -> None:
    if loop is running_loop():
        _set(waiter)
        return
    try:
        loop.call_soon_threadsafe(_set, waiter)
    except RuntimeError:  # that loop is closed: nobody waits there any more
        log.debug("a receiver's loop was closed while it waited")


def _set(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


def new(maxsize: int = 0) -> Channel:
    """Return a channel that no manager knows."""
    return Channel(maxsize)


class ChannelManager(OneOfAKind):
    """The channels of the process by name, behind one lock; every call of the class returns the one instance."""

    _channels: ClassVar[dict[str, Channel]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def new(self, key: str, maxsize: int = 0) -> Channel:
        """Return the channel of this name, made with `maxsize` if there is none; later values of it are ignored."""
        _check(key)
        with self._lock:
            channel = self._channels.get(key)
            if channel is None:
                channel = self._channels[key] = Channel(maxsize)
                return channel
        if maxsize != getattr(channel, "maxsize", maxsize):
            log.debug(f"channel {key} exists with maxsize {channel.maxsize}: {maxsize} is ignored")
        return channel

    def available(self, key: str, maxsize: int = 0) -> Channel:
        """Do what `new` does."""
        return self.new(key, maxsize)

    def put(self, key: str, chan: Channel) -> None:
        """Keep this channel under the name, in place of another; ValueError for an empty name or None."""
        _check(key)
        if chan is None:
            raise ValueError("invalid channel: give a Channel, not None")
        with self._lock:
            self._channels[key] = chan

    def get(self, key: str) -> Channel | None:
        """Return the channel of this name, or None."""
        _check(key)
        with self._lock:
            return self._channels.get(key)

    def remove(self, key: str) -> Channel | None:
        """Forget a channel and return it, or None; it is not stopped."""
        _check(key)
        with self._lock:
            return self._channels.pop(key, None)

    def reset(self) -> None:
        """Forget every channel, as at the start of the process; none is stopped. For tests between two programs."""
        with self._lock:
            self._channels.clear()


def _check(key: str) -> None:
    if not key:
        raise ValueError("invalid key: a channel's name must not be empty")


manager: Final = ChannelManager()
