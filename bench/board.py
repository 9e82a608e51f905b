"""How long does the board take with 10,000 jobs and a million runs in the store, and how late is the loop meanwhile?

    python -m bench.board [--jobs 10000] [--runs 1000000] [--rounds 100] [--state DIR]

A real service in this process, on its Unix socket; a client in another process asks for one page after the other and
notes the milliseconds of each answer. The store holds a hundred runs of each job, one a day; the last day's are partly
open. Asked are: today's board for the first time, then again and again, with filters, a far page, single rows, the ids
of a selection, and a run's page. One JSON line for each; the issue's aim: p99 <= 150 ms for a page of 200 rows, worst
first, and P6 for the loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import Attempt, Outcome, Run, RunState, Trigger
from pyscheduler.service import serve
from pyscheduler.store import Batch, Store

PER_BATCH = 5_000
ENDED = [RunState.SUCCEEDED] * 96 + [RunState.FAILED] * 2 + [RunState.SKIPPED, RunState.CANCELLED]
OPEN = [RunState.HELD, RunState.BLOCKED, RunState.WAITING]
CLIENT = """
import http.client, json, socket, sys, time
path, rounds, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
took, size = [], 0
for _ in range(rounds):
    connection = Connection("x")
    began = time.perf_counter()
    connection.request("GET", target, headers={"Accept": "text/html"})
    answer = connection.getresponse()
    size = len(answer.read())
    took.append((time.perf_counter() - began) * 1000)
    connection.close()
print(json.dumps([answer.status, size, took]))
"""


def text(jobs: int) -> str:
    """Return a configuration of so many jobs, each waiting for the one ten before it, none firing by itself."""
    lines = ["scheduler: {state_dir: state, log_dir: logs, retention: 9999d, max_running: 1}", "jobs:"]
    for n in range(jobs):
        needs = f", depends_on: [job-{n - 10:05d}]" if n >= 10 else ""
        tags = f", tags: [team-{n % 40}]"
        lines.append(f'  job-{n:05d}: {{command: "true", schedule: manual{needs}{tags}}}')
    return "\n".join(lines) + "\n"


def history(jobs: int, runs: int, last: date) -> Iterator[tuple[Run, Attempt | None]]:
    """Yield one run a job and day, oldest day first; of the last day every twentieth is still open."""
    chance = random.Random(1)
    days = max(1, runs // jobs)
    for back in reversed(range(days)):
        day = last - timedelta(days=back)
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        for n in range(jobs):
            at = midnight + timedelta(seconds=n % 3600)
            state = chance.choice(OPEN) if back == 0 and n % 20 == 0 else chance.choice(ENDED)
            started = state in (RunState.SUCCEEDED, RunState.FAILED)
            run = Run(
                run_id=make_run_id(f"job-{n:05d}", day, 1),
                job=f"job-{n:05d}",
                run_date=day,
                seq=1,
                scheduled_at=at,
                trigger=Trigger.SCHEDULE,
                created_at=at,
                updated_at=at + timedelta(seconds=30),
                state=state,
                held_from=RunState.WAITING if state is RunState.HELD else None,
                reason="exit 1" if state is RunState.FAILED else "",
                attempt=int(started),
            )
            yield run, _attempt(run, 10 + chance.random() * 20) if started else None


def _attempt(run: Run, took_s: float) -> Attempt:
    good = run.state is RunState.SUCCEEDED
    return Attempt(
        run_id=run.run_id,
        attempt=1,
        key=f"{hash(run.run_id) & 0xFFFFFFFF:032x}",
        started_at=run.scheduled_at,
        ended_at=run.scheduled_at + timedelta(seconds=took_s),
        exit_code=0 if good else 1,
        outcome=Outcome.SUCCEEDED if good else Outcome.FAILED,
        reason=run.reason,
    )


def build(state_dir: Path, jobs: int, runs: int, last: date) -> None:
    """Fill a store; nothing is synced on the way."""
    store = Store.open(state_dir, sync=False)
    rows, attempts = [], []
    for run, attempt in history(jobs, runs, last):
        rows.append(run)
        attempts += [attempt] if attempt is not None else []
        if len(rows) == PER_BATCH:
            store.apply(Batch(runs=tuple(rows), attempts=tuple(attempts)))
            rows, attempts = [], []
    store.apply(Batch(runs=tuple(rows), attempts=tuple(attempts)))
    store.tidy()
    store.close()


def questions(last: date) -> list[tuple[str, str, int]]:
    """Return what is asked, under which address, and how often where it is not `rounds` times (0)."""
    ids = ",".join(make_run_id(f"job-{n:05d}", last, 1) for n in range(0, 2000, 40))
    before = last - timedelta(days=30)
    return [
        ("board, first look", f"/?date={last}", 1),
        ("board", f"/?date={last}", 0),
        ("board, failed", f"/?date={last}&state=failed", 0),
        ("board, text", f"/?date={last}&q=job-0", 0),
        ("board, page 40", f"/?date={last}&page=40", 0),
        ("board of another day, first look", f"/?date={before}", 1),
        ("board of another day", f"/?date={before}", 0),
        ("50 rows anew", f"/board/rows?date={last}&ids={ids}", 0),
        ("1,000 ids", f"/board/ids?date={last}", 0),
        ("a run", f"/runs/{make_run_id('job-00040', last, 1)}", 0),
        ("palette", "/palette?q=job-00", 0),
    ]


async def measure(home: Path, options: argparse.Namespace, last: date) -> None:
    """Serve, ask, and say how long it took."""
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(home / "pysched.yaml", ready=ready, stop=stop))
    await asyncio.wait((serving, asyncio.create_task(ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set(), "the service does not start"
    common = {"bench": "board", "jobs": options.jobs, "runs": options.runs, "load": round(os.getloadavg()[0], 1)}
    for name, target, often in questions(last):
        with Lateness() as lateness:
            arguments = (str(home / "state/api.sock"), str(often or options.rounds), target)
            asking = [sys.executable, "-c", CLIENT, *arguments]
            client = await asyncio.create_subprocess_exec(*asking, stdout=subprocess.PIPE)
            output, _ = await client.communicate()
        status, size, took = json.loads(output)
        took.sort()
        emit(
            **common,
            question=name,
            status=status,
            bytes=size,
            median_ms=round(took[len(took) // 2], 1),
            p99_ms=round(took[min(len(took) - 1, len(took) * 99 // 100)], 1),
            worst_ms=round(took[-1], 1),
            aim_p99_ms=150,
            **lateness.result(),
        )
    emit(**common, question="the disk", **create_fsync_ms(home))
    stop.set()
    await serving


def main() -> None:
    """Build, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--state", type=Path, help="a folder that is kept and used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        home = options.state or Path(passing)
        home.mkdir(parents=True, exist_ok=True)
        os.umask(0o077)
        last = datetime.now(UTC).date()
        if not (home / "state").exists():
            (home / "pysched.yaml").write_text(text(options.jobs))
            build(home / "state", options.jobs, options.runs, last)
        asyncio.run(measure(home, options, last))


if __name__ == "__main__":
    main()
