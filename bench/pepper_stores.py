"""How many puts of a record a second does each job store take from one process? Target: 2,000 (SQLite, PostgreSQL).

    PYTHONPATH=src python -m bench.pepper_stores [--seconds 3] [--kinds sqlite postgres mysql mongodb]

One JSON line a store: a job's life (insert, then two updates) over and over, from one thread and from THREADS, every
put durable (SQLite syncs each commit, the servers run with their syncs on). Beside it, in the same sitting, what the
machine allows: overwriting 4 KiB and syncing them, and the bare driver making the same kind of upsert one by one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.measure import emit
from pypepper.scheduler.store import IJobStore, InMemoryJobStore, JobRecord
from tests.contract.pypepper.store_kit import opened
from tests.servers.kinds import Place, discard, fresh

THREADS = 8
LIFE = ("Scheduled", "InProgress", "Completed")
RECORD = JobRecord(
    "", "bench", "demo-channel", "", "2031-04-05T06:07:08.123+00:00", "2031-04-05T06:07:08.123+00:00", 1,
    payload={"workflows": [{"tasks": [{"id": "a" * 36, "name": "step-1", "executor_id": "work"}]}]},
)  # fmt: skip


def lives(store: IJobStore, thread: int, deadline: float) -> int:
    """Put the lives of jobs until the deadline; return how many puts that were."""
    puts = 0
    for number in itertools.count():
        for version, status in enumerate(LIFE):
            if time.perf_counter() > deadline:
                return puts
            assert store.put(replace(RECORD, id=f"{thread}-{number}", status=status, version=max(version, 1)))
            puts += 1
    raise AssertionError


def per_second(count: Callable[[float], int], seconds: float) -> float:
    """Return how many a second, after a warm-up that is not counted."""
    count(time.perf_counter() + 0.3)
    began = time.perf_counter()
    done = count(began + seconds)
    return round(done / (time.perf_counter() - began))


def alone(store: IJobStore, deadline: float) -> int:
    store.clear()
    return lives(store, 0, deadline)


def together(store: IJobStore, deadline: float) -> int:
    store.clear()
    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(lambda thread: lives(store, thread, deadline), range(THREADS)))


def syncs(folder: Path, deadline: float) -> int:
    """Overwrite 4 KiB of a file and sync them, over and over."""
    descriptor, count = os.open(folder / "probe", os.O_CREAT | os.O_RDWR), 0
    os.pwrite(descriptor, b"x" * 4096 * 64, 0)
    while time.perf_counter() < deadline:
        os.pwrite(descriptor, b"y" * 4096, count % 64 * 4096)
        os.fdatasync(descriptor)
        count += 1
    os.close(descriptor)
    return count


UPSERT = "INSERT INTO bare VALUES ({0}, {0}) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE bare.v <> excluded.v"


def bare_sqlite(folder: Path, seconds: float) -> float:
    from pysqlite3 import dbapi2

    connection = dbapi2.connect(str(folder / "bare.db"), isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE bare (id PRIMARY KEY, v)",
    ):
        connection.execute(statement)
    return per_second(lambda deadline: _upserts(connection, UPSERT.format("?"), deadline), seconds)


def bare_postgres(place: Place, seconds: float) -> float:
    import psycopg

    settings: dict[str, Any] = {"host": place.host, "port": place.port, "user": place.username}
    with psycopg.connect(**settings, password=place.password, dbname=place.db, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (id TEXT PRIMARY KEY, v TEXT)")
        return per_second(lambda deadline: _upserts(connection, UPSERT.format("%s"), deadline), seconds)


def _upserts(connection: Any, statement: str, deadline: float) -> int:
    for number in itertools.count():
        if time.perf_counter() > deadline:
            return number
        connection.execute(statement, (f"job-{number // 3}", f"{number} " + "x" * 300))
    raise AssertionError


def ask(kind: str, settings: dict[str, Any], seconds: float, **limits: float) -> None:
    """Measure one store and print its line."""
    store = InMemoryJobStore() if kind == "memory" else opened(kind, settings)
    one = per_second(lambda deadline: alone(store, deadline), seconds)
    many = per_second(lambda deadline: together(store, deadline), seconds)
    store.close()
    emit(bench="pepper_stores", store=kind, puts_per_s=one, puts_per_s_threads=many, threads=THREADS, **limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--kinds", nargs="+", default=["memory", "sqlite", "postgres", "mysql", "mongodb"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in given.kinds:
            disk = {"disk_syncs_per_s": per_second(lambda deadline: syncs(folder, deadline), 1)}
            if kind in {"memory", "sqlite"}:
                bare = {"bare_driver_upserts_per_s": bare_sqlite(folder, given.seconds)} if kind == "sqlite" else {}
                ask(kind, {"db": str(folder / "jobs.db")}, given.seconds, **disk, **bare)
                continue
            server = fresh(kind, durable=True)
            try:
                bare = (
                    {"bare_driver_upserts_per_s": bare_postgres(server.place, given.seconds)}
                    if kind == "postgres"
                    else {}
                )
                ask(kind, server.place.discrete(), given.seconds, **disk, **bare)
            finally:
                discard(server)


if __name__ == "__main__":
    main()
