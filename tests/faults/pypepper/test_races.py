"""Races, many times over: send against stop, cancel against run, workers on one channel from several loops.

Every round is one race of real threads; what must hold afterwards is the promise.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pypepper.exceptions import InternalException
from pypepper.scheduler.channel import Channel, manager
from pypepper.scheduler.job import CANCEL_EVENT_KEY, ChannelStoppedError, Job
from pypepper.scheduler.store import set_job_store
from pypepper.scheduler.worker import Worker
from tests.pipes import BOUND_S, Scripted, job, once, returning, status_of, work_off

ROUNDS = 200


def race(*runners: Callable[[], object]) -> None:
    """Start all at one moment and wait for their ends; an error of any of them is raised."""
    start, errors = threading.Barrier(len(runners)), list[BaseException]()

    def run(runner: Callable[[], object]) -> None:
        start.wait(BOUND_S)
        try:
            runner()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[runner]) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_send_against_stop() -> None:
    """pipeline.md 5 bullet 1 and 17: each send either landed and is handed out, or was refused; never both."""
    for _ in range(ROUNDS):
        chan, verdicts, got = Channel(), list[tuple[int, str]](), list[Any]()

        def push(base: int, chan: Channel = chan, verdicts: list[tuple[int, str]] = verdicts) -> None:
            for n in range(base, base + 5):
                verdicts += [(n, chan.send_now(n))]

        def take(chan: Channel = chan, got: list[Any] = got) -> None:
            async def drain() -> None:
                while (item := await chan.receive()) is not None:
                    got.append(item)

            asyncio.run(asyncio.wait_for(drain(), BOUND_S))

        race(lambda: push(0), lambda: push(100), chan.request_stop, take)
        landed = [n for n, verdict in verdicts if verdict == "ok"]
        assert sorted(got) == sorted(landed)
        assert {verdict for _, verdict in verdicts} <= {"ok", "stopped"}
        for base in (0, 100):
            mine = [verdict for n, verdict in verdicts if base <= n < base + 5]
            assert mine == sorted(mine), "after a stopped, never an ok"


def test_scheduled_against_stop() -> None:
    """pipeline.md 8: what raised ChannelStoppedError is Unknown and nowhere; what did not is run."""
    for _ in range(ROUNDS // 4):
        manager.reset()
        chan, refused = manager.new("c"), list[Job]()
        made = [job(returning()) for _ in range(4)]

        def schedule(mine: list[Job], refused: list[Job] = refused) -> None:
            for each in mine:
                try:
                    each.scheduled()
                except ChannelStoppedError:
                    refused.append(each)

        race(partial(schedule, made[:2]), partial(schedule, made[2:]), chan.request_stop)
        work_off()
        for each in made:
            wanted = ("Unknown", None) if each in refused else ("Completed", "Completed")
            assert status_of(each) == wanted


@pytest.mark.parametrize("apart", [False, True])
def test_cancel_against_run(apart: bool) -> None:
    """pipeline.md 11: whoever moves first wins; job, event and row agree, and work is done once or not at all."""
    if apart:
        set_job_store(Scripted())
    seen: Counter[str] = Counter()
    for _ in range(ROUNDS):
        manager.reset()
        ran: list[int] = []
        made = job(lambda *_: ran.append(1))  # noqa: B023
        made.scheduled()
        cancelled: list[bool] = []

        def cancel(made: Job = made, cancelled: list[bool] = cancelled) -> None:
            try:
                made.cancel()
            except InternalException:
                return
            cancelled.append(True)

        def run() -> None:
            try:
                once()
            except InternalException:  # COMPLETE's or RUN's loser is the worker
                return

        race(cancel, run)
        wanted = "Cancelled" if cancelled else "Completed"
        assert made.status == wanted
        assert made.context.context[CANCEL_EVENT_KEY].is_set() is bool(cancelled)
        assert len(ran) <= 1
        if not cancelled:
            assert ran == [1]
        assert status_of(made) == (wanted, wanted)
        seen[wanted] += 1
    assert sum(seen.values()) == ROUNDS


def test_workers_of_several_loops_on_one_channel() -> None:
    """H1 and H3, done better: producers on threads, workers on loops of their own; every job is run once."""
    chan, ran = manager.new("c"), list[int]()
    made = [job(lambda *_, n=n: ran.append(n)) for n in range(120)]

    def produce(mine: list[Job]) -> None:
        for each in mine:
            each.scheduled()

    def consume() -> None:
        asyncio.run(asyncio.wait_for(Worker(chan).run_forever(), BOUND_S))

    def produce_all() -> None:
        race(lambda: produce(made[:40]), lambda: produce(made[40:80]), lambda: produce(made[80:]))
        chan.request_stop()

    race(produce_all, consume, consume, consume)
    assert sorted(ran) == list(range(120))
    assert {status_of(each) for each in made} == {("Completed", "Completed")}
    assert {each.version for each in made} == {3}


def test_cancelled_receives_among_sends_lose_nothing() -> None:
    """H2, done better: pickers with short patience, senders on threads; all items arrive, each once."""
    chan, got = Channel(), list[Any]()

    async def pick() -> None:
        while True:
            try:
                item = await asyncio.wait_for(chan.receive(), 0.001)
            except TimeoutError:
                continue
            if item is None:
                return
            got.append(item)

    def push(base: int) -> None:
        for n in range(base, base + 300):
            assert chan.send_now(n) == "ok"

    def push_all() -> None:
        race(lambda: push(1), lambda: push(1001))
        chan.request_stop()

    async def pickers() -> None:
        await asyncio.wait_for(asyncio.gather(pick(), pick(), pick()), BOUND_S)

    race(push_all, lambda: asyncio.run(pickers()))
    assert sorted(got) == [*range(1, 301), *range(1001, 1301)]
