"""How long do 10,000 jobs with 2,000 distinct schedules take to load and check, and how long from the cache?

One JSON line. The text is made from a seed; every tenth job starts a chain of nine that depend on each other, a fifth
has a schedule mapping, all zones and two calendars occur. `peak_mb` is the resident peak of the whole process. The
cost of one create + fsync where the cache lies stands beside it, because that is what writing it rests on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")


def schedules(count: int, rng: random.Random) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        minute, hour = rng.randrange(60), rng.randrange(24)
        kind = rng.randrange(5)
        day = rng.choice(("*", "*", "1", "15", "L", "1-7"))
        week = rng.choice(("*", "*", "mon-fri", "sat", "fri#2"))
        if kind < 3:
            made[f'"{minute} {hour} {day} * {week if day == "*" else "*"}"'] = None
        elif kind == 3:
            made[f'{{at: "{hour:02d}:{minute:02d}", days: [mon, wed], jitter: {rng.randrange(1, 9)}m}}'] = None
        else:
            made[f'{{every: {rng.randrange(5, 59)}m, between: "{hour:02d}:{minute:02d}-23:59"}}'] = None
    return list(made)


def text(jobs: int, distinct: int) -> str:
    rng = random.Random(20270503)
    lines = [
        "calendars:",
        "  bank: {holidays: [2027-05-17, 2027-12-27]}",
        "pools: {database: 20, network: 50}",
        "jobs:",
    ]
    known = schedules(distinct, rng)
    for number in range(jobs):
        lines.append(f"  job-{number:05d}:")
        lines.append(f"    command: /opt/run --step {number} --date {{run_date:%Y%m%d}} > /tmp/{{run_id}}.txt")
        if number % 10 == 0 or number % 10 == 9:
            lines.append(f"    schedule: {known[number % distinct] if number >= distinct else known[number]}")
            lines.append(f"    timezone: {ZONES[number // 10 % 5]}")
        elif number < distinct:
            lines.append(f"    schedule: {known[number]}")
        else:
            lines.append(f"    depends_on: [job-{number - 1:05d}]")
        lines.append(f"    pools: {{database: {1 + number % 3}}}")
        lines.append("    retries: {count: 3, delay: 1m}")
        lines.append(f"    timeout: {1 + number % 8}h")
        lines.append(f"    tags: [nightly, group{number % 40}]")
        lines.append(f"    description: Step {number} of the night")
    return "\n".join(lines) + "\n"


def fsync_ms(folder: Path) -> float:
    times = []
    for number in range(20):
        began = time.perf_counter()
        descriptor = os.open(folder / f"probe{number}", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        os.write(descriptor, b"x")
        os.fsync(descriptor)
        os.close(descriptor)
        times.append(time.perf_counter() - began)
        os.unlink(folder / f"probe{number}")
    return sorted(times)[10] * 1000


def time_cached(path: Path, folder: Path) -> float:
    """The second of two loadings in fresh processes, from the start of the import on: what a restart would see."""
    program = (
        "import datetime, sys, time; began = time.perf_counter()\n"
        "from pathlib import Path; from pyscheduler.config.cache import load_cached\n"
        "config = load_cached(sys.argv[1], Path(sys.argv[2]), {'PATH': ''}, today=datetime.date(2027, 5, 3))\n"
        "print(time.perf_counter() - began, len(config.jobs))"
    )
    told = [subprocess.check_output([sys.executable, "-c", program, path, folder], text=True) for _ in range(2)]
    return round(float(told[1].split()[0]), 3)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=10_000)
    options.add_argument("--distinct", type=int, default=2_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "pysched.yaml"
        path.write_text(text(given.jobs, given.distinct))
        began = time.perf_counter(), time.process_time()
        from pyscheduler.config import load_config

        imported = time.process_time() - began[1]
        began = time.perf_counter(), time.process_time()
        config = load_config(path, env={"PATH": os.defpath}, today=date(2027, 5, 3))
        loaded = time.perf_counter() - began[0], time.process_time() - began[1]
        cached = time_cached(path, folder / "cache")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line: dict[str, object] = {
            "bench": "load_config",
            "jobs": len(config.jobs),
            "distinct_schedules": len({spec for job in config.jobs.values() for spec in job.schedules}),
            "text_mb": round(path.stat().st_size / 1e6, 2),
            "import_cpu_s": round(imported, 3),
            "load_s": round(loaded[0], 3),
            "load_cpu_s": round(loaded[1], 3),
            "peak_mb": round(peak, 1),
            "warnings": len(config.warnings),
            "pending": len(config.pending),
        }
        line["cached_load_s"] = cached
        line["fsync_ms"] = round(fsync_ms(folder), 3)
        line["python"] = sys.version.split()[0]
        print(json.dumps(line))


if __name__ == "__main__":
    main()
