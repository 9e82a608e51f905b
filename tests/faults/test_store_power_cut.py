"""A power cut leaves what was synced, and of the rest whatever the disk pleases. Nothing acknowledged may be missing.

The log is only ever appended to between two emptyings, and synced before a save returns: so a cut leaves at least the
log as long as it was then, and behind that anything: a part, other bytes, sectors in any order. While the log is copied
into the database, any mix of old and new sectors may be in that, and the log is still whole.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, LineQuery, Store, driver
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.sqlite_store import SqliteStore
from tests.contract.store_kit import STORES, OpenAgain, a_line, a_run, an_attempt, opener

SECTOR = 512
BATCHES = 40


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


def numbered(number: int) -> Batch:
    """Return one batch of many rows; the engine value says which was the last."""
    run = a_run(
        seq=number, state=RunState.SUCCEEDED if number % 3 else RunState.QUEUED, reason="x" * (number * 37 % 900)
    )
    return Batch(
        runs=(run,),
        attempts=(an_attempt(run, 1, took_s=1), an_attempt(run, 2, took_s=2)),
        lines=tuple(a_line(run, action=f"{number}-{part}") for part in range(3)),
        engine={"last": str(number)},
    )


def last_whole(state_dir: Path) -> int:
    """Open the store, make sure that it holds whole batches from the first on without a gap, and return the last."""
    store = Store.open(state_dir, sync=False)
    last = int(store.engine_values().get("last", "0"))
    lines = store.lines(LineQuery(limit=1000, newest_first=False)).items
    assert [line.action for line in lines] == [f"{n}-{part}" for n in range(1, last + 1) for part in range(3)]
    runs, _ = store.runs_of_days([("nightly", a_run().run_date)])
    assert runs == [numbered(number).runs[0] for number in range(1, last + 1)]
    assert sum(map(len, store.attempts_of(run.run_id for run in runs).values())) == 2 * last
    store.apply(numbered(last + 1))
    store.close()
    Store.check(StoreFiles(state_dir).database)
    return last


def saved(open_again: OpenAgain) -> tuple[StoreFiles, list[int]]:
    """Save the batches, and return how long the log was as each save returned. The store is still open."""
    store, files, lengths = open_again(), StoreFiles(open_again.state_dir), []
    for number in range(1, BATCHES + 1):
        store.apply(numbered(number))
        lengths.append(files.log.stat().st_size)
    assert lengths == sorted(set(lengths)), "the log was not only appended to"
    return files, lengths


def test_a_save_is_synced_before_it_returns(tmp_path: Path) -> None:
    """The promise of a save is SQLite's `synchronous=FULL`, on the one connection that writes."""
    store = Store.open(tmp_path)
    assert isinstance(store, SqliteStore)
    assert store._writer is not None
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


@pytest.mark.parametrize("tail", ["cut", "other bytes", "zeros", "sectors"])
def test_whatever_becomes_of_what_was_not_synced(open_again: OpenAgain, tmp_path: Path, tail: str) -> None:
    """Every save that had returned is there, whole, and nothing is there by half."""
    files, lengths = saved(open_again)
    log, chance = files.log.read_bytes(), random.Random(5)
    for trial in range(12):
        cut = chance.randrange(len(log) + 1)
        copy = tmp_path / f"cut-{trial}"
        copy.mkdir()
        for path in (files.database, files.generation):
            shutil.copy(path, copy)
        StoreFiles(copy).log.write_bytes(log[:cut] + remains(log[cut:], tail, chance))
        acknowledged = sum(length <= cut for length in lengths)
        assert acknowledged <= last_whole(copy) <= BATCHES


def remains(unsynced: bytes, tail: str, chance: random.Random) -> bytes:
    """Return what the disk made of the rest."""
    if tail == "cut":
        return b""
    if tail == "other bytes":
        return chance.randbytes(len(unsynced))
    if tail == "zeros":
        return bytes(len(unsynced))
    sectors = [unsynced[at : at + SECTOR] for at in range(0, len(unsynced), SECTOR)]
    return b"".join(sector if chance.random() < 0.7 else bytes(len(sector)) for sector in sectors)


def test_a_cut_while_the_log_is_copied_into_the_database(open_again: OpenAgain, tmp_path: Path) -> None:
    """The log stays whole until all of it is in the database and synced: any mix of sectors is made good by it."""
    files, _ = saved(open_again)
    old, log, chance = files.database.read_bytes(), files.log.read_bytes(), random.Random(6)
    after = tmp_path / "after"
    after.mkdir()
    shutil.copy(files.database, after)
    StoreFiles(after).log.write_bytes(log)
    connection = driver.open_writer(StoreFiles(after).database, sync=False)
    assert driver.empty_log(connection)
    connection.close()
    new = StoreFiles(after).database.read_bytes()
    for trial in range(12):
        copy = tmp_path / f"mix-{trial}"
        copy.mkdir()
        shutil.copy(files.generation, copy)
        share = chance.random()
        mixed = bytearray()
        for at in range(0, len(new), SECTOR):
            written = chance.random() < share
            mixed += (new if written else old.ljust(len(new), b"\0"))[at : at + SECTOR]
        StoreFiles(copy).database.write_bytes(mixed)
        StoreFiles(copy).log.write_bytes(log)
        assert last_whole(copy) == BATCHES
