"""The next firing of a cron expression: ours beside bare cronsim, in the same sitting. DESIGN 10, one JSON line.

The question is the engine's: given an instant, which firing comes next? For cronsim that is an object made from the
text and one step of it. Ten expressions, three zones, instants drawn from a seed; ours and theirs take turns. The cost
sketched first: a lookup of the zone's stretch, one of the day's shape, three bisections, two datetimes.

    PYTHONPATH=src:. python bench/next_firing.py
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from zoneinfo import ZoneInfo

from cronsim import CronSim

from bench.measure import create_fsync_ms, emit
from pyscheduler.model.job import CronSpec, Job, SourceRef
from pyscheduler.timetable import ALL_DAYS, TZDATA_VERSION, Timetable

EXPRESSIONS = (
    "* * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "0 3 * * *",
    "30 2 * * 1-5",
    "0 9-17 * * 1-5",
    "15 3 1 * *",
    "0 0 L * *",
    "0 6 * * MON#1",
    "0 0 1 1 *",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York")
CALLS, ROUNDS = 100, 9
TARGET_US, TARGET_RATIO = 40.0, 2.0


def microseconds(call: Callable[[datetime], object], instants: list[datetime]) -> float:
    begin = perf_counter()
    for instant in instants:
        call(instant)
    return (perf_counter() - begin) / len(instants) * 1e6


def main() -> None:
    draw = random.Random(20270520)
    instants = [
        datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=draw.randrange(3 * 365 * 86400)) for _ in range(CALLS)
    ]
    rows: dict[str, dict[str, float]] = {}
    for text in EXPRESSIONS:
        ours, theirs = [], []
        for name in ZONES:
            job = Job(name="bench", source=SourceRef("bench", 1), schedules=(CronSpec(text=text),), timezone=name)
            table, place = Timetable.of(job, ALL_DAYS), ZoneInfo(name)
            local = [instant.astimezone(place) for instant in instants]
            microseconds(table.next, instants)  # what is worked out once a zone and month shape stays out
            for _ in range(ROUNDS):
                ours.append(microseconds(table.next, instants))
                theirs.append(microseconds(lambda after, text=text: next(CronSim(text, after)), local))  # type: ignore[misc]
        rows[text] = {"ours_us": round(median(ours), 2), "cronsim_us": round(median(theirs), 2)}
    ours_us = median(row["ours_us"] for row in rows.values())
    cronsim_us = median(row["cronsim_us"] for row in rows.values())
    with tempfile.TemporaryDirectory(dir=".") as folder:
        disk = create_fsync_ms(Path(folder))
    emit(
        question="next firing of a cron expression",
        ours_us=round(ours_us, 2),
        cronsim_us=round(cronsim_us, 2),
        ratio=round(ours_us / cronsim_us, 3),
        target_us=TARGET_US,
        target_ratio=TARGET_RATIO,
        met=ours_us <= TARGET_US and ours_us <= TARGET_RATIO * cronsim_us,
        expressions=rows,
        zones=ZONES,
        calls=CALLS * ROUNDS * len(ZONES) * len(EXPRESSIONS),
        tzdata=TZDATA_VERSION,
        load_1m=round(os.getloadavg()[0], 2),
        **disk,
    )


if __name__ == "__main__":
    main()
