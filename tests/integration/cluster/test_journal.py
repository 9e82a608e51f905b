"""Ends that must not be forgotten: what a crash leaves of a journal, and who may replay it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from pyscheduler.cluster.journal import Journal, left_behind, replayable
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.claims import Held, Report

BOOT = "boot-1"


def an_end(number: int, ago: float = 0.0) -> Report:
    return Report(
        run_id=f"job.2027-05-20.{number}",
        token=1,
        outcome=Outcome.FAILED,
        to=RunState.RETRY_WAIT,
        run_reason="exit 3",
        reason="exit 3",
        exit_code=3,
        retry_after_s=60.0,
        ended_ago_s=ago,
    )


def read(path: Path, now: float, boot: str = BOOT) -> list[Report] | None:
    with replayable(path, boot) as journal:
        return None if journal is None else journal.pending(now)


def abandoned(folder: Path, *ends: Report) -> Path:
    """Return the journal of an incarnation that died after writing these ends down."""
    journal = Journal.begin(folder, "inc", BOOT)
    for end in ends:
        journal.note(end, 100.0)
    os.close(journal._fd)
    return journal.path


def test_an_end_is_there_for_whoever_comes_next(tmp_path: Path) -> None:
    """With every field, and with the time since it ended on the boot clock."""
    path = abandoned(tmp_path, an_end(1, ago=2.0), an_end(2))
    assert left_behind(tmp_path) == [path]
    assert read(path, 130.0) == [an_end(1, ago=32.0), an_end(2, ago=30.0)]


def test_after_another_boot_nobody_knows_how_long_ago_it_was(tmp_path: Path) -> None:
    """The boot clock has begun anew: no guess is made."""
    path = abandoned(tmp_path, an_end(1))
    assert read(path, 5.0, boot="boot-2") == [an_end(1)]


def test_a_living_incarnations_journal_is_its_own(tmp_path: Path) -> None:
    """Its lock says that it lives."""
    journal = Journal.begin(tmp_path, "inc", BOOT)
    journal.note(an_end(1), 100.0)
    assert read(journal.path, 100.0) is None
    journal.close()
    assert read(journal.path, 100.0) == [an_end(1)]


def test_what_is_stored_is_not_told_again(tmp_path: Path) -> None:
    """And a journal with nothing left to tell goes."""
    journal = Journal.begin(tmp_path, "inc", BOOT)
    for number in (1, 2):
        journal.note(an_end(number), 100.0)
    journal.settle(Held("job.2027-05-20.1", 1))
    journal.close()
    with replayable(journal.path, BOOT) as found:
        assert found is not None
        assert found.pending(100.0) == [an_end(2)]
        found.settle(Held("job.2027-05-20.2", 1))
    assert left_behind(tmp_path) == []
    assert read(journal.path, 100.0) is None


@pytest.mark.parametrize("cut", [2, 20, 60])
def test_half_a_line_is_no_end(tmp_path: Path, cut: int) -> None:
    """It was acknowledged to nobody; what is written after it counts."""
    path = abandoned(tmp_path, an_end(1), an_end(2))
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    with replayable(path, BOOT) as journal:
        assert journal is not None
        assert journal.pending(100.0) == [an_end(1)]
        journal.note(an_end(3), 100.0)
    assert read(path, 100.0) == [an_end(1), an_end(3)]


def test_what_another_release_wrote_is_left_alone(tmp_path: Path) -> None:
    """Unknown versions and fields, and lines that are none."""
    path = abandoned(tmp_path, an_end(1))
    with path.open("ab") as file:
        file.write(b'{"v":9,"end":{}}\nnonsense\n[]\n')
    assert read(path, 100.0) == [an_end(1)]


def test_a_long_life_leaves_no_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emptied when it is large and the store has everything; never while it has not."""
    monkeypatch.setattr("pyscheduler.cluster.journal.LARGE", 1000)
    journal = Journal.begin(tmp_path, "inc", BOOT)
    for number in range(1, 10):
        journal.note(an_end(number), 100.0)
    large = journal.path.stat().st_size
    assert large > 1000
    journal.settle(*(Held(f"job.2027-05-20.{number}", 1) for number in range(1, 9)))
    assert journal.path.stat().st_size > large
    journal.settle(Held("job.2027-05-20.9", 1))
    assert journal.path.stat().st_size == 0
    journal.note(an_end(10), 100.0)
    os.close(journal._fd)
    assert read(journal.path, 100.0) == [an_end(10)]


def test_one_that_was_taken_for_a_dead_ones_at_its_beginning_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock a file looks like one whose incarnation is dead, and empty ones are removed."""
    flock, looked = fcntl.flock, list[object]()

    def late(descriptor: int, how: int) -> None:
        if not looked:
            looked.append(None)
            looked.extend(read(path, 0.0) for path in left_behind(tmp_path))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    journal = Journal.begin(tmp_path, "inc", BOOT)
    assert looked == [None, []]
    journal.note(an_end(1), 100.0)
    os.close(journal._fd)
    assert [read(path, 100.0) for path in left_behind(tmp_path)] == [[an_end(1)]]


def test_two_that_look_at_once_replay_one_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opened it before the other had removed it finds nothing to tell."""
    path = abandoned(tmp_path)
    flock, first = fcntl.flock, list[bool]()

    def late(descriptor: int, how: int) -> None:
        if not first:
            first.append(True)
            assert read(path, 0.0) == []
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert read(path, 0.0) is None
