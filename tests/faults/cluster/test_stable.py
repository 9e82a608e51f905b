"""Schedulers are started by the driver, heard of when they end, and none is left behind."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cluster.points import FOLDER
from tests.faults.cluster.stable import Life, Stable, descendants, end_all, of_folder, stable

CONFIG = """
scheduler: {state_dir: state, log_dir: logs, listen: none}
jobs:
  load: {command: "sleep 100", schedule: "* * * * * *"}
"""


@pytest.fixture(scope="module")
def herd() -> Iterator[Stable]:
    with stable() as made:
        yield made


def start(herd: Stable, folder: Path, *argv: str) -> Life:
    name = f"{folder.name}.{argv[0]}"
    return herd.start(name, argv, env={FOLDER: str(folder)}, log=folder / "said", cwd=folder)


def test_a_command_runs_and_its_end_is_told(herd: Stable, tmp_path: Path) -> None:
    """What it says is in its log, and its code is the command's."""
    good, bad = start(herd, tmp_path, "version"), start(herd, tmp_path, "nonsense")
    assert good.ended.wait(60)
    assert bad.ended.wait(60)
    assert (good.code, bad.code) == (0, 2)
    assert "pysched" in (tmp_path / "said").read_text()


def test_a_scheduler_has_a_session_of_its_own_and_can_be_killed(herd: Stable, tmp_path: Path) -> None:
    """With its nursery, its minders and its jobs: all are found, and all are ended."""
    (tmp_path / "pysched.yaml").write_text(CONFIG)
    life = start(herd, tmp_path, "serve")
    while not any("sleep" in line for line in lines(tmp_path)):
        assert life.lives, (tmp_path / "said").read_text()
    assert descendants(life.pid)
    life.signal(signal.SIGKILL)
    assert life.ended.wait(60)
    assert life.code == -signal.SIGKILL
    end_all(tmp_path)
    assert of_folder(tmp_path) == []


def lines(folder: Path) -> list[str]:
    """Return the command lines of a folder's processes; `ps` without a number would list those of other tests."""
    pids = [str(pid) for pid in of_folder(folder)]
    if not pids:
        return []
    return subprocess.run(["ps", "-o", "args=", *pids], capture_output=True, text=True, check=False).stdout.splitlines()
