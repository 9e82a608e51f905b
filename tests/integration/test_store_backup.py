"""Copies of a store: made while it works, whole or not there, and put back without losing what was. DESIGN 5, 7."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Self

import pytest

from pyscheduler.errors import StoreDamaged, StoreError, StoreForeign, StoreLocked, StoreUnavailable
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, LineQuery, RunQuery, Store
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.generation import OLDER
from tests.contract.store_kit import STORES, OpenAgain, a_line, a_run, opener


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copies" / "store.backup"


@pytest.fixture(autouse=True)
def _folder(copy: Path) -> None:
    copy.parent.mkdir()


class Busy:
    """Saves numbered batches on its own thread until told to stop: run n, its line and the number n, all or nothing."""

    def __init__(self, store: Store) -> None:
        self.saved = 0
        self._store, self._stop = store, threading.Event()
        self._thread = threading.Thread(target=self._save)
        self.reached = threading.Condition()

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for(300)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def wait_for(self, number: int) -> None:
        with self.reached:
            assert self.reached.wait_for(lambda: self.saved >= number, 60)

    def _save(self) -> None:
        while not self._stop.is_set():
            number = self.saved + 1
            run = a_run(seq=number, reason="x" * 500)
            with suppress(StoreUnavailable):  # one test closes the store under it
                self._store.apply(Batch(runs=(run,), lines=(a_line(run),), engine={"saved": str(number)}))
            with self.reached:
                self.saved = number
                self.reached.notify_all()


def numbers_in(store: Store) -> tuple[list[int], int, int]:
    """Return the runs' numbers, how many lines there are, and the number saved last."""
    lines, query = 0, LineQuery(limit=1000)
    while True:
        page = store.lines(query)
        lines += len(page.items)
        if page.next_cursor is None:
            break
        query = LineQuery(limit=1000, cursor=page.next_cursor)
    return [run.seq for run in store.open_runs()], lines, int(store.engine_values()["saved"])


# --------------------------------------------------------------------------- backup


def test_a_backup_of_a_busy_store_is_the_store_at_one_instant(
    open_again: OpenAgain, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No batch is in it by half, none that was saved before it began is missing, and the writer went on meanwhile."""
    monkeypatch.setattr("pyscheduler.store.backup.PAGES_AT_ONCE", 32)  # many steps, with commits between them
    store = open_again()
    with Busy(store) as busy:
        before = busy.saved
        store.backup(copy)
        after = busy.saved
    assert after > before, "nothing was saved while the copy was made"
    with closing(store):
        Store.restore(copy, tmp_path / "elsewhere")
    again = Store.open(tmp_path / "elsewhere", sync=False)
    runs, lines, last = numbers_in(again)
    again.close()
    assert runs == list(range(1, last + 1))
    assert lines == last
    assert before <= last <= after + 1


def test_a_backup_is_one_file_that_only_we_may_read(open_again: OpenAgain, copy: Path) -> None:
    """It needs no log beside it: it can be read from a medium that cannot be written, by any SQLite."""
    store = open_again()
    store.apply(Batch(runs=(a_run(),)))
    store.backup(copy)
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert plain.execute("SELECT run_id FROM runs").fetchall() == [(a_run().run_id,)]


def test_a_backup_replaces_an_older_one_at_the_very_end(
    open_again: OpenAgain, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the new copy is whole and on disk the old one stays; what was begun is cleared away."""
    store = open_again()
    store.apply(Batch(engine={"a": "1"}))
    store.backup(copy)
    old = copy.read_bytes()
    store.apply(Batch(engine={"a": "2"}))
    with monkeypatch.context() as broken:
        broken.setattr("pyscheduler.store.backup.sync_file", _full_disk)
        with pytest.raises(StoreUnavailable, match="disk is full"):
            store.backup(copy)
    assert copy.read_bytes() == old
    assert list(copy.parent.iterdir()) == [copy]
    store.backup(copy)
    with closing(sqlite3.connect(copy)) as plain:
        assert plain.execute("SELECT value FROM engine WHERE key = 'a'").fetchone() == ("2",)


def _full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_backup_overwrites_nothing_but_a_backup(open_again: OpenAgain, copy: Path) -> None:
    """Neither a text, nor another program's database, nor the store itself."""
    store = open_again()
    copy.write_text("my thesis\n" * 100)
    with pytest.raises(StoreDamaged):
        store.backup(copy)
    assert copy.read_text() == "my thesis\n" * 100
    other = copy.with_name("other.db")
    with closing(sqlite3.connect(other)) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
        theirs.commit()
    with pytest.raises(StoreForeign):
        store.backup(other)
    with pytest.raises(StoreError, match="store itself"):
        store.backup(StoreFiles(open_again.state_dir).database)
    store.apply(Batch(runs=(a_run(),)))


def test_a_damaged_store_gives_no_backup(open_again: OpenAgain, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of damage would be found out on the day it is needed; it is found out now."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq, reason="x" * 500) for seq in range(1, 200))))
    store.close()
    database = StoreFiles(open_again.state_dir).database
    content = bytearray(database.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\0" * 4096
    database.write_bytes(content)
    monkeypatch.setattr("pyscheduler.store.migrate.QUICK_CHECK_BYTES", 0)
    with pytest.raises(StoreDamaged):
        open_again().backup(copy)
    assert not list(copy.parent.iterdir())


def test_a_store_that_is_closed_ends_its_backup(
    open_again: OpenAgain, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing does not wait for a long copy: the copy fails and leaves nothing."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq, reason="x" * 2000) for seq in range(1, 200))))
    monkeypatch.setattr("pyscheduler.store.backup.PAGES_AT_ONCE", 1)
    monkeypatch.setattr("pyscheduler.store.backup.time.sleep", lambda _: store.close())
    with pytest.raises(StoreUnavailable, match="closed"):
        store.backup(copy)
    assert not list(copy.parent.iterdir())
    assert len(open_again().open_runs()) == 199


# --------------------------------------------------------------------------- check


def test_a_check_reads_all_of_a_copy(open_again: OpenAgain, copy: Path) -> None:
    """A whole one passes; a missing row of an index, a cut, a text or no file at all does not."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq, reason="x" * 500) for seq in range(1, 200))))
    store.backup(copy)
    Store.check(copy)
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreDamaged):
        Store.check(copy)
    copy.write_bytes(whole)
    with closing(sqlite3.connect(copy)) as plain:
        plain.execute("PRAGMA writable_schema=ON")
        plain.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'runs_due_once'")
        plain.commit()
    with pytest.raises(StoreDamaged):
        Store.check(copy)
    copy.unlink()
    with pytest.raises(StoreError, match="no such file"):
        Store.check(copy)


# --------------------------------------------------------------------------- restore


def saved_and_gone_on(open_again: OpenAgain, copy: Path) -> StoreFiles:
    """Make a store in its second generation, a backup of it, and something saved after that; closed."""
    store = open_again()
    store.raise_generation()
    store.apply(Batch(runs=(a_run("early"),)))
    store.backup(copy)
    store.apply(Batch(runs=(a_run("late"),)))
    store.close()
    return StoreFiles(open_again.state_dir)


def test_a_restored_store_knows_that_it_is_older_than_its_folder(open_again: OpenAgain, copy: Path) -> None:
    """Nothing missed may start by itself until an operator has decided, whatever crashes in between. DESIGN 5."""
    files = saved_and_gone_on(open_again, copy)
    aside = Store.restore(copy, files.state_dir)
    store = open_again()
    assert [run.job for run in store.open_runs()] == ["early"]
    assert store.raise_generation().older
    store.close()  # the engine crashed before it had looked at the answer
    store = open_again()
    assert store.raise_generation().older
    store.apply(Batch(engine={OLDER: None}))  # the operator has decided
    assert not store.raise_generation().older
    assert aside is not None
    with closing(sqlite3.connect(aside)) as plain:
        assert plain.execute("SELECT count(*) FROM runs").fetchone() == (2,)


def test_an_old_copy_put_in_place_by_hand_is_found_out(open_again: OpenAgain, copy: Path) -> None:
    """Whoever copies the file back without `restore` is found out by the number, if an engine has started since."""
    files = saved_and_gone_on(open_again, copy)
    store = open_again()
    assert not store.raise_generation().older
    store.close()
    files.database.write_bytes(copy.read_bytes())
    assert open_again().raise_generation().older


@pytest.mark.parametrize("text", ["", "x", "-1", "٣", "99999999999999999999"])
def test_a_generation_that_cannot_be_read_counts_as_newer(open_again: OpenAgain, text: str) -> None:
    """A file cut by a full disk proves that a store was here, and nothing about this one."""
    open_again().close()
    StoreFiles(open_again.state_dir).generation.write_text(text)
    assert open_again().raise_generation().older


def test_a_live_store_is_not_overwritten(open_again: OpenAgain, copy: Path) -> None:
    """While a process has the store open, restoring is refused and nothing is touched."""
    store = open_again()
    store.apply(Batch(runs=(a_run(),)))
    store.backup(copy)
    with pytest.raises(StoreLocked, match=rf"pid {os.getpid()}\b"):
        Store.restore(copy, open_again.state_dir)
    assert len(store.open_runs()) == 1
    store.apply(Batch(engine={"a": "1"}))


def test_a_broken_copy_is_not_restored(open_again: OpenAgain, copy: Path) -> None:
    """It is checked first: the store at hand is better than half of another."""
    files = saved_and_gone_on(open_again, copy)
    content = bytearray(copy.read_bytes())
    content[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    copy.write_bytes(content)
    with pytest.raises(StoreDamaged):
        Store.restore(copy, files.state_dir)
    assert len(open_again().open_runs()) == 2


def test_a_store_is_not_restored_from_itself(open_again: OpenAgain, copy: Path) -> None:
    """The file would be moved aside while it is read."""
    files = saved_and_gone_on(open_again, copy)
    with pytest.raises(StoreError, match="store itself"):
        Store.restore(files.database, files.state_dir)
    assert len(open_again().open_runs()) == 2


def test_a_damaged_store_is_replaced_with_its_log_kept_beside_it(open_again: OpenAgain, copy: Path) -> None:
    """What is moved aside belongs together, so that somebody may still look into it; each time under a new name."""
    files = saved_and_gone_on(open_again, copy)
    for number in (1, 2):
        files.database.write_bytes(b"damage %d" % number)
        files.log.write_bytes(b"its log %d" % number)
        aside = Store.restore(copy, files.state_dir)
        assert aside == files.state_dir / f"pysched.db.before-restore-{number}"
        assert aside.read_bytes() == b"damage %d" % number
        assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"its log %d" % number
        store = open_again()
        assert [run.job for run in store.open_runs()] == ["early"]
        store.close()


def test_a_backup_can_be_put_on_a_new_machine(open_again: OpenAgain, copy: Path, tmp_path: Path) -> None:
    """An empty folder becomes the store, and it too knows that jobs may have run since."""
    saved_and_gone_on(open_again, copy)
    assert Store.restore(copy, tmp_path / "new" / "machine") is None
    store = Store.open(tmp_path / "new" / "machine", sync=False)
    assert store.runs(RunQuery(states={RunState.QUEUED})).items[0].job == "early"
    assert store.raise_generation().older
    store.close()


def killed_before_its_log_was_copied(open_again: OpenAgain, copy: Path) -> StoreFiles:
    """The same, but as a kill leaves it: all that was saved is in the log, and the database knows nothing of it."""
    store, files = open_again(), StoreFiles(open_again.state_dir)
    store.raise_generation()
    store.apply(Batch(runs=(a_run("early"),)))
    store.backup(copy)
    store.apply(Batch(runs=(a_run("late"),)))
    left = {path: path.read_bytes() for path in (files.database, files.log)}
    store.close()
    for path, content in left.items():
        path.write_bytes(content)
    return files


class Crash(BaseException):
    """The machine stops here."""


STEPS = 23
"""Calls that change a name in the folder, in one restore."""


@pytest.mark.parametrize("step", range(STEPS + 1))
def test_a_restore_that_is_cut_off_is_ended_by_running_it_again(
    open_again: OpenAgain, copy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: int
) -> None:
    """Killed before any step, the store is the old one or refuses to open; after running it again it is the copy."""
    files = killed_before_its_log_was_copied(open_again, copy)
    with monkeypatch.context() as machine:
        crash_before(step, machine, tmp_path)
        with pytest.raises(Crash) if step < STEPS else nullcontext():
            Store.restore(copy, files.state_dir)
    try:
        store = open_again()
    except StoreDamaged:
        pass  # it says so, and nothing was lost
    else:
        found = {run.job for run in store.open_runs()}
        assert found in ({"early", "late"}, {"early"})
        assert store.raise_generation().older == (found == {"early"})
        store.close()
    Store.restore(copy, files.state_dir)
    store = open_again()
    assert [run.job for run in store.open_runs()] == ["early"]
    assert store.raise_generation().older
    asides = list(files.state_dir.glob("pysched.db.before-restore-?"))
    assert any(len_of_history(aside) == 2 for aside in asides), "the old history is gone"


def crash_before(step: int, machine: pytest.MonkeyPatch, folder: Path) -> None:
    """Count every call of this thread that changes a name in the folder, and stop before the chosen one."""
    left, ours = [step], threading.get_ident()

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if threading.get_ident() == ours and str(args[0]).startswith(str(folder)):
                if left[0] == 0:
                    raise Crash
                left[0] -= 1
            return real(*args, **kwargs)

        return call

    for name in ("replace", "unlink", "open"):
        machine.setattr(os, name, counted(getattr(os, name)))
    machine.setattr(Path, "unlink", counted(Path.unlink))


def len_of_history(database: Path) -> int:
    with closing(sqlite3.connect(database)) as plain:
        return int(plain.execute("SELECT count(*) FROM runs").fetchone()[0])
