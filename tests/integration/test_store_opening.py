"""What is taken for a store, what for a first start, and what is refused. Field cases FC-056, DESIGN 6 and 7."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pyscheduler.errors import StoreDamaged, StoreForeign, StoreLocked, StoreUnavailable
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, Store, driver, schema
from pyscheduler.store.files import StoreFiles
from tests.contract.store_kit import NOON, STORES, OpenAgain, a_run, opener


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


@pytest.fixture
def closed(open_again: OpenAgain) -> StoreFiles:
    """A store with two hundred runs, closed."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq, reason="x" * 500) for seq in range(1, 201))))
    store.close()
    return StoreFiles(open_again.state_dir)


# --------------------------------------------------------------------------- the first start


def test_a_first_start_makes_files_that_only_we_may_read(open_again: OpenAgain) -> None:
    """Folder 0700, files 0600, whatever the umask says: reasons and logs' names are nobody else's business."""
    before = os.umask(0)
    try:
        store = open_again()
        store.apply(Batch(runs=(a_run(),)))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in open_again.state_dir.iterdir()}
    assert set(modes) == {"pysched.db", "pysched.db-wal", "pysched.db-shm", "store.lock", "generation"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(open_again.state_dir.stat().st_mode) == 0o700


def test_a_first_start_that_was_cut_off_is_begun_again(open_again: OpenAgain) -> None:
    """The database appears whole, by a rename: what an interrupted first start left is no store yet."""
    open_again.state_dir.mkdir()
    (open_again.state_dir / "pysched.db.new").write_bytes(b"half a database")
    (open_again.state_dir / "pysched.db.new-journal").write_bytes(b"and its journal")
    assert open_again().open_runs() == []
    assert not list(open_again.state_dir.glob("*.new*"))


def test_a_closed_store_is_one_file_without_a_log(closed: StoreFiles) -> None:
    """After a polite end the database can be looked at with any tool; the log is empty or gone."""
    assert not closed.log.exists()
    with closing(sqlite3.connect(f"file:{closed.database}?mode=ro", uri=True)) as plain:
        assert plain.execute("SELECT count(*) FROM runs").fetchone() == (200,)
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_path_with_any_character_holds_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`%`, `?`, `#`, spaces and letters of any script are part of a folder's name, not of a URL."""
    with opener(tmp_path / "50% of? #1 ünïcode", STORES[0], monkeypatch) as again:
        again().apply(Batch(engine={"a": "1"}))
        again.close()
        assert again().engine_values() == {"a": "1"}


# --------------------------------------------------------------------------- the lock


def test_a_second_opening_is_refused_and_names_the_holder(open_again: OpenAgain) -> None:
    """One process has the store; the refusal says which."""
    open_again()
    with pytest.raises(StoreLocked, match=rf"pid {os.getpid()}\b"):
        Store.open(open_again.state_dir)


def test_another_process_is_refused_until_the_holder_is_gone(open_again: OpenAgain) -> None:
    """The lock holds between processes, and the kernel lets go of it at the end of the process that had it."""
    script = (
        "import sys; from pathlib import Path; from pyscheduler.store import Store\n"
        "Store.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(open_again.state_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert other.stdin is not None
    assert other.stdout is not None
    with other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLocked, match=rf"pid {other.pid}\b"):
            Store.open(open_again.state_dir)
        other.kill()
    open_again()


def test_a_waiter_gets_the_store_when_the_holder_closes_it(open_again: OpenAgain) -> None:
    """With `wait_s` the lock is waited for; without patience left it is refused as ever."""
    holder = open_again()
    got: list[Store] = []
    waiter = threading.Thread(target=lambda: got.append(Store.open(open_again.state_dir, wait_s=60)))
    waiter.start()
    with pytest.raises(StoreLocked):
        Store.open(open_again.state_dir, wait_s=0.1)
    assert waiter.is_alive()
    holder.close()
    waiter.join(60)
    assert got[0].open_runs() == []
    got[0].close()


def test_a_refused_opening_holds_nothing(closed: StoreFiles, open_again: OpenAgain) -> None:
    """What failed to open has let go of the lock, so that putting things right is enough."""
    whole = closed.database.read_bytes()
    closed.database.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreDamaged):
        open_again()
    closed.database.write_bytes(whole)
    assert len(open_again().open_runs()) == 200


# --------------------------------------------------------------------------- what is no store


def test_a_missing_database_is_no_first_start_where_a_store_once_was(closed: StoreFiles, open_again: OpenAgain) -> None:
    """An empty history would make every firing look missed: FC-056 f."""
    closed.database.unlink()
    with pytest.raises(StoreDamaged, match=r"gone.*restore"):
        open_again()
    assert not closed.database.exists()


@pytest.mark.parametrize("marked", [True, False])
def test_an_empty_database_is_damage(closed: StoreFiles, open_again: OpenAgain, marked: bool) -> None:
    """A file of 0 bytes was a store, or is none of ours; it is not overwritten either way."""
    closed.database.write_bytes(b"")
    if not marked:
        closed.generation.unlink()
    with pytest.raises(StoreDamaged, match="0 bytes"):
        open_again()
    assert closed.database.stat().st_size == 0


@pytest.mark.parametrize("kind", ["header", "page", "cut", "text"])
def test_a_damaged_database_is_refused_and_left_as_it_is(closed: StoreFiles, open_again: OpenAgain, kind: str) -> None:
    """FC-056 a, b: one clear error that names the file and the way out; not a byte is changed."""
    content = bytearray(closed.database.read_bytes())
    if kind == "header":
        content[:200] = b"\0" * 200
    elif kind == "page":
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 4096] = b"\0" * 4096
    elif kind == "cut":
        del content[len(content) // 2 :]
    else:
        content = bytearray(b"This is a text file that somebody saved here.\n" * 200)
    closed.database.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"pysched\.db: .*damaged.*pysched restore"):
        open_again()
    assert closed.database.read_bytes() == content
    assert not closed.log.exists() or closed.log.stat().st_size == 0


def test_another_programs_database_is_refused(open_again: OpenAgain) -> None:
    """A SQLite file without our mark is somebody else's, and stays as it is."""
    open_again.state_dir.mkdir()
    path = StoreFiles(open_again.state_dir).database
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE runs (theirs)")
        other.commit()
    content = path.read_bytes()
    with pytest.raises(StoreForeign, match="another program"):
        open_again()
    assert path.read_bytes() == content


def test_a_newer_releases_store_is_refused_with_both_versions(closed: StoreFiles, open_again: OpenAgain) -> None:
    """FC-056 g: what it has and what we know; the file is not touched."""
    with closing(sqlite3.connect(closed.database)) as plain:
        plain.execute("UPDATE alembic_version SET version_num = '0999'")
        plain.commit()
    with pytest.raises(StoreForeign, match=rf"0999.*{schema.REVISION}"):
        open_again()


def test_a_store_that_does_not_say_its_schema_is_damaged(closed: StoreFiles, open_again: OpenAgain) -> None:
    """Ours by its mark, but without a revision nothing may be done to it."""
    with closing(sqlite3.connect(closed.database)) as plain:
        plain.execute("DELETE FROM alembic_version")
        plain.commit()
    with pytest.raises(StoreDamaged, match="schema"):
        open_again()


def test_a_folder_that_cannot_be_used_is_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be: the operator's to mend, and it may pass."""
    (tmp_path / "file").write_text("")
    with opener(tmp_path / "file", STORES[0], monkeypatch) as again, pytest.raises(StoreUnavailable):
        again()


# --------------------------------------------------------------------------- while it is open


@pytest.mark.parametrize("victim", ["database", "log", "index", "lock"])
@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
def test_files_that_vanish_while_in_use_are_noticed(open_again: OpenAgain, victim: str, how: str) -> None:
    """FC-056 c, h: the save that meets it fails, unknown whether it is kept, and nothing is saved after it.

    Putting the file back is for the next opening to judge.
    """
    store = open_again()
    store.apply(Batch(engine={"a": "1"}))
    path: Path = getattr(StoreFiles(open_again.state_dir), victim)
    aside = path.with_name("aside")
    path.rename(aside)
    if how == "removed":
        aside.unlink()
    elif how == "replaced":
        path.write_bytes(aside.read_bytes())
    with pytest.raises(StoreDamaged, match="moved, removed or replaced") as noticed:
        store.apply(Batch(engine={"a": "2"}))
    assert noticed.value.outcome_unknown
    if how == "renamed":
        aside.rename(path)
    with pytest.raises(StoreDamaged):
        store.apply(Batch(engine={"a": "3"}))


@pytest.mark.parametrize("victim", ["database", "lock"])
def test_an_idle_look_notices_it_too(open_again: OpenAgain, victim: str) -> None:
    """Nothing has to be saved for it: the idle writer's look is enough."""
    store = open_again()
    path: Path = getattr(StoreFiles(open_again.state_dir), victim)
    path.rename(open_again.state_dir / "aside")
    with pytest.raises(StoreDamaged):
        store.tidy()


def test_damage_seen_by_a_read_stops_all_writing_and_leaves_the_file(
    closed: StoreFiles, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file's damage shows when it is read; from then on the file and its log stay as they are."""
    with closing(driver.open_reader(closed.database)) as connection:
        named = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'runs' AND rootpage > 0"
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = [page for (page,) in connection.execute(named)]
    content = bytearray(closed.database.read_bytes())
    for page in pages:
        content[(page - 1) * page_size : page * page_size] = b"\xff" * page_size
    closed.database.write_bytes(content)
    monkeypatch.setattr("pyscheduler.store.migrate.QUICK_CHECK_BYTES", 0)
    store = open_again()
    store.apply(Batch(engine={"a": "1"}))
    with pytest.raises(StoreDamaged):
        store.open_runs()
    with pytest.raises(StoreDamaged):
        store.apply(Batch(engine={"a": "2"}))
    store.close()
    assert closed.database.read_bytes() == content
    assert closed.log.stat().st_size > 0


def test_a_constraint_that_breaks_is_said_to_be_our_bug(open_again: OpenAgain) -> None:
    """A second run for a due instant names the rule that it broke."""
    store = open_again()
    with pytest.raises(Exception, match=r"runs\.job, runs\.scheduled_at.*bug"):
        store.apply(Batch(runs=(a_run(seq=1, scheduled_at=NOON), a_run(seq=2, scheduled_at=NOON))))


def test_quiet_moments_empty_the_log(open_again: OpenAgain) -> None:
    """After `tidy` the log is cut to nothing and all is in the file."""
    store = open_again()
    store.apply(Batch(runs=tuple(a_run(seq=seq, state=RunState.FAILED) for seq in range(1, 100))))
    files = StoreFiles(open_again.state_dir)
    assert files.log.stat().st_size > 0
    store.tidy()
    assert files.log.stat().st_size == 0
    store.apply(Batch(engine={"a": "1"}))
    assert files.log.stat().st_size > 0


AS_NOBODY = """
import os, sys
from pathlib import Path
from pyscheduler.errors import StoreUnavailable
from pyscheduler.store import Store, driver
driver.sqlite()  # loaded while the interpreter's own files may still be read
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    Store.open(Path(sys.argv[1]))
except StoreUnavailable as error:
    print(error)
"""


def test_a_store_that_may_not_be_written_is_out_of_reach(closed: StoreFiles) -> None:
    """FC-056 e: mode 0444 at start; an ordinary user is told what to look at, and nothing is started."""
    with tempfile.TemporaryDirectory() as folder:
        state_dir = Path(folder) / "state"
        shutil.copytree(closed.state_dir, state_dir)
        (state_dir / "pysched.db").chmod(0o444)
        if os.getuid() == 0:
            for path in (Path(folder), state_dir, *state_dir.iterdir()):
                os.chown(path, 65534, 65534)
        said = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(state_dir)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
    assert "pysched.db" in said
    assert "mode" in said


def test_a_first_start_syncs_the_whole_way_to_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may take every name that was not synced: also that of the folder, whoever made it."""
    synced: list[Path] = []
    monkeypatch.setattr("pyscheduler.store.files.sync_folder", synced.append)
    state_dir = tmp_path / "made" / "just now" / "state"
    Store.open(state_dir).close()
    assert {tmp_path, tmp_path / "made", tmp_path / "made" / "just now"} <= set(synced)
    synced.clear()
    Store.open(state_dir).close()
    assert tmp_path not in synced
