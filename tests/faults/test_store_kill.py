"""Killed with −9 at any instant, a store has every batch that was acknowledged, and none by half (P1, P3).

A child saves numbered batches through the writer, several at once, and says each number when its save has returned. It
is killed after some of them; the next child goes on from what it finds. The numbers and the moments come from a seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyscheduler.store import Store
from pyscheduler.store.files import StoreFiles
from tests.contract.store_kit import DAY, STORES

CHILD = """
import asyncio, itertools, sys
from pathlib import Path
from pyscheduler.store import Store, StoreWriter
from tests.faults.test_store_power_cut import numbered

async def main() -> None:
    store = Store.open(Path(sys.argv[1]))
    writer = StoreWriter(store)
    writer.start()
    numbers = itertools.count(int(store.engine_values().get("last", "0")) + 1)

    async def save() -> None:
        while True:
            number = next(numbers)
            await writer.save(numbered(number))
            print(number, flush=True)

    await asyncio.gather(*(save() for _ in range(5)))

asyncio.run(main())
"""
ROUNDS = 8


@pytest.mark.parametrize("name", STORES)
def test_a_killed_store_has_all_that_was_acknowledged(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight kills in a row: after each, everything said is there, in order, whole, and saving goes on."""
    monkeypatch.setenv("PYSCHED_SQLITE", name)
    chance, said = random.Random(f"kill {name}"), 0
    for _ in range(ROUNDS):
        said = max(said, killed_after(chance.randrange(1, 60), tmp_path))
        last = last_batch(tmp_path)
        assert last >= said, f"batch {said} was acknowledged, and {last} is the last that is there"
        said = last
    Store.check(StoreFiles(tmp_path).database)


def killed_after(count: int, state_dir: Path) -> int:
    """Let a child acknowledge so many batches and kill it; returns the highest number it said."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(state_dir)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert child.stdout is not None
    with child:
        said = [int(child.stdout.readline()) for _ in range(count)]
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    return max(said + [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")])


def last_batch(state_dir: Path) -> int:
    """Return the last batch, having looked that each before it is there and whole."""
    store = Store.open(state_dir, sync=False)
    last = int(store.engine_values()["last"])
    runs, _ = store.runs_of_days([("nightly", DAY)])
    assert [run.seq for run in runs] == list(range(1, last + 1))
    attempts = store.attempts_of(run.run_id for run in runs)
    assert [len(attempts[run.run_id]) for run in runs] == [2] * last
    store.close()
    return last
