"""The disk under the store fails: full, without inodes, read-only, answering with errors. FC-052, FC-056, FC-090.

Disks are filled in a mount namespace of the test's own, on a file system in memory: nothing of it is seen outside.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.store import Batch, Store
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.transaction import transact
from tests.contract.store_kit import STORES, OpenAgain, a_run, opener

IN_A_NAMESPACE = next(
    (
        command
        for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"])
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    ),
    None,
)
needs_a_namespace = pytest.mark.skipif(
    IN_A_NAMESPACE is None, reason="this kernel lets us have no mount namespace, so no disk of our own to fill"
)

BEGIN = """
import os, subprocess, sys
from pathlib import Path
from pyscheduler.errors import StoreError, StoreUnavailable
from pyscheduler.store import Batch, Store
from tests.contract.store_kit import a_run

disk = Path(sys.argv[1])

def mount(options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)

def fill():
    with open(disk / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(65536)):
                pass
        except OSError:
            pass
        try:
            while filler.write(b"0"):
                pass
        except OSError:
            pass

def refused(call):
    try:
        call()
    except StoreUnavailable as error:
        print(error, flush=True)
        return error
    raise AssertionError("it was not refused")
"""


def on_a_disk_of_its_own(tmp_path: Path, name: str, script: str) -> str:
    """Run the script where it may mount what it likes; returns what it printed."""
    assert IN_A_NAMESPACE is not None
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        [*IN_A_NAMESPACE, sys.executable, "-c", BEGIN + script, str(disk)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYSCHED_SQLITE": name},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_a_namespace
@pytest.mark.parametrize("name", STORES)
def test_a_full_disk_refuses_a_save_and_keeps_all_before_it(tmp_path: Path, name: str) -> None:
    """FC-052 a, e: never accepted and then gone; once there is room again it goes on without a restart."""
    said = on_a_disk_of_its_own(
        tmp_path,
        name,
        """
mount("size=4m")
store = Store.open(disk / "state")
saved = 0
fill()
def save_on():
    global saved
    while True:
        store.apply(Batch(runs=(a_run(seq=saved + 1, reason="x" * 3000),)))
        saved += 1
error = refused(save_on)
assert len(store.open_runs()) == saved
refused(lambda: store.apply(Batch(runs=(a_run("other", reason="x" * 3000),))))
os.unlink(disk / "filler")
store.apply(Batch(runs=(a_run("after"),)))
store.close()
Store.check(disk / "state" / "pysched.db")
again = Store.open(disk / "state")
assert len(again.open_runs()) == saved + 1, "the refused ones have come back, or others are gone"
again.close()
""",
    )
    assert said.count("the disk is full; make room") == 2


@needs_a_namespace
@pytest.mark.parametrize("name", STORES)
def test_a_store_on_a_full_disk_does_not_open_until_there_is_room(tmp_path: Path, name: str) -> None:
    """Starting waits: out of reach, not damaged and no first start; with room again everything is there."""
    said = on_a_disk_of_its_own(
        tmp_path,
        name,
        """
mount("size=4m")
fill()
refused(lambda: Store.open(disk / "state"))  # the first start
os.unlink(disk / "filler")
store = Store.open(disk / "state")
store.apply(Batch(runs=tuple(a_run(seq=seq) for seq in range(1, 50))))
store.close()
fill()
refused(lambda: Store.open(disk / "state"))
os.unlink(disk / "filler")
store = Store.open(disk / "state")
assert len(store.open_runs()) == 49
store.close()
""",
    )
    assert said.count("\n") == 2
    assert "damaged" not in said


@needs_a_namespace
@pytest.mark.parametrize("name", STORES)
def test_a_disk_without_inodes_lets_no_store_begin(tmp_path: Path, name: str) -> None:
    """FC-052: no file can be made; the refusal says that the disk is full, and later it goes."""
    said = on_a_disk_of_its_own(
        tmp_path,
        name,
        """
mount("size=4m,nr_inodes=10")
(disk / "state").mkdir()
fillers = []
try:
    while True:
        fillers.append(disk / f"filler{len(fillers)}")
        fillers[-1].touch()
except OSError:
    pass
refused(lambda: Store.open(disk / "state"))
for filler in fillers[:-1]:
    filler.unlink()
Store.open(disk / "state").close()
""",
    )
    assert "disk is full" in said


@needs_a_namespace
@pytest.mark.parametrize("name", STORES)
def test_a_read_only_disk_lets_no_store_open(tmp_path: Path, name: str) -> None:
    """FC-056 d, e: no job starts without a durable record; after a remount everything is there."""
    said = on_a_disk_of_its_own(
        tmp_path,
        name,
        """
mount("size=8m")
store = Store.open(disk / "state")
store.apply(Batch(runs=(a_run(),)))
store.close()
subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
refused(lambda: Store.open(disk / "state"))
subprocess.run(["mount", "-o", "remount,bind,rw", str(disk)], check=True)
store = Store.open(disk / "state")
assert len(store.open_runs()) == 1
store.close()
""",
    )
    assert "Read-only file system" in said


@pytest.mark.parametrize("name", STORES)
def test_a_disk_that_fails_under_a_running_store_is_out_of_reach(tmp_path: Path, name: str) -> None:
    """Writes that the kernel refuses (here by a file size limit) fail the save and lose nothing that was saved."""
    script = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.open(disk / "state")
saved = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
def save_on():
    global saved
    while True:
        store.apply(Batch(runs=(a_run(seq=saved + 1, reason="x" * 3000),)))
        saved += 1
refused(save_on)
assert saved
assert len(store.open_runs()) == saved
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.close()
store = Store.open(disk / "state")
assert saved <= len(store.open_runs()) <= saved + 1
store.close()
Store.check(disk / "state" / "pysched.db")
"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYSCHED_SQLITE": name},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "pysched.db" in done.stdout


# --------------------------------------------------------------------------- did the commit happen?


class Cut(sqlite3.Connection):
    """A connection whose COMMIT reports an error: before it was done, or after."""

    when = ""

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql == "COMMIT" and self.when:
            if self.when == "after":
                super().execute(sql, *args)
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = 10 | (4 << 8)
            raise error
        return super().execute(sql, *args)


@pytest.fixture
def open_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", "stdlib", monkeypatch) as again:
        yield again


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_error_from_commit_itself_is_said_to_be_unknown(open_again: OpenAgain, when: str) -> None:
    """FC-090: neither success nor failure; whoever opens the store again reads which it was, and nothing is half."""
    store = open_again()
    store.close()
    database = StoreFiles(open_again.state_dir).database
    with closing(sqlite3.connect(database, factory=Cut, isolation_level=None)) as connection:
        connection.when = when
        insert: Callable[[Any], None] = lambda on: on.execute("INSERT INTO engine VALUES ('a', '1')")  # noqa: E731
        with pytest.raises(StoreUnavailable) as error:
            transact(connection, insert, database)
        assert error.value.outcome_unknown
        assert not connection.in_transaction
        connection.when = ""
    assert open_again().engine_values() == ({} if when == "before" else {"a": "1"})


def test_an_error_before_the_commit_is_known_to_have_changed_nothing(open_again: OpenAgain) -> None:
    """A refused statement is rolled back: there is nothing to settle."""
    store = open_again()
    with pytest.raises(Exception, match="bug") as error:
        store.apply(Batch(runs=(a_run(seq=1), a_run(seq=2, scheduled_at=a_run(seq=1).scheduled_at))))
    assert not getattr(error.value, "outcome_unknown", True)
    assert isinstance(store, Store)
    assert store.open_runs() == []
