"""What a clock promises, run on the real one and the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from pyscheduler.engine.clock import FakeClock, SystemClock
from pyscheduler.errors import NaiveTime

START = datetime(2026, 10, 19, 9, tzinfo=UTC)
Move = Callable[[float], Awaitable[None]]


@pytest.fixture(params=["system", "fake"])
def clock(request: pytest.FixtureRequest) -> SystemClock | FakeClock:
    """Each implementation."""
    return SystemClock() if request.param == "system" else FakeClock(START)


async def pass_time(clock: SystemClock | FakeClock, seconds: float) -> None:
    """Let time pass, really or not."""
    if isinstance(clock, FakeClock):
        await clock.advance(timedelta(seconds=seconds))
    else:
        await asyncio.sleep(seconds)


async def test_now_is_aware_and_in_utc(clock: SystemClock | FakeClock) -> None:
    """The engine and the store hold nothing else."""
    assert clock.now().tzinfo is UTC


async def test_timers_ring_once_in_the_order_they_are_due(clock: SystemClock | FakeClock) -> None:
    """By due time whatever the order they were set in; a cancelled one never; cancelling a spent one is harmless."""
    rung: list[str] = []
    now = clock.now()
    clock.call_at(now + timedelta(milliseconds=60), lambda: rung.append("b"))
    spent = clock.call_at(now + timedelta(milliseconds=20), lambda: rung.append("a"))
    off = clock.call_at(now + timedelta(milliseconds=30), lambda: rung.append("off"))
    clock.call_after(0.09, lambda: rung.append("c"))
    off.cancel()
    await pass_time(clock, 0.15)
    spent.cancel()
    await pass_time(clock, 0.05)
    assert rung == ["a", "b", "c"]


async def test_what_is_due_already_rings_on_the_next_turns(clock: SystemClock | FakeClock) -> None:
    """No advance is needed for what should have rung."""
    rung = asyncio.Event()
    clock.call_at(clock.now() - timedelta(seconds=5), rung.set)
    await asyncio.wait_for(rung.wait(), 2)
    rung.clear()
    clock.call_after(-1, rung.set)
    await asyncio.wait_for(rung.wait(), 2)


async def test_sleep_until_returns_at_the_instant_and_may_be_cancelled(clock: SystemClock | FakeClock) -> None:
    """A cancelled sleep leaves no timer behind."""
    sleeping = asyncio.ensure_future(clock.sleep_until(clock.now() + timedelta(milliseconds=30)))
    cancelled = asyncio.ensure_future(clock.sleep_until(clock.now() + timedelta(hours=1)))
    await pass_time(clock, 0.06)
    await asyncio.wait_for(sleeping, 2)
    assert not cancelled.done()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)


async def test_an_instant_without_a_zone_is_refused(clock: SystemClock | FakeClock) -> None:
    """A naive time is never guessed at."""
    with pytest.raises(NaiveTime):
        clock.call_at(datetime(2026, 10, 19), lambda: None)
    with pytest.raises(NaiveTime):
        await clock.sleep_until(datetime(2026, 10, 19))


async def test_a_callback_sees_its_own_instant_and_may_set_more() -> None:
    """Callbacks run singly, and what they set within the same advance rings in it."""
    clock = FakeClock(START)
    seen: list[str] = []

    def first() -> None:
        seen.append(f"{clock.now():%H:%M}")
        clock.call_after(60, lambda: seen.append(f"{clock.now():%H:%M}"))

    clock.call_at(START + timedelta(minutes=5), first)
    await clock.advance(timedelta(minutes=10))
    assert seen == ["09:05", "09:06"]
    assert clock.now() == START + timedelta(minutes=10)


async def test_the_three_clocks_of_the_fake_move_apart() -> None:
    """A step moves the wall alone, a suspend all but the monotonic clock; durations are not fooled by either."""
    clock = FakeClock(START)
    rung: list[str] = []
    steps: list[float] = []
    clock.on_step(steps.append)
    clock.call_after(60, lambda: rung.append("duration"))
    clock.call_at(START + timedelta(hours=1), lambda: rung.append("firing"))
    mono, boot = clock.monotonic(), clock.boottime()
    await clock.step(timedelta(hours=2))
    assert rung == ["firing"]
    assert (clock.monotonic(), clock.boottime()) == (mono, boot)
    await clock.suspend(timedelta(hours=3))
    assert rung == ["firing"]
    assert (clock.monotonic() - mono, clock.boottime() - boot) == (0, 3 * 3600)
    await clock.step(timedelta(hours=-5))
    assert clock.now() == START
    await clock.advance(timedelta(seconds=60))
    assert rung == ["firing", "duration"]
    assert steps == [7200, 10800, -18000]


async def test_the_fake_says_when_something_is_due_and_never_goes_back() -> None:
    """next_due is the test's way from bell to bell."""
    clock = FakeClock(START)
    assert clock.next_due() is None
    clock.call_after(90, lambda: None)
    assert clock.next_due() == START + timedelta(seconds=90)
    with pytest.raises(ValueError, match="forward only"):
        await clock.advance(timedelta(seconds=-1))
    with pytest.raises(NaiveTime):
        FakeClock(datetime(2026, 10, 19))


async def test_a_year_of_small_advances_drifts_by_nothing() -> None:
    """Whole microseconds are counted, not sums of floats."""
    clock = FakeClock(START)
    for _ in range(1000):
        await clock.advance(timedelta(milliseconds=100.1))
    assert clock.now() == START + timedelta(milliseconds=100_100)


async def test_the_system_clock_tells_of_a_step() -> None:
    """Within a nap: the wall's progress is compared with the monotonic clock's."""
    clock = SystemClock()
    told: asyncio.Queue[float] = asyncio.Queue()
    listening = clock.on_step(told.put_nowait)
    clock._drift -= 3600  # the wall has gone an hour further than the monotonic clock since the last look
    assert round(await asyncio.wait_for(told.get(), 5)) == 3600
    listening.cancel()
