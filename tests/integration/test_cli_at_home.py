"""Who is at home, who is on the way, and who has moved: told from the kernel's list of locks, without taking any."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscheduler.cli import at_home
from pyscheduler.cli.place import Place
from pyscheduler.service.premises import Premises

HOLD = """
import sys
from pathlib import Path
from pyscheduler.service.premises import Premises
Premises(Path(sys.argv[1]), Path(sys.argv[2])).enter()
print("in", flush=True)
sys.stdin.read()
"""


def place(folder: Path, state: str = "state") -> Place:
    return Place(folder / "pysched.yaml", "night", "UTC", folder / state, folder / "logs")


@contextmanager
def tenant(folder: Path, state: str = "state") -> Iterator[int]:
    """Let another process be at home in a state folder; gives its pid."""
    command = [sys.executable, "-c", HOLD, str(folder / state), str(folder / "pysched.yaml")]
    env = os.environ | {"PYTHONPATH": str(Path(at_home.__file__).parents[2])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"in\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()


def test_nobody_is_nobody(tmp_path: Path) -> None:
    """No folder, no file, a lock that nobody holds any more."""
    assert not at_home.on_its_way(place(tmp_path))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "serve.lock").write_text("4711\n")
    (tmp_path / "pysched.yaml").touch()
    assert at_home.scheduler_of(tmp_path / "state") is None
    assert not at_home.on_its_way(place(tmp_path))
    assert at_home.elsewhere(place(tmp_path)) is None


def test_who_has_the_state_folder_is_named(tmp_path: Path) -> None:
    """And asking takes nothing: the lock can be had the instant it is free."""
    (tmp_path / "pysched.yaml").touch()
    with tenant(tmp_path) as pid:
        assert at_home.scheduler_of(tmp_path / "state") == pid
        assert at_home.on_its_way(place(tmp_path))
    assert at_home.scheduler_of(tmp_path / "state") is None
    premises = Premises(tmp_path / "state", tmp_path / "pysched.yaml")
    premises.enter().close()
    premises.leave()


def test_a_start_is_seen_while_it_moves_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks the starter may have taken the folder: it has not gone elsewhere, it has come."""
    (tmp_path / "pysched.yaml").touch()
    with tenant(tmp_path) as pid, at_home.announced(tmp_path / "pysched.yaml"):
        seen = at_home._holder
        monkeypatch.setattr(at_home, "scheduler_of", lambda _folder: None)  # the look before it came
        monkeypatch.setattr(at_home, "_holder", lambda file: pid if seen(file) else None)
        assert at_home.on_its_way(place(tmp_path))
        assert not at_home.on_its_way(place(tmp_path, "other"))


def test_a_start_is_seen_before_there_is_a_folder(tmp_path: Path) -> None:
    """`serve` announces itself on the configuration file; two at once do not disturb each other."""
    config = tmp_path / "pysched.yaml"
    config.touch()
    with at_home.announced(config), at_home.announced(config):
        assert at_home.on_its_way(place(tmp_path))
        with config.open() as handle, pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not at_home.on_its_way(place(tmp_path))
    with at_home.announced(tmp_path / "not-there.yaml"):
        assert not at_home.on_its_way(place(tmp_path))


def test_one_that_has_moved_is_found_by_its_configuration(tmp_path: Path) -> None:
    """The file may have been replaced since, as editors do; another file's scheduler is another's."""
    (tmp_path / "pysched.yaml").touch()
    with tenant(tmp_path, "old") as pid:
        (tmp_path / "new.yaml").touch()
        (tmp_path / "new.yaml").replace(tmp_path / "pysched.yaml")
        assert at_home.elsewhere(place(tmp_path, "new")) == (pid, tmp_path / "old")
        other = tmp_path / "other"
        other.mkdir()
        (other / "pysched.yaml").touch()
        assert at_home.elsewhere(place(other)) is None


def test_a_kernel_that_lists_no_locks_says_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all is as if nobody had asked."""
    (tmp_path / "pysched.yaml").touch()
    monkeypatch.setattr(at_home, "LOCKS", tmp_path / "none")
    with tenant(tmp_path):
        assert not at_home.on_its_way(place(tmp_path))


def test_a_lock_that_one_reading_of_a_long_list_has_missed_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's list comes in pieces, and other locks go between two of them."""
    others = "".join(f"{n}: FLOCK  ADVISORY  WRITE {n} 00:00:{n} 0 EOF\n" for n in range(100, 200))
    with tenant(tmp_path) as pid:
        found = (tmp_path / "state" / "serve.lock").stat()
        device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
        ours = f"99: FLOCK  ADVISORY  WRITE {pid} {device}:{found.st_ino} 0 EOF\n"
        readings = [others, others + ours]
        monkeypatch.setattr(at_home, "_listed", lambda: readings.pop(0))
        assert at_home.scheduler_of(tmp_path / "state") == pid
    assert readings == []
