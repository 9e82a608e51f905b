"""A workflow of three tasks: read a file of measurements, clean it, write what is left.

    python -m pypepper.scheduler.run clean:workflow

The same line is the command of a job in pysched.yaml beside this file.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from pypepper.common.context import Context
from pypepper.scheduler import CallableExecutor, Task, Workflow

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CLEAN_TARGET", HERE / "clean.csv"))

rows: list[dict[str, str]] = []


def read(_task: Task, _context: Context) -> dict[str, int]:
    with (HERE / "measured.csv").open(newline="") as file:
        rows[:] = csv.DictReader(file)
    return {"read": len(rows)}


def clean(_task: Task, _context: Context) -> dict[str, int]:
    before = len(rows)
    rows[:] = [row for row in rows if row["value"].replace(".", "", 1).isdigit()]
    return {"dropped": before - len(rows)}


async def write(_task: Task, _context: Context) -> dict[str, str]:
    with TARGET.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["station", "value"])
        writer.writeheader()
        writer.writerows(rows)
    return {"written": str(TARGET)}


def task(call: Any, **limits: Any) -> Task:
    return Task(
        channel_id="clean",
        dag_id="clean",
        fingerprint=call.__name__,
        name=call.__name__,
        category="example",
        description=call.__name__,
        tags=[],
        executor=CallableExecutor(call),
        **limits,
    )


workflow = Workflow()
workflow.add_tasks([task(read, retry_count=3, retry_delay=1, retry_backoff=2), task(clean), task(write)])
