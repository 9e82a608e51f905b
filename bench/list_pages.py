"""How long does a page of runs take in a store with a million of them, whatever is chosen?

    PYTHONPATH=src python -m bench.list_pages [--runs 1000000] [--state DIR]

Prints one JSON line for each class of filters chosen together (job, state, date, range, trigger, text), with every
variant of each, both orders, first and later pages; then the start's reads, and the worst. `limit` is what the same
hundred rows cost by their primary key in one bare query: nothing can be faster. DESIGN 10: p99 <= 30 ms for each
class.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bench.history import LAST_DAY, build, job_names
from bench.measure import create_fsync_ms, emit
from pyscheduler.model.run import RunState, Trigger
from pyscheduler.store import LineQuery, RunQuery, Store
from pyscheduler.store.driver import open_reader

NOON = datetime(LAST_DAY.year, LAST_DAY.month, LAST_DAY.day, 12, tzinfo=UTC) - timedelta(days=20)
DAY = NOON.date()
NAMES = job_names()
PAGE = 100
SAMPLES = 3

CHOICES: dict[str, list[dict[str, Any]]] = {
    "job": [
        {"job": NAMES[0]},
        {"job": NAMES[50]},
        {"job": NAMES[-1]},
        {"jobs": frozenset(NAMES[::50])},
        {"jobs": frozenset(NAMES[500:])},
        {"jobs": frozenset(NAMES)},
        {"job": "unknown"},
    ],
    "state": [
        {"states": {RunState.SUCCEEDED}},
        {"states": {RunState.FAILED}},
        {"states": {RunState.HELD}},
        {"states": {RunState.FAILED, RunState.RUNNING}},
    ],
    "date": [{"run_date": DAY}, {"run_date": LAST_DAY}],
    "range": [{"since": NOON - timedelta(days=3), "until": NOON}, {"until": NOON - timedelta(days=60)}],
    "trigger": [{"trigger": Trigger.SCHEDULE}, {"trigger": Trigger.MANUAL}, {"trigger": Trigger.BACKFILL}],
    "text": [
        {"text": "job-09", "text_jobs": frozenset(NAMES[900:])},
        {"text": f"{NAMES[0]}.2027-05"},
        {"text": "nothing-has-this"},
    ],
}


def queries(chosen: tuple[str, ...]) -> Iterator[RunQuery]:
    """Yield every variant of one class."""
    for values in itertools.product(*(CHOICES[name] for name in chosen)):
        for newest_first in (True, False):
            merged = {key: value for choice in values for key, value in choice.items()}
            yield RunQuery(**merged, limit=PAGE, newest_first=newest_first)


Took = tuple[float, float]
"""Milliseconds by the clock on the wall, and of the processor."""


def timed(call: Callable[[], Any]) -> tuple[Took, Any]:
    began, worked = time.perf_counter(), time.thread_time()
    found = call()
    return ((time.perf_counter() - began) * 1000, (time.thread_time() - worked) * 1000), found


def measure(store: Store, chosen: tuple[str, ...]) -> dict[str, Any]:
    """Return the figures of one class: each variant's first and following page, several times.

    `cold_worst_ms` is the dearest first call, which makes the SQL that the process keeps from then on.
    """
    cold = max(timed(partial(store.runs, query))[0][0] for query in queries(chosen))
    took: list[Took] = []
    slowest, worst_ms, short, pages = "", 0.0, 0, 0
    for query in queries(chosen):
        for number in range(2):
            for _ in range(SAMPLES):
                spent, page = timed(partial(store.runs, query))
                took.append(spent)
                if spent[1] > worst_ms:
                    worst_ms, slowest = spent[1], _said(query)
            pages += 1
            short += page.next_cursor is not None and len(page.items) < PAGE
            if page.next_cursor is None or number:
                break
            query = replace(query, cursor=page.next_cursor)
    return {
        **figures(took),
        "cold_worst_ms": round(cold, 2),
        "pages": pages,
        "pages_that_end_early": short,
        "slowest": slowest,
    }


def _said(query: RunQuery) -> str:
    words = []
    for name in ("job", "jobs", "states", "run_date", "since", "until", "trigger", "text", "cursor"):
        value = getattr(query, name)
        if value:
            words.append(f"{name}={len(value)} of them" if name == "jobs" else f"{name}={value}")
    return ", ".join(words) + (", newest first" if query.newest_first else ", oldest first")


def figures(took: list[Took]) -> dict[str, float]:
    """Return what a person waits, and beside it the processor's part, which other load on the machine leaves alone."""
    found = {}
    for index, kind in enumerate(("ms", "cpu_ms")):
        ordered = sorted(spent[index] for spent in took)
        found[f"p50_{kind}"] = round(ordered[len(ordered) // 2], 2)
        found[f"p99_{kind}"] = round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 2)
        found[f"worst_{kind}"] = round(ordered[-1], 2)
    return found


def bare_limit_ms(state_dir: Path) -> float:
    """Return the median cost of a hundred rows by primary key, read with nothing but the driver."""
    bare = open_reader(state_dir / "pysched.db")  # the store's own driver: two in one process would drop file locks
    ids = [row[0] for row in bare.execute("SELECT run_id FROM runs ORDER BY scheduled_at DESC LIMIT 100")]
    sql = f"SELECT * FROM runs WHERE run_id IN ({','.join('?' * len(ids))})"
    took = [timed(lambda: bare.execute(sql, ids).fetchall())[0][0] for _ in range(50)]
    bare.close()
    return round(sorted(took)[25], 3)


def start_reads(store: Store) -> dict[str, Callable[[], Any]]:
    """Return what an engine asks at its start, and the rest of what people ask."""
    since = LAST_DAY - timedelta(days=7)
    return {
        "open runs": store.open_runs,
        "100,000 ended runs": lambda: list(store.final_runs_since(since - timedelta(days=30), 100_000)),
        "memory window of 7 days": lambda: store.memory_window(since, 100_000),
        "latest run of each job and date, 30 days": lambda: list(store.latest_index(LAST_DAY - timedelta(days=30))),
        "numbers taken, 7 days": lambda: store.max_seqs(since),
        "jobs with runs": store.jobs_with_runs,
        "attempts of the open runs": lambda: store.latest_attempts(run.run_id for run in store.open_runs()),
        "durations of 1,000 jobs": lambda: store.recent_durations_for(NAMES),
        "counts of a date": lambda: store.counts_by_state(DAY),
        "logbook page": lambda: store.lines(LineQuery()),
        "logbook page of one job": lambda: store.lines(LineQuery(job=NAMES[3])),
        "logbook page of a person": lambda: store.lines(LineQuery(actor="ada")),
        "logbook page of a rare action": lambda: store.lines(LineQuery(action="reload")),
        "500 prunable runs": lambda: store.final_runs_before(LAST_DAY - timedelta(days=90), 500),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--state", type=Path, help="a folder that is kept and used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        state_dir = options.state or Path(passing) / "state"
        built = not (state_dir / "pysched.db").exists()
        (build_ms, _), store = timed(
            lambda: build(state_dir, options.runs) if built else Store.open(state_dir, sync=False)
        )
        common = {
            "bench": "list_pages",
            "runs": options.runs,
            "limit_ms": bare_limit_ms(state_dir),
            "load": round(os.getloadavg()[0], 1),
            **create_fsync_ms(Path(passing)),
        }
        size = (state_dir / "pysched.db").stat().st_size
        emit(**common, what="build", seconds=round(build_ms / 1000, 1), bytes=size, new=built)
        for what, call in start_reads(store).items():
            took = [timed(call)[0] for _ in range(SAMPLES)]
            emit(**common, what=what, **figures(took))
        worst: dict[str, float] = defaultdict(float)
        for size_of_class in range(len(CHOICES) + 1):
            for chosen in itertools.combinations(CHOICES, size_of_class):
                found = measure(store, chosen)
                emit(**common, what="page", chosen="+".join(chosen) or "nothing", **found)
                for name in ("p99_ms", "worst_ms", "p99_cpu_ms", "worst_cpu_ms"):
                    worst[name] = max(worst[name], found[name])
        emit(**common, what="worst class", target_p99_ms=30, **worst)
        store.close()


if __name__ == "__main__":
    main()
