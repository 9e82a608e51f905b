"""How many durable runs a second, end to end? Real engine, real store (synchronous=FULL), real minders, `true`, cap 16.

One JSON line a question: triggers awaited one by one, and all at once; with the cost of a create + fsync beside it,
the CPU of scheduler, nursery and minders for each run, and the loop's lateness meanwhile. A run counts only if it
succeeded.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from pathlib import Path

import pynet.loop
from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler import collector
from pyscheduler.config import load_config
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.store import Store

CONFIG = """
scheduler: {{state_dir: {folder}/state, log_dir: {folder}/logs, max_running: 16}}
jobs:
  t: {{command: ["true"], schedule: manual, overlap: allow}}
"""


async def measure(folder: Path, runs: int, *, at_once: bool, url: str | None = None) -> dict[str, object]:
    (folder / "pysched.yaml").write_text(CONFIG.format(folder=folder))
    config = load_config(folder / "pysched.yaml", env={})
    launcher = MinderLauncher()
    store = Store.open(config.settings.state_dir, url=url)
    engine = Engine(config, store, clock=SystemClock(), launcher=launcher)
    await engine.start()
    ended: dict[str, str] = {}
    all_ended = asyncio.Event()

    def seen(run: object) -> None:
        if run.is_final:  # type: ignore[attr-defined]
            ended[run.run_id] = run.state.value  # type: ignore[attr-defined]
            if len(ended) == total:
                all_ended.set()

    total = 50
    engine.subscribe(seen)
    await asyncio.gather(*(engine.trigger("t", actor="bench") for _ in range(50)))
    await all_ended.wait()
    ended.clear()
    all_ended.clear()
    total = runs
    own = resource.getrusage(resource.RUSAGE_SELF)
    commits = engine.writer.commits
    began = time.perf_counter()
    with Lateness() as late:
        if at_once:
            await asyncio.gather(*(engine.trigger("t", actor="bench") for _ in range(runs)))
        else:
            for _ in range(runs):
                await engine.trigger("t", actor="bench")
        await all_ended.wait()
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert set(ended.values()) == {"succeeded"}, ended
    scheduler_cpu = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    await engine.stop()
    await launcher.close()
    return {
        "question": "durable runs a second, " + ("all at once" if at_once else "triggers awaited one by one"),
        "runs": runs,
        "runs_per_s": round(runs / took, 1),
        "commits_per_run": round((engine.writer.commits - commits) / runs, 2),
        "scheduler_cpu_ms_per_run": round(scheduler_cpu / runs * 1000, 3),
        **late.result(),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--folder", type=Path, default=None)
    given = options.parse_args()
    collector.be_seldom()  # as `pysched serve` does
    for at_once in (False, True):
        with tempfile.TemporaryDirectory(dir=given.folder or os.environ.get("BENCH_DIR")) as name:
            folder = Path(name)
            result = pynet.loop.run(measure(folder, given.runs, at_once=at_once))
            emit(target=600 if at_once else 400, **result, **create_fsync_ms(folder))


if __name__ == "__main__":
    main()
