"""What does it cost to remember? Processor time of one batch, and durable saves a second, alone and in company.

    PYTHONPATH=src python -m bench.store_writes [--seconds 3] [--state DIR]

One JSON line a question. The batch is the common one: a run's new state, its attempt, three logbook lines. `limit` is
what the disk itself allows: appending 4 KiB to a file and syncing it, over and over. With --state the saves go to a
copy of an existing store (one that `bench/list_pages.py --state` has made, say), so that its size tells.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.measure import create_fsync_ms, emit
from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import Attempt, LogbookLine, Outcome, Run, RunState, Trigger
from pyscheduler.store import Batch, Store, StoreWriter

NOON = datetime(2029, 1, 1, 12, tzinfo=UTC)
JOBS = 1_000
STATES = (RunState.QUEUED, RunState.RUNNING, RunState.SUCCEEDED)


def batches() -> Iterator[Batch]:
    """Yield the lives of runs of a thousand jobs, batch by batch: queued, running, succeeded."""
    for number in itertools.count():
        job, seq = f"job-{number % JOBS:04d}", number // JOBS + 1
        run = Run(
            run_id=make_run_id(job, NOON.date(), seq),
            job=job,
            run_date=NOON.date(),
            seq=seq,
            scheduled_at=NOON + timedelta(seconds=seq),
            trigger=Trigger.SCHEDULE,
            created_at=NOON,
            updated_at=NOON,
        )
        for state in STATES:
            now = replace(run, state=state, attempt=1)
            yield Batch(runs=(now,), attempts=(attempt_of(now),), lines=tuple(line_of(now, part) for part in range(3)))


def attempt_of(run: Run) -> Attempt:
    logs = f"/var/log/pysched/{run.job}/{run.run_date}/{run.run_id}.1"
    return Attempt(
        run_id=run.run_id,
        attempt=1,
        key=f"{run.seq:032x}",
        started_at=NOON,
        ended_at=NOON if run.is_final else None,
        outcome=Outcome.SUCCEEDED if run.is_final else None,
        boot_id="5e3c5f0e-6a0e-4d8e-9d3a-000000000000",
        pid=4711,
        stdout_path=f"{logs}.out",
        stderr_path=f"{logs}.err",
        status_path=f"/var/lib/pysched/status/{run.run_id}.1.json",
    )


def line_of(run: Run, part: int) -> LogbookLine:
    detail = {"attempt": 1, "outcome": "succeeded", "reason": ""}
    return LogbookLine(
        at=NOON, actor="scheduler", action=f"action_{part}", run_id=run.run_id, job=run.job, detail=detail
    )


def cpu_of_a_batch(store: Store, count: int = 6_000) -> dict[str, float]:
    """Return microseconds of this thread's processor time a batch, without waiting for the disk: median and worst %."""
    took = []
    for batch in itertools.islice(batches(), count):
        began = time.thread_time_ns()
        store.apply(batch)
        took.append((time.thread_time_ns() - began) / 1000)
    took.sort()
    return {
        "median_us": round(took[len(took) // 2], 1),
        "mean_us": round(sum(took) / len(took), 1),
        "p99_us": round(took[len(took) * 99 // 100], 1),
    }


async def saves_a_second(store: Store, waiters: int, seconds: float) -> dict[str, float]:
    """Return how many saves return in a second, with so many callers that each await their own before the next."""
    writer = StoreWriter(store)
    writer.start()
    source, until, waits = batches(), time.monotonic() + seconds, []

    async def caller() -> None:
        while time.monotonic() < until:
            began = time.perf_counter()
            await writer.save(next(source))
            waits.append(time.perf_counter() - began)

    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(waiters)))
    spent, cpu = time.perf_counter() - began, time.process_time() - worked
    commits = writer.commits
    await writer.close()
    waits.sort()
    return {
        "saves_per_s": round(len(waits) / spent, 1),
        "commits_per_s": round(commits / spent, 1),
        "saves_a_commit": round(len(waits) / commits, 1),
        "wait_p50_ms": round(waits[len(waits) // 2] * 1000, 2),
        "wait_p99_ms": round(waits[len(waits) * 99 // 100] * 1000, 2),
        "cpu_us_a_save": round(cpu / len(waits) * 1e6, 1),
    }


def appends_a_second(folder: Path, seconds: float = 1.0) -> float:
    """Return how often the disk takes 4 KiB at the end of a file, synced."""
    descriptor, count = os.open(folder / "append", os.O_CREAT | os.O_WRONLY), 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        os.pwrite(descriptor, b"x" * 4096, count * 4096)
        os.fdatasync(descriptor)
        count += 1
    os.close(descriptor)
    return round(count / (time.perf_counter() - began), 1)


def a_store(folder: Path, name: str, source: Path | None, *, sync: bool) -> Store:
    """Return a new store, or a copy of the given one."""
    state_dir = folder / name
    if source is not None:
        shutil.copytree(source, state_dir)
    return Store.open(state_dir, sync=sync)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--folder", type=Path, help="where to write; another disk, or one in memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder_name:
        folder = Path(folder_name)
        common: dict[str, Any] = {
            "bench": "store_writes",
            "limit_appends_per_s": appends_a_second(folder),
            "load": round(os.getloadavg()[0], 1),
            **create_fsync_ms(folder),
        }
        store = a_store(folder, "cpu", options.state, sync=False)
        emit(**common, what="cpu of a batch", target_us=250, **cpu_of_a_batch(store))
        store.close()
        shutil.rmtree(folder / "cpu")
        for waiters in (1, 16, 200):
            store = a_store(folder, f"saves-{waiters}", options.state, sync=True)
            found = asyncio.run(saves_a_second(store, waiters, options.seconds))
            emit(**common, what=f"durable saves, {waiters} waiting at once", **found)
            store.close()
            shutil.rmtree(folder / f"saves-{waiters}")


if __name__ == "__main__":
    main()
