"""Looking at a store from outside: beside whoever has it open, and changing nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pyscheduler.errors import StoreDamaged, StoreError, StoreForeign
from pyscheduler.model.run import Trigger
from pyscheduler.store import Batch, Peek, Store
from tests.builders import a_run


def test_there_is_no_look_at_a_store_that_is_not_there(tmp_path: Path) -> None:
    """And looking does not make one: an empty history would be a lie."""
    assert Peek.open(tmp_path) is None
    assert Peek.open(tmp_path / "nowhere") is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_saved_is_seen_while_the_store_is_open(tmp_path: Path) -> None:
    """The lock is the writer's affair; a reader needs none."""
    store = Store.open(tmp_path, sync=False)
    try:
        store.apply(Batch(runs=(a_run(),)))
        peek = Peek.open(tmp_path)
        assert peek is not None
        with peek:
            assert peek.get_run("load.2027-05-20.1") == a_run()
            store.apply(Batch(runs=(a_run(seq=2, trigger=Trigger.MANUAL),)))
            assert peek.max_seq("load", a_run().run_date) == 2
            peek.check()
    finally:
        store.close()


def test_a_store_is_seen_while_nobody_has_it_open_and_opens_afterwards(tmp_path: Path) -> None:
    """`pysched why` while the scheduler is down, and then its start."""
    store = Store.open(tmp_path, sync=False)
    store.apply(Batch(runs=(a_run(),)))
    store.close()
    peek = Peek.open(tmp_path)
    assert peek is not None
    with peek:
        assert [run.run_id for run in peek.open_runs()] == ["load.2027-05-20.1"]
    again = Store.open(tmp_path, sync=False)
    assert again.get_run("load.2027-05-20.1") == a_run()
    again.close()


def test_a_backup_holds_what_was_saved_before_it(tmp_path: Path) -> None:
    """One consistent file, whole, that can be restored; the writer goes on."""
    home, copy, other = tmp_path / "state", tmp_path / "copy.db", tmp_path / "other"
    store = Store.open(home, sync=False)
    try:
        store.apply(Batch(runs=(a_run(),)))
        peek = Peek.open(home)
        assert peek is not None
        with peek:
            peek.backup(copy)
            store.apply(Batch(runs=(a_run(seq=2, trigger=Trigger.MANUAL),)))
            peek.backup(copy)  # an earlier backup of that name is replaced
    finally:
        store.close()
    Store.check(copy)
    assert not copy.with_name("copy.db.part").exists()
    assert copy.stat().st_mode & 0o077 == 0
    Store.restore(copy, other)
    restored = Store.open(other, sync=False)
    assert restored.max_seq("load", a_run().run_date) == 2
    restored.close()


def test_a_backup_overwrites_nothing_but_a_backup(tmp_path: Path) -> None:
    """Not somebody's file, and least of all the store itself."""
    store = Store.open(tmp_path, sync=False)
    store.close()
    letter = tmp_path / "letter.txt"
    letter.write_text("dear all")
    peek = Peek.open(tmp_path)
    assert peek is not None
    with peek:
        with pytest.raises(StoreError, match="the store itself"):
            peek.backup(tmp_path / "pysched.db")
        with pytest.raises(StoreError):
            peek.backup(letter)
    assert letter.read_text() == "dear all"


def test_what_is_no_store_of_ours_is_not_looked_into(tmp_path: Path) -> None:
    """Another program's database, and a damaged one, are told apart and told."""
    with sqlite3.connect(tmp_path / "pysched.db") as foreign:
        foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    with pytest.raises(StoreForeign):
        Peek.open(tmp_path)
    (tmp_path / "pysched.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreDamaged):
        Peek.open(tmp_path)


def test_a_broken_page_is_found(tmp_path: Path) -> None:
    """`pysched doctor` reads every page."""
    store = Store.open(tmp_path, sync=False)
    store.apply(Batch(runs=tuple(a_run(seq=seq, trigger=Trigger.MANUAL) for seq in range(1, 500))))
    store.close()
    file = tmp_path / "pysched.db"
    data = bytearray(file.read_bytes())
    data[-3 * 4096 : -2 * 4096] = b"\xff" * 4096
    file.write_bytes(data)
    with pytest.raises(StoreDamaged), Peek.open(tmp_path) or pytest.fail("there is a store") as peek:
        peek.check()
