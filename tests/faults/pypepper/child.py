"""A process that takes a saved job and works it off, and may kill itself at a step of its life.

    python child.py KIND SETTINGS JOB LEDGER [KILL]

KIND and SETTINGS (JSON) are the store's. KILL is `put:STATUS:before`, `put:STATUS:after`, `get:N` (before the n-th
read) or `work`; with `hold:STATUS` it prints `holding` before that put, waits for a line, and leaves the killing to
others. It prints `ready`, waits for a line, and prints the job's status, its row's status, and the error if there was
one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from pypepper.scheduler import Job, Worker, configure_job_store, executor_registry, get_job_store, manager
from pypepper.scheduler.executor import Executor
from pypepper.scheduler.store import JobRecord


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(kill: str) -> None:
    """Make the store end this process at the step named."""
    store: Any = get_job_store()
    put, get, reads = store.put, store.get, 0

    def deadly_put(record: JobRecord) -> bool:
        if kill == f"put:{record.status}:before":
            die()
        if kill == f"hold:{record.status}":
            print("holding", flush=True)
            sys.stdin.readline()
        landed: bool = put(record)
        if landed and kill == f"put:{record.status}:after":
            die()
        return landed

    def deadly_get(job_id: str) -> JobRecord | None:
        nonlocal reads
        reads += 1
        if kill == f"get:{reads}":
            die()
        found: JobRecord | None = get(job_id)
        return found

    store.put, store.get = deadly_put, deadly_get


class Ledger(Executor):
    """Notes each piece of work that was begun, durably, with who did it."""

    def __init__(self, path: str, kill: str) -> None:
        self.path = path
        self.kill = kill

    def execute(self, task: Any, context: Any = None) -> str:
        row = get_job_store().list()[0]
        with open(self.path, "a") as file:
            file.write(f"{os.getpid()} {row.status}\n")
            file.flush()
            os.fsync(file.fileno())
        if self.kill == "work":
            die()
        return "worked"


def main(kind: str, settings: str, job_id: str, ledger: str, kill: str = "") -> None:
    configure_job_store(kind, **json.loads(settings))
    executor_registry.register("ledger", Ledger(ledger, kill))
    record = get_job_store().get(job_id)
    assert record is not None
    job = Job.from_record(record)
    print("ready", flush=True)
    sys.stdin.readline()
    arm(kill)
    error = ""
    try:
        job.scheduled()
    except Exception as caught:
        error = type(caught).__name__
    chan = manager.available(job.channel_id)
    chan.request_stop()
    asyncio.run(Worker(chan).run_forever())
    saved = Job.get_saved(job_id)
    print(job.status, saved.status if saved else "none", error or "fine", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
