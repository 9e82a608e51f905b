"""What the benchmarks share: the loop's lateness, the cost of a create + fsync here, one JSON line."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self


def emit(**facts: object) -> None:
    """Print one JSON line."""
    machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
    print(json.dumps(facts | machine), flush=True)
    sys.stdout.flush()


def create_fsync_ms(folder: Path, count: int = 200) -> dict[str, float]:
    """Return the median and p99 milliseconds of creating a 200-byte file and syncing it, in this folder."""
    took = []
    for n in range(count):
        path = folder / f"probe{n}"
        began = time.perf_counter()
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"x" * 200)
        os.fsync(descriptor)
        os.close(descriptor)
        took.append((time.perf_counter() - began) * 1000)
        path.unlink()
    took.sort()
    return {"create_fsync_ms": round(took[count // 2], 3), "create_fsync_p99_ms": round(took[int(count * 0.99)], 3)}


class Lateness:
    """How late a 10 ms timer of the loop rings, in milliseconds."""

    def __init__(self) -> None:
        self._late: list[float] = []

    def __enter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + 0.01
            await asyncio.sleep(0.01)
            self._late.append((loop.time() - due) * 1000)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()

    def result(self) -> dict[str, float]:
        """Return the 99th percentile and the worst, in milliseconds."""
        late = sorted(self._late) or [0.0]
        return {"loop_late_p99_ms": round(late[int(len(late) * 0.99)], 2), "loop_late_worst_ms": round(late[-1], 2)}
