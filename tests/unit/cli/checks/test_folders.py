"""The folders: who may look in, and how much room is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from pyscheduler.cli.checks import folders
from pyscheduler.cli.checks.finding import Finding, Level


class Usage(NamedTuple):
    total: int
    used: int
    free: int


MIB = 1 << 20


@pytest.mark.parametrize(
    ("mode", "level"),
    [(0o700, Level.OK), (0o750, Level.WARN), (0o755, Level.WARN), (0o770, Level.BAD), (0o777, Level.BAD)],
)
def test_others_may_neither_write_nor_look(tmp_path: Path, mode: int, level: Level) -> None:
    """What others can write they can forge; what they can read is no secret any more."""
    tmp_path.chmod(mode)
    (finding,) = folders.permissions(tmp_path)
    assert finding.level is level
    assert (finding.mend == "") is (level is Level.OK)


def test_a_database_that_others_may_read_is_told(tmp_path: Path) -> None:
    """By name."""
    tmp_path.chmod(0o700)
    for name, mode in (("pysched.db", 0o644), ("pysched.db-wal", 0o600)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    _, finding = folders.permissions(tmp_path)
    assert finding.what == "others may read pysched.db"


def test_a_file_of_the_database_may_go_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite removes the log with the last connection, which may be another command's."""
    tmp_path.chmod(0o700)
    (tmp_path / "pysched.db").touch(0o600)
    gone = tmp_path / "pysched.db-wal"
    monkeypatch.setattr(Path, "glob", lambda folder, _pattern: [folder / "pysched.db", gone])
    (finding,) = folders.permissions(tmp_path)
    assert finding.level is Level.OK


@pytest.mark.parametrize(("free", "level"), [(50 * MIB, Level.BAD), (500 * MIB, Level.WARN), (5000 * MIB, Level.OK)])
def test_room_is_judged_before_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    """A folder that is not there yet is judged by where it will lie."""
    monkeypatch.setattr("shutil.disk_usage", lambda _path: Usage(0, 0, free))
    finding = folders.room("state_dir room", tmp_path / "not" / "there")
    assert finding.level is level
    assert str(tmp_path) in finding.what


def test_a_disk_without_inodes_is_full_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are not all it takes."""
    real = os.statvfs(tmp_path)
    fields = list(real)
    fields[5], fields[7] = 1_000_000, 3
    monkeypatch.setattr("os.statvfs", lambda _path: os.statvfs_result(fields))
    monkeypatch.setattr("shutil.disk_usage", lambda _path: Usage(0, 0, 5000 * MIB))
    finding = folders.room("state_dir room", tmp_path)
    assert finding.level is Level.BAD
    assert "room for 3 more files" in finding.what


def test_files_that_the_store_does_not_know_are_named(tmp_path: Path) -> None:
    """They may be jobs that nobody watches."""
    status = tmp_path / "status"
    status.mkdir()
    (status / "load.2027-05-20.1.1.feedc0de.json.pid").touch()
    (status / "odd.json").touch()
    (status / ".lock-test").touch()
    finding: Finding = folders.strangers(tmp_path, None)
    assert finding.level is Level.WARN
    assert "load.2027-05-20.1.1.feedc0de.json.pid, odd.json" in finding.what
    assert folders.strangers(tmp_path / "empty", None).level is Level.OK


def test_a_state_folder_that_is_not_there_yet_is_fine_and_stays_away(tmp_path: Path) -> None:
    """Looking makes nothing."""
    found = list(folders.folders(tmp_path / "state", tmp_path / "logs"))
    assert found[0] == Finding(
        "state_dir", Level.OK, f"{tmp_path / 'state'} is not there yet: the first start makes it"
    )
    assert list(tmp_path.iterdir()) == []
