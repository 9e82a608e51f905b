"""One call with a limit: pipeline.md 4.2, each row. Limits here are hundredths of a second; facts are waited for, and
no limit that is to catch a call at work passes before the call has begun (`begun`).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pypepper.scheduler import timed
from pypepper.scheduler.threads import DaemonPool, in_thread
from pypepper.scheduler.timed import TimedCalls
from tests.pipes import BOUND_S, meet, task, workflow

SHORT = 0.02


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds hanging calls, and lets all of them go at the end."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What a call sets as it begins: the time that it is given runs from then on, however late its thread comes."""
    begun = threading.Event()

    def wait(futures: Any, limit: float | None) -> Any:
        meet(begun)
        return concurrent.futures.wait(futures, limit)

    monkeypatch.setattr("pypepper.scheduler.timed.wait_for_futures", wait)
    return begun


@pytest.fixture
def calls() -> TimedCalls:
    """Timed calls of a test's own."""
    return TimedCalls()


def test_without_a_limit_there_is_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 4.2: `round_timeout = 0` is a direct call."""
    monkeypatch.setattr(timed.timed_calls, "call", None)
    assert workflow(lambda _task, _context: 1).run() == [1]


def test_in_time_is_the_result_or_the_exception(calls: TimedCalls) -> None:
    """pipeline.md 4.2 row 1: real result, real exception."""
    assert calls.call("t", lambda: 7, BOUND_S, None) == 7
    with pytest.raises(ZeroDivisionError):
        calls.call("t", lambda: 1 // 0, BOUND_S, None)


def test_a_call_that_ends_as_its_limit_passes_counts(calls: TimedCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 4.2 row 1: finished in the same instant is finished."""
    monkeypatch.setattr(
        "pypepper.scheduler.timed.wait_for_futures", lambda futures, _limit: concurrent.futures.wait(futures, BOUND_S)
    )
    assert calls.call("t", lambda: 7, 0.0, None) == 7


def test_queued_calls_are_withdrawn(calls: TimedCalls, gate: threading.Event) -> None:
    """pipeline.md 4.2 row 2: `timed out before start`, and it will never run."""
    calls._pool = DaemonPool(1)
    busy, ran = threading.Event(), threading.Event()

    def work() -> None:
        busy.set()
        meet(gate)

    calls._pool.post(work)
    meet(busy)
    with pytest.raises(TimeoutError, match="timed out before start"):
        calls.call("t", ran.set, SHORT, None)
    gate.set()
    assert calls.call("t", lambda: "next", BOUND_S, None) == "next"
    assert not ran.is_set()


def test_a_started_call_is_waited_for_without_limit(
    calls: TimedCalls, gate: threading.Event, begun: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipeline.md 4.2 row 3: join 0, and a late success is discarded."""
    ended = threading.Event()
    monkeypatch.setattr("pypepper.scheduler.timed.log.warn", lambda _line: gate.set())  # said once the limit is over

    def late() -> str:
        begun.set()
        meet(gate)
        ended.set()
        return "late"

    with pytest.raises(TimeoutError, match="execute still running"):
        calls.call("t", late, SHORT, None)
    assert ended.is_set()
    assert calls.call("t", lambda: "again", BOUND_S, None) == "again"


def test_a_late_exception_is_only_logged(
    calls: TimedCalls, gate: threading.Event, begun: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipeline.md 4.2 row 4, and 16 row warn: over its limit, and how it ended."""
    said: list[str] = []

    def warn(line: str) -> None:
        said.append(line)
        gate.set()

    monkeypatch.setattr("pypepper.scheduler.timed.log.warn", warn)

    def late() -> None:
        begun.set()
        meet(gate)
        raise KeyError("too late")

    with pytest.raises(TimeoutError, match="execute still running"):
        calls.call("t", late, SHORT, BOUND_S)
    assert "has been running for more than" in said[0]
    assert "too late" in said[1]


def test_an_orphan_bars_its_task_and_nobody_else(
    calls: TimedCalls, gate: threading.Event, begun: threading.Event
) -> None:
    """pipeline.md 4.2 rows 5 and 6: the thread lives on, the next attempt of the same task id fails at once."""
    ran = threading.Event()

    def hang() -> None:
        begun.set()
        meet(gate)

    with pytest.raises(TimeoutError, match="execute still running"):
        calls.call("t", hang, SHORT, SHORT)
    with pytest.raises(TimeoutError, match="still running from a previous attempt"):
        calls.call("t", ran.set, BOUND_S, None)
    assert not ran.is_set()
    assert calls.call("another", lambda: 1, BOUND_S, None) == 1
    orphan = calls._orphans["t"]
    gate.set()
    assert isinstance(orphan, concurrent.futures.Future)
    orphan.result(BOUND_S)
    assert calls.call("t", lambda: 2, BOUND_S, None) == 2
    assert calls._orphans == {}


def test_an_executors_own_timeout_is_its_own(calls: TimedCalls) -> None:
    """pipeline.md 4.2 row 7: not re-labelled."""

    def own() -> None:
        raise TimeoutError("the database's")

    with pytest.raises(TimeoutError, match=r"^the database's$"):
        calls.call("t", own, BOUND_S, None)


def test_the_example_of_a_hanging_body(gate: threading.Event, begun: threading.Event) -> None:
    """pipeline.md 4.2, the example, at a fortieth of its times: one start, three failures."""
    starts: list[int] = []

    def hang(_task: Any, _context: Any) -> None:
        starts.append(1)
        begun.set()
        meet(gate)

    made = task(hang, round_timeout=0.025, round_timeout_join=0.025, retry_count=2, retry_delay=0.005)
    with pytest.raises(TimeoutError, match="from a previous attempt"):
        workflow(made).run()
    assert (len(starts), made.attempts) == (1, 3)


def test_the_pool_has_a_bound_and_a_queue(gate: threading.Event) -> None:
    """pipeline.md 4.2: at most so many threads at once; further calls queue, and all are run."""
    pool, running, peak, done = DaemonPool(3), 0, 0, threading.Event()
    lock, ended = threading.Lock(), []
    full = threading.Event()

    def work(n: int) -> None:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
            if running == 3:
                full.set()
        meet(gate)
        with lock:
            running -= 1
            ended.append(n)
            if len(ended) == 9:
                done.set()

    for n in range(9):
        pool.post(lambda n=n: work(n))  # type: ignore[misc]
    meet(full)
    assert (pool._threads, pool._backlog) == (3, 6)
    gate.set()
    meet(done)
    assert (peak, sorted(ended)) == (3, list(range(9)))


def test_idle_threads_are_used_again_and_then_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise P6: a pool grows only when nobody is idle, and shrinks to nothing when there is no work."""
    monkeypatch.setattr("pypepper.scheduler.threads.IDLE_S", SHORT)
    pool = DaemonPool(4)
    seen: list[threading.Thread] = []
    for _ in range(2):
        told = threading.Event()

        def work(told: threading.Event = told) -> None:
            seen.append(threading.current_thread())
            told.set()

        pool.post(work)
        meet(told)
    for thread in seen:
        thread.join(BOUND_S)
    assert (pool._threads, pool._idle, pool._backlog) == (0, 0, 0)
    told = threading.Event()
    pool.post(told.set)
    meet(told)


def test_calls_one_after_the_other_need_one_thread() -> None:
    """Whoever is told of an end may post the next call at once: the thread that told is idle by then, and takes it."""
    pool, told = DaemonPool(4), threading.Event()
    pool.post(lambda: lambda: pool.post(lambda: told.set))
    meet(told)
    assert pool._threads == 1


def test_a_call_promised_to_an_idle_thread_keeps_it() -> None:
    """A thread whose wait ran out in the very moment a call was promised to it stays for that call."""
    pool = DaemonPool(1)
    pool._threads, pool._idle = 1, 0
    assert not pool._may_leave()
    pool._idle = 1
    assert pool._may_leave()
    assert (pool._threads, pool._idle) == (0, 0)


def test_pool_threads_are_daemons(calls: TimedCalls) -> None:
    """H13, done better: a call that hangs for ever does not keep the program from exiting."""
    assert calls.call("t", lambda: threading.current_thread().daemon, BOUND_S, None)


async def test_what_leaves_a_thread_is_carried() -> None:
    """H11: no exception, whatever it is, ends the loop on its way back."""
    for error in (StopIteration(1), SystemExit(2), asyncio.CancelledError(), KeyboardInterrupt()):

        def fail(error: BaseException = error) -> None:
            raise error

        assert (await in_thread(fail)).error is error
    assert (await in_thread(lambda: 3)).value == 3


def test_a_call_that_outlives_its_loop_ends_quietly() -> None:
    """A thread that answers to a closed loop has nobody to tell, and says nothing."""
    gate, ended = threading.Event(), threading.Event()

    async def leave() -> None:
        working = asyncio.create_task(in_thread(lambda: meet(gate)))
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    asyncio.run(leave())
    gate.set()
    from pypepper.scheduler import threads

    threads._common.post(ended.set)
    meet(ended)


# ---------------------------------------------------------------- coroutines


async def test_a_coroutine_in_time(calls: TimedCalls) -> None:
    """pipeline.md 4.2 rows 1 and 7, for coroutines: result, exception, and its own TimeoutError."""

    async def give(error: BaseException | None = None) -> int:
        if error:
            raise error
        return 7

    assert await calls.wait("t", give(), BOUND_S, None) == 7
    with pytest.raises(KeyError):
        await calls.wait("t", give(KeyError(1)), BOUND_S, None)
    with pytest.raises(TimeoutError, match="own"):
        await calls.wait("t", give(TimeoutError("own")), BOUND_S, None)
    with pytest.raises(SystemExit):
        await calls.wait("t", give(SystemExit(3)), BOUND_S, None)


async def test_a_coroutine_over_its_limit_is_cancelled(calls: TimedCalls) -> None:
    """pipeline.md 4.2 row 3, done better for coroutines: it is told to end, and waited for."""
    cleaned = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    with pytest.raises(TimeoutError, match="execute still running"):
        await calls.wait("t", hang(), SHORT, None)
    assert cleaned.is_set()


async def test_a_coroutine_that_will_not_end_bars_its_task(calls: TimedCalls) -> None:
    """pipeline.md 4.2 rows 5 and 6, for coroutines."""
    gate = asyncio.Event()

    async def deaf() -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    async def never() -> None:
        raise AssertionError("must not start")

    with pytest.raises(TimeoutError, match="execute still running"):
        await calls.wait("t", deaf(), SHORT, SHORT)
    with pytest.raises(TimeoutError, match="from a previous attempt"):
        await calls.wait("t", never(), BOUND_S, None)
    gate.set()
    orphan = calls._orphans["t"]
    assert isinstance(orphan, asyncio.Future)
    await orphan

    async def fine() -> int:
        return 1

    assert await calls.wait("t", fine(), BOUND_S, None) == 1


async def test_who_cancels_the_waiter_cancels_the_coroutine(calls: TimedCalls) -> None:
    """Nothing goes on in the back of a cancelled worker."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    waiting = asyncio.create_task(calls.wait("t", hang(), BOUND_S, None))
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(cancelled.wait(), BOUND_S)


async def test_a_timed_coroutine_in_a_workflow() -> None:
    """pipeline.md 4.2, through the workflow: a failed attempt that consumes budget."""
    calls = 0

    async def slow_once(_task: Any, _context: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()
        return calls

    assert await workflow(task(slow_once, round_timeout=SHORT, retry_count=1)).run_async() == [2]
