"""`on_uncertain` and `reclaim_after` of a task: what `tick` makes of them on a store of this host."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pyscheduler.cluster import Schedule, Scheduler, Task
from pyscheduler.errors import BadSchedule
from pyscheduler.minder import lease

NOON = datetime(2027, 5, 20, 12, 0, 30, tzinfo=UTC)


def ran(home: Path, *tasks: Task) -> dict[str, int]:
    """Run a due run of each task, and return the windows that the store has for them, in microseconds."""
    now = [NOON]
    scheduler = Scheduler(Schedule(*tasks), home, now=lambda: now[0])
    scheduler.tick()
    now[0] += timedelta(minutes=1)
    assert scheduler.tick().done == len(tasks)
    with closing(sqlite3.connect(home / "pysched.db")) as store:
        return dict(store.execute("SELECT job, reclaim_us FROM runs").fetchall())


def test_an_attempt_hangs_on_the_word_of_who_started_it(tmp_path: Path) -> None:
    """While it runs; afterwards nothing is left of it but the word itself, which is over by itself."""
    home = tmp_path / "state"
    look = f"readlink {home}/status/ends.*.lease > $0 && cat $(cat $0) >> $0"
    windows = ran(
        home,
        Task("ends", "* * * * *", ["/bin/sh", "-c", look, str(tmp_path / "seen")], on_uncertain="stop"),
        Task("own", "* * * * *", "true", on_uncertain="stop", reclaim_after=timedelta(hours=2)),
        Task("goes_on", "* * * * *", "true"),
    )
    assert windows == {"ends": 50_000_000, "own": 7_200_000_000, "goes_on": 0}
    link, block = (tmp_path / "seen").read_bytes().split(b"\n", 1)
    assert Path(link.decode()).parent == home / lease.FOLDER
    until = lease.parse(block)
    assert until is not None
    assert until < lease.boot_now() + 45
    assert list((home / "status").iterdir()) == []


def test_a_task_says_continue_or_stop() -> None:
    """Nothing else."""
    with pytest.raises(BadSchedule, match="continue or stop"):
        Task("job", "* * * * *", "true", on_uncertain="wait")
