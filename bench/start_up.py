"""How long from the start of the process to its first firing, with a million ended runs, 10,000 open and 1,000 jobs?

The store is made once in the given folder; the parsed configuration is cached by the first start, as the service does
it. Each start is a process of its own; the clock is shifted so that the history ended when its folder was made.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.measure import create_fsync_ms, emit
from pyscheduler.model.run import Run

STARTS = 5


class ShiftedClock:
    """The machine's clock, moved to another day."""

    @staticmethod
    def make(to: datetime) -> object:
        from pyscheduler.engine.clock import SystemClock

        class Clock(SystemClock):
            shift = to - SystemClock().now()

            def now(self) -> datetime:
                return super().now() + self.shift

            def call_at(self, when: datetime, callback: object) -> object:  # type: ignore[override]
                return super().call_at(when - self.shift, callback)  # type: ignore[arg-type]

        return Clock()


def config_text(folder: Path) -> str:
    """Return 1,000 jobs that the history knows, and one that fires every second."""
    from bench.history import job_names

    lines = [f"scheduler: {{state_dir: {folder}/state, log_dir: {folder}/logs, max_running: 1}}", "jobs:"]
    for number, name in enumerate(job_names()[1:]):
        lines.append(f'  {name}: {{command: "true", schedule: "{number % 60} {number % 24} * * *"}}')
    lines.append('  job-0000: {command: "true", schedule: "* * * * * *", overlap: skip}')
    return "\n".join(lines) + "\n"


async def first_firing(folder: Path, began: float) -> dict[str, float]:
    """Start an engine; return the seconds since `began` (monotonic) at each step."""
    from bench.history import LAST_DAY
    from pyscheduler.config.cache import load_cached
    from pyscheduler.engine.core import Engine
    from pyscheduler.store import Store
    from pyscheduler.testing import FakeLauncher

    steps = {"imported_s": time.monotonic() - began}
    config = load_cached(folder / "pysched.yaml", folder / "cache", {}, today=LAST_DAY)
    steps["config_s"] = time.monotonic() - began
    age = timedelta(seconds=time.time() - (folder / "pysched.yaml").stat().st_mtime)
    clock = ShiftedClock.make(datetime(LAST_DAY.year, LAST_DAY.month, LAST_DAY.day, 23, 59, tzinfo=UTC) + age)
    engine = Engine(config, Store.open(folder / "state"), clock=clock, launcher=FakeLauncher(clock))  # type: ignore[arg-type]
    fired = asyncio.Event()
    start = clock.now()  # type: ignore[attr-defined]

    def look(run: Run) -> None:
        if run.created_at > start and run.trigger == "schedule":
            fired.set()

    engine.subscribe(look)
    gc.disable()
    await engine.start()
    gc.enable()
    gc.freeze()
    steps["started_s"] = time.monotonic() - began
    await fired.wait()
    steps["first_firing_s"] = time.monotonic() - began
    steps["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps["runs_in_memory"] = len(engine.book)
    await engine.stop()
    return {name: round(value, 3) for name, value in steps.items()}


def start_once(folder: Path) -> dict[str, float]:
    """Start in a process of its own."""
    began = time.monotonic()
    command = [sys.executable, "-m", "bench.start_up", "--folder", str(folder), "--child", repr(began)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path)
    options.add_argument("--runs", type=int, default=1_010_000)
    options.add_argument("--child", type=float)
    given = options.parse_args()
    if given.child is not None:
        print(json.dumps(asyncio.run(first_firing(given.folder, given.child))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name)
        if not (folder / "pysched.yaml").exists():
            from bench.history import build

            folder.mkdir(parents=True, exist_ok=True)
            build(folder / "state", given.runs).close()
            (folder / "pysched.yaml").write_text(config_text(folder))
        start_once(folder)  # fills the cache and the page cache
        starts = sorted((start_once(folder) for _ in range(STARTS)), key=lambda steps: steps["first_firing_s"])
        median = starts[STARTS // 2]
        question = "start with 1,000,000 final runs, 10,000 open, 1,000 jobs"
        emit(question=question, target="first firing <= 3 s", starts=STARTS, **median, **create_fsync_ms(folder))


if __name__ == "__main__":
    main()
