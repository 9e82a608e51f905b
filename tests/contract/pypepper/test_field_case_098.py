"""FC-098 on every job store: a claim whose owner died is found, taken over by compare-and-set, and its job run.

The pipeline's claim is the row's InProgress at its version. Nothing renews it, nothing compares clocks, and no worker
takes more than it starts: so there is no lock to go stale, only a row that `list` shows and `from_record` rebuilds.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from pypepper.scheduler import CallableExecutor, Job, Worker, Workflow, executor_registry, manager
from pypepper.scheduler.store import IJobStore, set_job_store
from tests.pipes import BOUND_S, fresh, task, work_off

__all__ = ["fresh"]

DEAD = "2020-01-01T00:00:00.000+00:00"
AHEAD = "2099-01-01T00:03:00.000+00:00"


@pytest.fixture
def ran(store: IJobStore) -> list[str]:
    """Use the store of the contract; every job's work is noted here."""
    set_job_store(store)
    noted: list[str] = []
    lock = threading.Lock()

    def work(given: Any, _context: Any) -> None:
        with lock:
            noted.append(given.name)

    executor_registry.register("work", CallableExecutor(work))
    return noted


def saved(name: str, status: str = "Scheduled") -> Job:
    """Return a job that some process has saved in this state."""
    made = Job(category=name, channel_id="c")
    flow = Workflow()
    flow.add_task(task(None, name=name, executor_id="work"))
    made.workflows.append(flow)
    made.restore_lifecycle(status, status)
    assert made.save()
    return made


def take_over(store: IJobStore) -> None:
    """Rebuild and queue whatever is not at an end: what a program does when it starts."""
    for record in store.list("c"):
        if record.status in {"Scheduled", "InProgress"}:
            job = Job.from_record(record)
            try:
                job.scheduled()
            except RuntimeError:
                assert record.status == "InProgress"
    work_off()


@pytest.mark.parametrize("status", ["Scheduled", "InProgress"])
def test_a_dead_owners_job_is_run_once(store: IJobStore, ran: list[str], status: str) -> None:
    """Picked up after its owner died, it runs at once and once; a second look finds nothing to do."""
    saved("one", status)
    take_over(store)
    manager.reset()
    take_over(store)
    assert ran == ["one"]
    assert [record.status for record in store.list()] == ["Completed"]


def test_two_jobs_of_one_name(store: IJobStore, ran: list[str]) -> None:
    """Rows are told apart by id, never by name."""
    saved("same", "InProgress")
    saved("same")
    take_over(store)
    assert ran == ["same", "same"]
    assert [record.status for record in store.list()] == ["Completed"] * 2


@pytest.mark.parametrize("updated", [DEAD, AHEAD])
def test_no_clock_is_compared(store: IJobStore, ran: list[str], updated: str) -> None:
    """A row written minutes ahead, or years ago, is taken over like any other."""
    made = saved("one")
    assert store.put(replace(made.to_record(), status="InProgress", updated=updated))
    take_over(store)
    assert ran == ["one"]


def test_the_claim_is_a_compare_and_set(store: IJobStore, ran: list[str]) -> None:
    """Of two processes that rebuilt the same row one gets it; the other follows and does no work."""
    saved("one", "InProgress")
    (record,) = store.list()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="skipped after enqueue"):
            Job.from_record(record).scheduled()
    work_off()
    assert ran == ["one"]
    assert [record.status for record in store.list()] == ["Completed"]


def test_no_more_is_claimed_than_is_started(store: IJobStore) -> None:
    """Fifty rows and five workers: never more than five are InProgress, the others stay free for other processes."""
    set_job_store(store)
    most, gate, full = 0, threading.Event(), threading.Semaphore(0)

    def work(_task: Any, _context: Any) -> None:
        full.release()
        assert gate.wait(BOUND_S)

    executor_registry.register("work", CallableExecutor(work))
    for n in range(50):
        Job.from_record(saved(f"job {n}").to_record()).scheduled()
    chan = manager.available("c")
    chan.request_stop()

    async def all_five() -> None:
        workers = asyncio.gather(*(Worker(chan).run_forever() for _ in range(5)))
        for _ in range(5):
            await asyncio.to_thread(full.acquire, timeout=BOUND_S)
        nonlocal most
        most = sum(record.status == "InProgress" for record in store.list())
        gate.set()
        await asyncio.wait_for(workers, 3 * BOUND_S)

    asyncio.run(all_five())
    assert most == 5
    assert {record.status for record in store.list()} == {"Completed"}


def test_a_worker_that_is_shut_down_holds_nothing_back(store: IJobStore, ran: list[str]) -> None:
    """Queued but not started when the worker went: still Scheduled in the store, and free at once."""
    queued = saved("one")
    Job.from_record(queued.to_record()).scheduled()

    async def leave() -> None:
        loop = asyncio.create_task(Worker(manager.new("empty")).run_forever())
        await asyncio.sleep(0)
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop

    asyncio.run(leave())
    assert [record.status for record in store.list()] == ["Scheduled"]
    manager.reset()
    take_over(store)
    assert ran == ["one"]


def test_a_driver_error_between_claim_and_run(
    store: IJobStore, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim was written, its reply lost, and Failed could not be saved either: put back, the job runs, once."""
    job = Job.from_record(saved("one").to_record())
    job.scheduled()
    put, troubles = store.put, iter(["lose", "raise"])

    def troubled(record: Any) -> bool:
        trouble = next(troubles, "") if record.status != "Scheduled" else ""
        if trouble == "raise":
            raise ConnectionError
        landed = put(record)
        if trouble == "lose":
            raise ConnectionError
        return landed

    monkeypatch.setattr(store, "put", troubled)
    with pytest.raises(RuntimeError, match="re-enqueued"):
        work_once()
    work_once()
    assert ran == ["one"]
    assert [record.status for record in store.list()] == ["Completed"]


def work_once() -> None:
    asyncio.run(asyncio.wait_for(Worker(manager.available("c")).run_once(), BOUND_S))
