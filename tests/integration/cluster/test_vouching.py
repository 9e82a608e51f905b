"""The file in which an incarnation says how long its word holds, where its folder is not to be had for a while."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pyscheduler.cluster.vouching import LeaseFile
from pyscheduler.minder import lease
from pyscheduler.store.claims import Timing

UNTIL_S = 1000.0


def a_word(state_dir: Path) -> LeaseFile:
    """Return the word of one incarnation."""
    return LeaseFile(state_dir, "5eed", Timing())


def test_a_folder_that_was_removed_is_made_anew(tmp_path: Path) -> None:
    """One word may be lost with it, not all that come later: else each attempt of this node ended at its start."""
    word = a_word(tmp_path)
    word.say(UNTIL_S)
    shutil.rmtree(word.path.parent)
    word.say(UNTIL_S + 1)
    word.say(UNTIL_S + 2)
    assert lease.read(os.fspath(word.path)) == UNTIL_S + 2


def test_what_stands_in_its_way_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not at every heartbeat; and when it is gone the word is written."""
    folder = tmp_path / lease.FOLDER
    folder.write_text("somebody's\n")
    word = a_word(tmp_path)
    for _ in range(3):
        word.say(UNTIL_S)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    folder.unlink()
    word.say(UNTIL_S)
    assert lease.read(os.fspath(word.path)) == UNTIL_S
