"""The way into a store: what is refused there, and what a failed look at it does to all that was seen."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from pyscheduler.cluster import Schedule, Scheduler
from pyscheduler.cluster.entering import Watched
from pyscheduler.errors import BadSchedule, StoreUnavailable
from pyscheduler.store.claims.sqlite_door import SqliteDoor
from pyscheduler.store.files import StoreFiles


def test_a_store_on_a_server_needs_a_folder_here() -> None:
    """For the notes of attempts and the journal."""
    with pytest.raises(BadSchedule, match="needs a state_dir"):
        Scheduler(Schedule(), "postgresql+psycopg://db1/pysched")


def test_times_that_do_not_hold_together_are_refused(tmp_path: Path) -> None:
    """In the protocol's own words."""
    with pytest.raises(BadSchedule, match="three heartbeats at least"):
        Scheduler(Schedule(), tmp_path, timing={"lease": 12})
    with pytest.raises(BadSchedule, match="no time called"):
        Scheduler(Schedule(), tmp_path, timing={"leese": 45})


def test_every_failure_of_the_store_is_told(tmp_path: Path) -> None:
    """Whatever was seen of others before it counts no more; what works is not told."""
    told: list[int] = []
    door = Watched(SqliteDoor(tmp_path), lambda: told.append(1))
    assert door.write(lambda _: 7) == 7
    assert (told, door.dialect) == ([], "sqlite")

    def fails(_: object) -> int:
        raise StoreUnavailable("the disk is gone")

    with pytest.raises(StoreUnavailable):
        door.write(fails)
    assert told == [1]
    door.close()


@pytest.mark.parametrize("slots", [0, -1, True, 1.5, "2"])
def test_slots_are_whole_numbers(tmp_path: Path, slots: object) -> None:
    """One or more."""
    with pytest.raises(BadSchedule, match="whole number"):
        Scheduler(Schedule(), tmp_path).tick(max_processes=slots)  # type: ignore[arg-type]


def test_a_stop_that_comes_when_a_pass_is_just_over_is_no_error(tmp_path: Path) -> None:
    """Between the end of its loop and of the call a signal may still come."""
    scheduler = Scheduler(Schedule(), tmp_path)
    scheduler._loop = asyncio.new_event_loop()
    scheduler._loop.close()
    scheduler.stop()


def test_a_folder_that_cannot_be_looked_into_is_a_store_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no end of the heartbeat, or of `work`."""
    door = SqliteDoor(tmp_path, sync=False)
    door.write(lambda _: None)

    class Stale:
        def exists(self) -> bool:
            raise OSError(errno.ESTALE, "Stale file handle", str(tmp_path / "restoring"))

    monkeypatch.setattr(StoreFiles, "restoring", Stale())
    with pytest.raises(StoreUnavailable, match="Stale file handle"):
        door.write(lambda _: None)
    monkeypatch.undo()
    door.write(lambda _: None)
