"""Any sequence of store troubles, one job, one worker: what holds whatever happens. pipeline.md 10; H8, H10."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pypepper.scheduler.channel import manager
from pypepper.scheduler.job import Job, JobRequeuedError
from pypepper.scheduler.store import InMemoryJobStore, JobRecord, reset_job_store, set_job_store
from pypepper.scheduler.worker import Worker
from tests.pipes import BOUND_S, job

PUTS = st.lists(st.sampled_from(["land", "raise", "skip", "lose"]), max_size=12)
GETS = st.lists(st.sampled_from(["see", "raise"]), max_size=12)
ENDS = {"Completed", "Failed", "Cancelled"}


class Troubled(InMemoryJobStore):
    """Does with each put and get what the scripts say next; behind them all is well."""

    def __init__(self, puts: list[str], gets: list[str]) -> None:
        super().__init__()
        self.steps, self.looks = deque(puts), deque(gets)
        self.true: list[tuple[str, int]] = []

    def put(self, record: JobRecord) -> bool:
        step = self.steps.popleft() if self.steps else "land"
        if step == "raise":
            raise ConnectionError
        if step == "skip":
            return False
        landed = super().put(record)
        if landed:
            self.true.append((record.status, record.version))
        if step == "lose":
            raise ConnectionError
        return landed

    def get(self, job_id: str) -> JobRecord | None:
        if self.looks and self.looks.popleft() == "raise":
            raise ConnectionError
        return super().get(job_id)


async def pick_up_until_it_rests(chan: Any) -> None:
    worker = Worker(chan)
    while chan.length():
        try:
            await worker.run_once()
        except JobRequeuedError:
            assert chan.length() == 1
        except (ConnectionError, RuntimeError, ValueError):
            continue


@settings(max_examples=400)
@given(puts=PUTS, gets=GETS, fails=st.booleans(), cancels=st.booleans())
@example(puts=["land", "lose", "raise"], gets=[], fails=False, cancels=False)
@example(puts=["raise"] * 3, gets=["raise"], fails=False, cancels=False)
def test_whatever_the_store_does(puts: list[str], gets: list[str], fails: bool, cancels: bool) -> None:
    """Work is done once at most, never before InProgress is durable; at rest the job is at an end, and its row can be.

    The only rest without an end is the one the manual names (9.1 step 6 B): a look after a skipped save that raises.
    """
    manager.reset()
    store = Troubled(puts, gets)
    set_job_store(store)
    ran: list[str | None] = []
    made = job()

    def work(*_: Any) -> None:
        row = InMemoryJobStore.get(store, made.id)
        ran.append(row.status if row else None)
        if cancels:
            try:
                made.cancel()
            except ConnectionError:
                ran.append("cancel not saved")
        if fails:
            raise ValueError

    made.workflows = job(work).workflows
    try:
        made.scheduled()
    except (ConnectionError, RuntimeError):
        assert made.status == "Scheduled"
    chan = manager.available("c")
    assert chan.length() == 1
    asyncio.run(asyncio.wait_for(pick_up_until_it_rests(chan), BOUND_S))
    assert chan.length() == 0
    assert [status for status in ran if status != "cancel not saved"] in ([], ["InProgress"])
    if made.status == "InProgress":
        assert ran == []
        return
    assert made.status in ENDS
    if ran:
        assert made.status == ("Cancelled" if cancels else "Failed" if fails else "Completed")
    else:
        assert made.status == "Failed"
    _can_be_saved(store, made)
    reset_job_store()


def _can_be_saved(store: Troubled, made: Job) -> None:
    """When the store is well again, `save()` is all it takes, or the job is told that it is behind (False)."""
    store.steps.clear()
    store.looks.clear()
    landed = made.save()
    row = store.get(made.id)
    assert row is not None
    assert landed is (row.status == made.status and row.version == made.version)
