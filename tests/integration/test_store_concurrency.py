"""Many readers, one writer, and other programs: nobody hears "database is locked". Field case FC-054."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, LineQuery, RunQuery, Store, driver
from pyscheduler.store.catalogue import ENGINE_VALUES
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.readers import READERS, Snapshot
from pyscheduler.store.statements import PUT_ENGINE, Statement
from pyscheduler.store.transaction import TRIES, Transaction, transact
from tests.contract.store_kit import DAY, STORES, OpenAgain, a_line, a_run, an_attempt, opener

BATCHES = 400
ENDLESS = Statement("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n", (), {})


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


def test_eight_readers_and_a_writer_never_meet(open_again: OpenAgain) -> None:
    """Pages, counts and details are read while batch after batch is saved and the log emptied; all is there at the end.

    Each snapshot is one instant: a run and the line of its last change are always of the same batch.
    """
    store, done = open_again(), threading.Event()
    run = a_run("watched")
    store.apply(Batch(runs=(run,), lines=(a_line(run, action="0"),)))

    def write() -> None:
        try:
            save_batches()
        finally:
            done.set()

    def save_batches() -> None:
        for number in range(1, BATCHES):
            other = a_run(seq=number, state=RunState.SUCCEEDED, attempt=1)
            store.apply(
                Batch(
                    runs=(replace(run, reason=str(number)), other),
                    attempts=(an_attempt(other, took_s=1),),
                    lines=(a_line(run, action=str(number)), a_line(other)),
                )
            )
            if number % 50 == 0:
                store.tidy()

    def read() -> int:
        count = 0
        while not done.is_set():
            page = store.runs(RunQuery(limit=50, run_date=DAY))
            store.latest_attempts(found.run_id for found in page.items)
            store.counts_by_state(DAY)
            reason, action = store._read(watched)
            assert (reason or "0") == action
            count += 1
        return count

    def watched(snapshot: Snapshot) -> tuple[str, str]:
        reason = Statement("SELECT reason FROM runs WHERE run_id = ?", ("run_id",), {})
        action = Statement("SELECT action FROM events WHERE run_id = ? ORDER BY id DESC", ("run_id",), {})
        return snapshot.value(reason, run_id=run.run_id), snapshot.value(action, run_id=run.run_id)

    with ThreadPoolExecutor(READERS + 1) as pool:
        writing = pool.submit(write)
        reading = [pool.submit(read) for _ in range(READERS)]
        writing.result(100)
        assert all(each.result(100) > 0 for each in reading)
    assert len(store.lines(LineQuery(run_id=run.run_id, limit=1000)).items) == BATCHES
    assert store.counts_by_state(DAY) == {RunState.QUEUED: 1, RunState.SUCCEEDED: BATCHES - 1}


def test_a_reader_that_takes_too_long_is_cut_off_and_lets_the_log_go(
    open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No snapshot outlives its bound; afterwards the log can be emptied and the connection asks on."""
    monkeypatch.setattr("pyscheduler.store.readers.SNAPSHOT_S", 0.05)
    store = open_again()
    store.apply(Batch(runs=(a_run(),)))
    with pytest.raises(StoreUnavailable, match="longer than it may"):
        store._read(lambda snapshot: snapshot.rows(ENDLESS))
    store.apply(Batch(engine={"a": "1"}))
    store.tidy()
    assert StoreFiles(open_again.state_dir).log.stat().st_size == 0
    assert store.engine_values() == {"a": "1"}


def test_a_read_that_was_cut_off_once_is_tried_again(open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first try brought into memory the second has: a cold disk is no error."""
    monkeypatch.setattr("pyscheduler.store.readers.SNAPSHOT_S", 0.05)
    store = open_again()
    tries: list[int] = []

    def slow_at_first(snapshot: Snapshot) -> str:
        tries.append(1)
        if len(tries) == 1:
            snapshot.rows(ENDLESS)
        return "found"

    assert store._read(slow_at_first) == "found"
    assert len(tries) == 2


def test_a_reader_too_many_waits_its_turn_and_not_for_ever(
    open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of connections is bounded, and so is the wait for one."""
    monkeypatch.setattr("pyscheduler.store.readers.PATIENCE_S", 0.2)
    store = open_again()
    all_in, go_on = threading.Barrier(READERS + 1), threading.Event()

    def hold(_: Snapshot) -> None:
        all_in.wait(30)
        assert go_on.wait(30)

    with ThreadPoolExecutor(READERS) as pool:
        held = [pool.submit(store._read, hold) for _ in range(READERS)]
        all_in.wait(30)
        with pytest.raises(StoreUnavailable, match=f"all {READERS} readers"):
            store.open_runs()
        go_on.set()
        assert [each.result(30) for each in held] == [None] * READERS
    assert store.open_runs() == []


@contextmanager
def another_writer(database: Path) -> Iterator[subprocess.Popen[str]]:
    """Hold the database's write lock in another process, as a shell or a copy tool might, until told to let go."""
    script = (
        "import sqlite3, sys\n"
        "other = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "other.execute('BEGIN IMMEDIATE'); print('held', flush=True)\n"
        "sys.stdin.readline(); other.execute('COMMIT'); other.close()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other:
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.stdin.close()


def test_another_programs_write_lock_is_waited_for(open_again: OpenAgain) -> None:
    """A shell that holds the lock for a moment delays a save; it does not fail it."""
    store = open_again()
    with another_writer(StoreFiles(open_again.state_dir).database) as other:
        assert other.stdin is not None
        with ThreadPoolExecutor(1) as pool:
            saving = pool.submit(store.apply, Batch(runs=(a_run(),)))
            assert store.open_runs() == []  # readers are not held up
            assert not saving.done()
            other.stdin.write("let go\n")
            other.stdin.flush()
            saving.result(30)
    assert len(store.open_runs()) == 1


def test_a_lock_that_is_never_let_go_becomes_an_error_and_not_an_endless_wait(
    open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded tries, then out of reach, with nothing written; when the other program ends, saving goes on."""
    monkeypatch.setattr(driver, "BUSY_S", 0.05)
    store = open_again()
    with another_writer(StoreFiles(open_again.state_dir).database):
        with pytest.raises(StoreUnavailable, match="locked") as refused:
            store.apply(Batch(runs=(a_run(),)))
        assert not refused.value.outcome_unknown
        assert store.open_runs() == []
    store.apply(Batch(runs=(a_run(),)))
    assert len(store.open_runs()) == 1


def test_closing_while_others_read_loses_nothing(open_again: OpenAgain) -> None:
    """A reader at work keeps the log from being emptied; the next opening finds everything all the same."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq) for seq in range(1, 100))))
    inside, go_on = threading.Event(), threading.Event()

    def hold(snapshot: Snapshot) -> int:
        inside.set()
        assert go_on.wait(30)
        return int(snapshot.value(Statement("SELECT count(*) FROM runs", (), {})))

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(store._read, hold)
        assert inside.wait(30)
        store.close()
        go_on.set()
        assert reading.result(30) == 99
    again: Store = open_again()
    assert len(again.open_runs()) == 99


class Locked(sqlite3.Connection):
    """A connection on which one statement meets a lock so many times."""

    statement, times = "", 0

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql == self.statement and self.times:
            self.times -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, *args)


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "COMMIT"])
def test_a_locked_transaction_is_tried_again_as_a_whole(tmp_path: Path, statement: str) -> None:
    """Wherever the lock is met, nothing of the first try is left, and the tries are counted."""
    path = tmp_path / "t.db"

    def insert(on: driver.Connection) -> None:
        on.execute("INSERT INTO t VALUES (1)")

    with closing(sqlite3.connect(path, factory=Locked, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.statement = statement
        connection.times = TRIES - 1
        transact(connection, insert, path)
        connection.times = TRIES
        with pytest.raises(StoreUnavailable, match="locked") as refused:
            transact(connection, insert, path)
        assert not refused.value.outcome_unknown
        assert not connection.in_transaction
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_transaction_that_reads_first_may_still_write(open_again: OpenAgain) -> None:
    """FC-054: the write lock is taken at the start, so nobody can commit between our reading and our writing."""
    store = open_again()
    database = StoreFiles(open_again.state_dir).database

    def read_then_write(transaction: Transaction) -> None:
        assert transaction.rows(ENGINE_VALUES) == []
        with closing(driver.open_writer(database, sync=False)) as other:
            other.execute("PRAGMA busy_timeout=0")
            with pytest.raises(driver.sqlite().OperationalError, match="locked"):
                other.execute("INSERT INTO engine VALUES ('theirs', '1')")
        transaction.put(PUT_ENGINE, [("ours", "1")])

    store.write(read_then_write)
    assert store.engine_values() == {"ours": "1"}
