"""How many durable runs a second, end to end, on PostgreSQL with one scheduler? As `bench.runs_per_second`, whose
numbers on SQLite belong beside these; the server is of our own, on this machine, and syncs.

    PYTHONPATH=src python -m bench.postgres_runs [--runs 1000] [--folder DIR]

One JSON line a question: triggers awaited one by one, all at once, and what one save costs alone and in company.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pynet.loop
from bench.measure import create_fsync_ms, emit
from bench.runs_per_second import measure
from bench.store_writes import cpu_of_a_batch, saves_a_second
from pyscheduler import collector
from pyscheduler.store import Store
from tests.contract.store_kit import a_schema
from tests.servers.kinds import Place, discard, fresh


def ask(place: Place, folder: Path, runs: int) -> None:
    """Ask all of it of one server."""
    common: dict[str, Any] = {"bench": "postgres_runs", **create_fsync_ms(folder)}
    for at_once in (False, True):
        here = folder / f"runs-{at_once}"
        here.mkdir()
        with a_schema(place) as url:
            emit(**common, **pynet.loop.run(measure(here, runs, at_once=at_once, url=url)))
    with a_schema(place) as url, closing(Store.open(folder / "cpu", url=url, sync=False)) as store:
        emit(**common, what="cpu of a batch", **cpu_of_a_batch(store, 2_000))
    for waiters in (1, 16):
        with a_schema(place) as url, closing(Store.open(folder / f"saves-{waiters}", url=url)) as store:
            found = asyncio.run(saves_a_second(store, waiters, 3.0))
            emit(**common, what=f"durable saves, {waiters} waiting at once", **found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--folder", type=Path, default=None)
    given = options.parse_args()
    collector.be_seldom()  # as `pysched serve` does
    server = fresh("postgres", durable=True)
    try:
        with tempfile.TemporaryDirectory(dir=given.folder or os.environ.get("BENCH_DIR")) as name:
            ask(server.place, Path(name), given.runs)
    finally:
        discard(server)


if __name__ == "__main__":
    main()
