"""What does one attempt cost beside the job's own work, and how much memory has a minder for itself? DESIGN 10.

The launcher alone, without engine and store. Sketched first, in system calls: an order is one file created and two
small messages; a minder opens, locks, reserves and writes; then one posix_spawn; at the end a write, two syncs, a
rename. One JSON line a question, on the disk and in memory (`/dev/shm`), with the cost of a create + fsync beside it:

- reused: `true` again and again under minders that stay, one at a time and sixteen at once;
- fresh: two hundred at the same instant, each under its own minder, all alive until a door opens; the minders' whole
  lives count, from fork to exit.

CPU is user + system of this process, the nursery and the minders; what the jobs used themselves is taken off.

    PYTHONPATH=src:. python bench/attempts.py
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import tempfile
import time
from pathlib import Path

import pynet.loop
from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler.engine.launcher import LaunchSpec, MinderLauncher, status_path
from pyscheduler.engine.ports import AttemptHandle, AttemptResult
from pyscheduler.minder import kernel

TICK = os.sysconf("SC_CLK_TCK")
RUN_ID = "bench.2027-05-20.1"


class Bench:
    """One folder, one launcher, and the CPU seconds spent so far by everybody but the jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launcher = MinderLauncher()
        self.nursery = 0

    def spec(self, *argv: str) -> LaunchSpec:
        key = secrets.token_hex(8)
        return LaunchSpec(
            run_id=RUN_ID,
            attempt=1,
            key=key,
            argv=argv,
            env=dict(os.environ),
            cwd="/",
            stdout_path=self.folder / "logs" / f"{key}.out",
            stderr_path=None,
            status_path=status_path(self.folder / "status", RUN_ID, 1, key),
        )

    async def run(self, *argv: str) -> AttemptResult:
        handle = await self.launcher.launch(self.spec(*argv))
        self._remember_nursery(handle)
        result = await handle.wait()
        assert result.exit_code == 0, result
        return result

    def _remember_nursery(self, handle: AttemptHandle) -> None:
        if not self.nursery and handle.pid is not None and (minder := kernel.stat(handle.pid)) is not None:
            self.nursery = minder.parent

    def minders(self) -> list[int]:
        return [one.pid for one in kernel.processes().values() if one.parent == self.nursery]

    def cpu(self) -> dict[str, float]:
        """Return CPU seconds of scheduler, nursery, and minders. A dead minder's count includes its jobs'."""
        nursery = Path(f"/proc/{self.nursery}/stat").read_text().rpartition(")")[2].split()
        return {
            "scheduler": time.process_time(),
            "nursery": _on_cpu(self.nursery),
            "living minders": sum(_on_cpu(pid) for pid in self.minders()),
            "dead minders": (int(nursery[13]) + int(nursery[14])) / TICK,
        }


def _on_cpu(pid: int) -> float:
    """Return the seconds a process has been on a CPU, to the nanosecond."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _per_attempt(before: dict[str, float], after: dict[str, float], count: int) -> dict[str, float]:
    return {f"{who}_ms": round((after[who] - before[who]) / count * 1000, 3) for who in before}


async def reused(bench: Bench, count: int, at_once: int) -> dict[str, object]:
    """Run `true` so many times under minders that are there already."""
    await asyncio.gather(*(bench.run("/bin/true") for _ in range(at_once)))
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with gate:
            await bench.run("/bin/true")

    before, began = bench.cpu(), time.perf_counter()
    with Lateness() as late:
        await asyncio.gather(*(one() for _ in range(count)))
    took, after = time.perf_counter() - began, bench.cpu()
    parts = _per_attempt(before, after, count)
    parts.pop("dead minders_ms")
    return {
        "question": f"CPU of an attempt under a reused minder, {at_once} at once",
        "attempts": count,
        "attempts_per_s": round(count / took, 1),
        "cpu_ms": round(sum(parts.values()), 3),
        "target_cpu_ms": 2.0,
        **parts,
        **late.result(),
    }


async def fresh(bench: Bench, count: int) -> dict[str, object]:
    """Start so many at once, each waiting at the same door, so that each has a minder of its own."""
    await bench.run("/bin/true")
    door = bench.folder / "door"
    os.mkfifo(door)
    before, began = bench.cpu(), time.perf_counter()
    own = time.process_time()
    handles = await asyncio.gather(
        *(bench.launcher.launch(bench.spec("/bin/sh", "-c", f"read x < {door}; exit 0")) for _ in range(count))
    )
    started, own = time.perf_counter() - began, time.process_time() - own
    while len(bench.minders()) < count:
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)  # every job stands at the door
    private = sorted(_private_kb(handle.pid) for handle in handles if handle.pid is not None)
    results, ending = await _open(door, handles)
    while bench.minders():  # idle minders leave after ten seconds; then their whole lives are counted
        await asyncio.sleep(0.2)
    after = bench.cpu()
    parts = _per_attempt(before, after, count)
    parts.pop("living minders_ms")
    parts["scheduler_ms"] = round((own + ending) / count * 1000, 3)  # without this bench's own looking about
    jobs = sum(result.cpu_s or 0.0 for result in results) / count * 1000
    parts["dead minders_ms"] = round(parts["dead minders_ms"] - jobs, 3)
    return {
        "question": f"CPU and memory of an attempt under a fresh minder, {count} at the same instant",
        "attempts": count,
        "all_started_s": round(started, 3),
        "cpu_ms": round(sum(parts.values()), 3),
        "target_cpu_ms": 3.5,
        **parts,
        "private_kb_median": private[len(private) // 2],
        "private_kb_max": private[-1],
        "target_private_kb": 1229,
    }


async def _open(door: Path, handles: list[AttemptHandle]) -> tuple[list[AttemptResult], float]:
    """Open the door for everybody; return the ends and the CPU seconds that hearing of them took this process."""
    own = time.process_time()
    waiting = asyncio.gather(*(handle.wait() for handle in handles))
    pipe = os.open(door, os.O_RDWR | os.O_NONBLOCK)
    os.write(pipe, b"go\n" * len(handles))
    results: list[AttemptResult] = await waiting
    os.close(pipe)
    assert {result.exit_code for result in results} == {0}
    return results, time.process_time() - own


async def measure(folder: Path, count: int, starters: int) -> None:
    for at_once in (1, 16):
        bench = Bench(folder)
        emit(where=str(folder.parent), **await reused(bench, count, at_once), **create_fsync_ms(folder))
        await bench.launcher.close()
    bench = Bench(folder)
    emit(where=str(folder.parent), **await fresh(bench, starters), **create_fsync_ms(folder))
    await bench.launcher.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--attempts", type=int, default=900)
    options.add_argument("--at-the-same-instant", type=int, default=200)
    options.add_argument("--folder", action="append", help="where to measure; default: the temporary folder, /dev/shm")
    given = options.parse_args()
    for parent in given.folder or [os.environ.get("BENCH_DIR", tempfile.gettempdir()), "/dev/shm"]:
        with tempfile.TemporaryDirectory(dir=parent) as name:
            pynet.loop.run(measure(Path(name), given.attempts, given.at_the_same_instant))


if __name__ == "__main__":
    main()
