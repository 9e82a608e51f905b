"""The pipeline: jobs a second, schedule and run, with the memory store; and what an idle worker costs. DESIGN 10.

A job has one workflow with one task that returns a number. It is scheduled (INIT, SCHEDULE, send, one row) and run by
one worker (InProgress, the task, Completed, two rows), all in one process. The cost sketched first: three records, four
moves of the machine, two waits that do not wait, and for a plain executor one hop to a thread and back. That hop alone,
`loop.run_in_executor` of the same function, is measured in the same sitting, in turns: it is the limit of the machine.

    PYTHONPATH=src:. python bench/pepper.py
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench.measure import create_fsync_ms, emit
from pypepper.scheduler import CallableExecutor, Job, Task, Worker, Workflow, manager, reset_job_store

JOBS, ROUNDS = 3000, 9
SYNC_TARGET, ASYNC_TARGET, RATIO_TARGET = 8_000, 20_000, 0.6
IDLE_S, IDLE_TARGET_MS = 10.0, 5.0


def plain(_task: Any, _context: Any) -> int:
    return 1


async def awaited(_task: Any, _context: Any) -> int:
    return 1


def build(call: Callable[..., Any], channel: str) -> Job:
    workflow = Workflow()
    workflow.add_task(Task(channel, "bench", "fp", "step", "bench", "", [], CallableExecutor(call)))
    job = Job("bench", channel)
    job.workflows.append(workflow)
    return job


def jobs_per_second(call: Callable[..., Any], channel: str) -> tuple[float, float]:
    """Return jobs a second of wall time, and microseconds of CPU a job."""
    reset_job_store()
    manager.reset()
    jobs = [build(call, channel) for _ in range(JOBS)]
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for job in jobs:
        job.scheduled()
    chan = manager.available(channel)
    chan.request_stop()
    asyncio.run(Worker(chan).run_forever())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert all(job.status == "Completed" and job.version == 3 for job in jobs)
    return JOBS / wall, cpu / JOBS * 1e6


def hops_per_second() -> tuple[float, float]:
    """Return bare trips to the loop's thread pool and back a second, and microseconds of CPU a trip."""

    async def hop() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(JOBS):
            await loop.run_in_executor(None, plain, None, None)
        return time.perf_counter() - wall, time.process_time() - cpu

    wall, cpu = asyncio.run(hop())
    return JOBS / wall, cpu / JOBS * 1e6


def idle_ms() -> float:
    """Return the milliseconds of CPU that a waiting worker takes in IDLE_S seconds."""

    async def wait() -> float:
        chan = manager.new("idle")
        worker = asyncio.create_task(Worker(chan).run_forever())
        await asyncio.sleep(0.1)
        before = time.process_time()
        await asyncio.sleep(IDLE_S)
        spent = time.process_time() - before
        chan.request_stop()
        await worker
        return spent * 1000

    return asyncio.run(wait())


def main() -> None:
    sync, loop, hops = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    for round_number in range(ROUNDS + 1):
        results = [jobs_per_second(plain, "sync"), jobs_per_second(awaited, "async"), hops_per_second()]
        if round_number:  # the first warms up
            for kept, result in zip((sync, loop, hops), results, strict=True):
                kept.append(result)
    rates = [median(rate for rate, _ in rounds) for rounds in (sync, loop, hops)]
    ratio = median(ours / bare for (ours, _), (bare, _) in zip(sync, hops, strict=True))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        disk = create_fsync_ms(Path(folder))
    emit(
        question="pipeline: jobs per second, schedule + run, memory store",
        sync_per_s=round(rates[0]),
        async_per_s=round(rates[1]),
        bare_hops_per_s=round(rates[2]),
        sync_of_bare_hops=round(ratio, 3),
        cpu_us_sync=round(median(cpu for _, cpu in sync), 1),
        cpu_us_async=round(median(cpu for _, cpu in loop), 1),
        cpu_us_hop=round(median(cpu for _, cpu in hops), 1),
        best_sync_per_s=round(max(rate for rate, _ in sync)),
        best_async_per_s=round(max(rate for rate, _ in loop)),
        target_sync=SYNC_TARGET,
        target_async=ASYNC_TARGET,
        target_ratio=RATIO_TARGET,
        met=(rates[0] >= SYNC_TARGET or ratio >= RATIO_TARGET) and rates[1] >= ASYNC_TARGET,
        jobs=JOBS * ROUNDS,
        load_1m=round(os.getloadavg()[0], 2),
        **disk,
    )
    spent = idle_ms()
    emit(
        question="pipeline: CPU of an idle worker in 10 s",
        idle_ms=round(spent, 2),
        target_ms=IDLE_TARGET_MS,
        met=spent <= IDLE_TARGET_MS,
        load_1m=round(os.getloadavg()[0], 2),
        **disk,
    )


if __name__ == "__main__":
    main()
