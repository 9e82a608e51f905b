"""What does a quiet scheduler with 10,000 daily jobs cost? `pysched serve` in a process of its own, left alone.

Reads the CPU time and the memory of the service (and of the nursery, if there is one) from /proc over a minute in
which nothing is due.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import emit

TICKS = os.sysconf("SC_CLK_TCK")


def config_text(folder: Path, jobs: int) -> str:
    """Return daily jobs, none of which is due within the next hours."""
    hour = (time.gmtime().tm_hour + 12) % 24
    head = f"scheduler: {{state_dir: {folder}/state, log_dir: {folder}/logs}}\njobs:\n"
    return head + "".join(
        f'  job-{n:05d}: {{command: "/opt/batch/run.sh {n}", schedule: "{n % 60} {hour} * * *", tags: [t{n % 7}]}}\n'
        for n in range(jobs)
    )


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> float:
    """Return the private and shared memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the service listens."""
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, "the service has ended"
        time.sleep(0.1)
    raise AssertionError("the service does not listen")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=60)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        (folder / "pysched.yaml").write_text(config_text(folder, given.jobs))
        command = [sys.executable, "-m", "pyscheduler.cli", "serve", str(folder / "pysched.yaml")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            wait_for(folder / "state" / "api.sock", process)
            time.sleep(15)  # the first prune, the collector's last look
            before = cpu_s(process.pid)
            time.sleep(given.seconds)
            used = cpu_s(process.pid) - before
            emit(
                question=f"idle with {given.jobs} daily jobs",
                target="<= 0.5 % of a core, <= 150 MB",
                core_percent=round(used / given.seconds * 100, 3),
                memory_mb=round(memory_mb(process.pid), 1),
                seconds=given.seconds,
            )
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
