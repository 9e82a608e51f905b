"""The only way to *now* and to sleep. Nothing else in the package asks the machine for the time.

`SystemClock` naps at most a second, so that a step of the wall clock, or a resume after a suspend, is seen within one.
`FakeClock` stands still until a test moves it, and can move its three clocks apart.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from pyscheduler.errors import NaiveTime

NAP_S: Final = 1.0
"""The longest nap: by then a step of the wall clock is noticed."""
STEP_S: Final = 0.5
"""From this distance between the two clocks' progress on it counts as a step."""
TURNS_AFTER_CALLBACK: Final = 5
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)

Callback = Callable[[], None]


class _Timer:
    """One entry of a clock's heap."""

    __slots__ = ("callback", "due")

    def __init__(self, due: float, callback: Callback) -> None:
        self.due = due
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None


class _Heap:
    """Timers by due time, then by arrival; cancelled ones fall out when they come up."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, _Timer]] = []
        self._arrivals = itertools.count()

    def push(self, due: float, callback: Callback) -> _Timer:
        timer = _Timer(due, callback)
        heapq.heappush(self._entries, (due, next(self._arrivals), timer))
        return timer

    def first(self) -> _Timer | None:
        while self._entries and self._entries[0][2].callback is None:
            heapq.heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def pop_due(self, until: float) -> Callback | None:
        timer = self.first()
        if timer is None or timer.due > until:
            return None
        heapq.heappop(self._entries)
        callback, timer.callback = timer.callback, None
        return callback


class _Listeners:
    """Those who want to know of steps."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[float], None]] = {}
        self._ids = itertools.count()

    def add(self, callback: Callable[[float], None]) -> _Listening:
        key = next(self._ids)
        self._callbacks[key] = callback
        return _Listening(self._callbacks, key)

    def tell(self, seconds: float) -> None:
        for callback in list(self._callbacks.values()):
            callback(seconds)

    def __bool__(self) -> bool:
        return bool(self._callbacks)


class _Listening:
    def __init__(self, callbacks: dict[int, Callable[[float], None]], key: int) -> None:
        self._callbacks, self._key = callbacks, key

    def cancel(self) -> None:
        self._callbacks.pop(self._key, None)


def _aware(when: datetime) -> float:
    """Return the instant as seconds since 1970; raises NaiveTime."""
    if when.tzinfo is None:
        raise NaiveTime(f"{when} has no time zone", mend="give an aware datetime, in UTC if in doubt")
    return when.timestamp()


async def _sleep_until(clock: SystemClock | FakeClock, when: datetime) -> None:
    rung = asyncio.get_running_loop().create_future()

    def ring() -> None:
        if not rung.done():
            rung.set_result(None)

    timer = clock.call_at(when, ring)
    try:
        await rung
    finally:
        timer.cancel()


class SystemClock:
    """The machine's clocks. Bound to the loop that first sets a timer on it, and to the next one after that closed."""

    def __init__(self) -> None:
        self._wall = _Heap()
        self._listeners = _Listeners()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._nap: asyncio.TimerHandle | None = None
        self._drift = time.time() - time.monotonic()  # noqa: TID251 - this is the clock

    def now(self) -> datetime:
        """Return the wall clock: aware, UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the clock

    def monotonic(self) -> float:
        """Return CLOCK_MONOTONIC in seconds."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return CLOCK_BOOTTIME in seconds; CLOCK_MONOTONIC where the system has none."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def call_at(self, when: datetime, callback: Callback) -> _Timer:
        """Call back once the wall clock shows `when` or later. Raises NaiveTime."""
        timer = self._wall.push(_aware(when), callback)
        self._lie_down()
        return timer

    def call_after(self, seconds: float, callback: Callback) -> asyncio.TimerHandle:
        """Call back after so many seconds of the monotonic clock."""
        return asyncio.get_running_loop().call_later(max(seconds, 0.0), callback)

    def on_step(self, callback: Callable[[float], None]) -> _Listening:
        """Call back with the seconds by which the wall clock was stepped, within a second of it."""
        listening = self._listeners.add(callback)
        self._lie_down()
        return listening

    async def sleep_until(self, when: datetime) -> None:
        """Return once the wall clock shows `when` or later. Raises NaiveTime."""
        await _sleep_until(self, when)

    def _lie_down(self) -> None:
        loop = asyncio.get_running_loop()
        if self._nap is not None and self._loop is loop:
            self._nap.cancel()
        self._loop, self._nap = loop, None
        first = self._wall.first()
        if first is None and not self._listeners:
            return
        rest = NAP_S if first is None else min(NAP_S, max(0.0, first.due - time.time()))  # noqa: TID251
        self._nap = loop.call_later(rest, self._wake)

    def _wake(self) -> None:
        self._nap = None
        self._look_for_step()
        while (callback := self._wall.pop_due(time.time())) is not None:  # noqa: TID251
            callback()
        self._lie_down()

    def _look_for_step(self) -> None:
        drift = time.time() - time.monotonic()  # noqa: TID251
        step, self._drift = drift - self._drift, drift
        if abs(step) >= STEP_S:
            self._listeners.tell(step)


class FakeClock:
    """A clock that a test moves. `advance` moves all three clocks, `step` the wall alone, `suspend` all but monotonic.

    Callbacks run one at a time, by due instant and then arrival, `now()` being that callback's own instant; five turns
    of the loop follow each, so that what it started can get on. A callback already due runs on the next turn. Counts in
    whole microseconds, so a year of advances drifts by nothing.
    """

    def __init__(self, start: datetime) -> None:
        self._now_us = _microseconds(start)
        self._mono_us = self._boot_us = 1_000_000_000
        self._wall_timers = _Heap()
        self._mono_timers = _Heap()
        self._listeners = _Listeners()

    def now(self) -> datetime:
        """Return the wall clock: aware, UTC."""
        return EPOCH + timedelta(microseconds=self._now_us)

    def monotonic(self) -> float:
        """Return the monotonic clock in seconds."""
        return self._mono_us / 1e6

    def boottime(self) -> float:
        """Return the clock that counts suspends, in seconds."""
        return self._boot_us / 1e6

    def call_at(self, when: datetime, callback: Callback) -> _Timer:
        """Call back once the wall clock shows `when` or later. Raises NaiveTime."""
        return self._soon(self._wall_timers.push(_microseconds(when), callback), self._now_us)

    def call_after(self, seconds: float, callback: Callback) -> _Timer:
        """Call back after so many seconds of the monotonic clock."""
        due = self._mono_us + round(max(seconds, 0.0) * 1e6)
        return self._soon(self._mono_timers.push(due, callback), self._mono_us)

    def on_step(self, callback: Callable[[float], None]) -> _Listening:
        """Call back with the seconds of each `step` or `suspend`."""
        return self._listeners.add(callback)

    async def sleep_until(self, when: datetime) -> None:
        """Return once the wall clock shows `when` or later. Raises NaiveTime."""
        await _sleep_until(self, when)

    def next_due(self) -> datetime | None:
        """Return the wall instant at which the next timer rings if nothing steps the clock; None without timers."""
        rest = self._rest_us()
        return None if rest is None else self.now() + timedelta(microseconds=rest)

    async def advance(self, by: timedelta) -> None:
        """Move all three clocks forward, ringing every timer on the way. ValueError for a negative step."""
        if by < timedelta(0):
            raise ValueError("a clock is advanced forward only; step() moves the wall clock back")
        left = by // MICROSECOND
        while (rest := self._rest_us()) is not None and rest <= left:
            self._move(rest)
            left -= rest
            self._ring()
            await _turns(TURNS_AFTER_CALLBACK)
        self._move(left)
        await _turns(TURNS_AFTER_CALLBACK)

    async def advance_to(self, when: datetime) -> None:
        """Move all three clocks until the wall shows `when`."""
        await self.advance(timedelta(microseconds=_microseconds(when) - self._now_us))

    async def step(self, by: timedelta) -> None:
        """Set the wall clock forward or back, alone."""
        await self._leap(by, boot=False)

    async def suspend(self, by: timedelta) -> None:
        """Let the machine sleep: the wall and boot time go on, the monotonic clock stands still."""
        await self._leap(by, boot=True)

    async def _leap(self, by: timedelta, *, boot: bool) -> None:
        self._now_us += by // MICROSECOND
        if boot:
            self._boot_us += by // MICROSECOND
        self._listeners.tell(by.total_seconds())
        await self.advance(timedelta(0))

    def _soon(self, timer: _Timer, now_us: int) -> _Timer:
        if timer.due <= now_us:
            asyncio.get_running_loop().call_soon(self._ring)
        return timer

    def _move(self, by_us: int) -> None:
        self._now_us += by_us
        self._mono_us += by_us
        self._boot_us += by_us

    def _rest_us(self) -> int | None:
        """Return the microseconds until the next timer rings."""
        wall, mono = self._wall_timers.first(), self._mono_timers.first()
        rests = [int(wall.due) - self._now_us] if wall else []
        if mono:
            rests.append(int(mono.due) - self._mono_us)
        return max(0, min(rests)) if rests else None

    def _ring(self) -> None:
        """Run one due callback."""
        callback = self._wall_timers.pop_due(self._now_us) or self._mono_timers.pop_due(self._mono_us)
        if callback is not None:
            callback()


def _microseconds(when: datetime) -> int:
    """Return the instant as whole microseconds since 1970; raises NaiveTime."""
    _aware(when)
    return (when - EPOCH) // MICROSECOND


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
