"""1,000 jobs due in the same second, each under its own minder: how late do they start, and how late is the loop?

Start lateness is read off each job's log, which its minder makes in the instant before it starts the job, against the
due instant: a job that told it itself would cost more than all of ours. Every job must succeed. The files that a
finished run leaves in the state folder are counted too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import pynet.loop
from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler import collector
from pyscheduler.config import load_config
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.model.run import Run
from pyscheduler.store import Store

LEAD_S = 4


def config_text(folder: Path, jobs: int, due: datetime) -> str:
    """Return `jobs` jobs due at one instant; each sleeps for three seconds."""
    cron = f"{due.second} {due.minute} {due.hour} {due.day} {due.month} *"
    head = f"scheduler: {{state_dir: {folder}/state, log_dir: {folder}/logs, max_running: {jobs}}}\njobs:\n"
    return head + "".join(f'  j{n}: {{command: [sleep, "3"], schedule: "{cron}"}}\n' for n in range(jobs))


async def measure(folder: Path, jobs: int) -> dict[str, object]:
    clock = SystemClock()
    due = (clock.now() + timedelta(seconds=LEAD_S + jobs / 400)).replace(microsecond=0)
    (folder / "pysched.yaml").write_text(config_text(folder, jobs, due))
    config = load_config(folder / "pysched.yaml", env={})
    launcher = MinderLauncher()
    engine = Engine(config, Store.open(config.settings.state_dir), clock=clock, launcher=launcher)
    await engine.start()
    ended: dict[str, str] = {}
    all_ended = asyncio.Event()

    def look(run: Run) -> None:
        if run.is_final:
            ended[run.run_id] = run.state.value
            if len(ended) == jobs:
                all_ended.set()

    engine.subscribe(look)
    assert clock.now() < due, "the configuration took too long to load"
    with Lateness() as late:
        await all_ended.wait()
    assert set(ended.values()) == {"succeeded"}
    files = len(os.listdir(folder / "state" / "status"))
    await engine.stop()
    await launcher.close()
    began = [path.stat().st_mtime - due.timestamp() for path in (folder / "logs").rglob("*.out")]
    assert len(began) == jobs
    began.sort()
    return {
        "start_late_p50_s": round(began[jobs // 2], 3),
        "start_late_p99_s": round(began[int(jobs * 0.99)], 3),
        "start_late_worst_s": round(began[-1], 3),
        "files_per_finished_run": round(files / jobs, 3),
        **late.result(),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=1000)
    given = options.parse_args()
    collector.be_seldom()  # as `pysched serve` does
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        result = pynet.loop.run(measure(folder, given.jobs))
        emit(
            question="1,000 jobs due in the same second, each under its own minder",
            target="start late p99 <= 2 s, worst <= 3 s; loop late p99 <= 20 ms, worst <= 100 ms; <= 2 files a run",
            **result,
            **create_fsync_ms(folder),
        )
        time.sleep(0.1)


if __name__ == "__main__":
    main()
