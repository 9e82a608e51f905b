"""Group commit: one pen, many tickets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from pypepper.scheduler.store.grouped import MOST, Answer, Grouped
from pypepper.scheduler.store.interfaces import JobRecord


def record(job_id: str) -> JobRecord:
    """Return a record of which only the id matters."""
    return JobRecord(job_id, None, "c", "Scheduled", "born", "born")


class Disk:
    """Writes in the order it is asked; the first write waits until it may end."""

    def __init__(self) -> None:
        self.trips: list[list[str]] = []
        self.begun, self.may_end = Event(), Event()

    def write(self, records: list[JobRecord]) -> list[Answer]:
        self.trips.append([one.id for one in records])
        self.begun.set()
        assert self.may_end.wait(30)
        if any(one.id == "fire" for one in records):
            raise OSError("the disk is on fire")
        return [ValueError("not this one") if one.id == "bad" else one.id != "stale" for one in records]


def test_one_alone_is_written_at_once() -> None:
    """No waiting for company; what the write says is the answer."""
    disk = Disk()
    disk.may_end.set()
    grouped = Grouped(disk.write)
    assert grouped.put(record("a")) is True
    assert grouped.put(record("stale")) is False
    assert disk.trips == [["a"], ["stale"]]


def test_what_waits_together_is_written_together_and_answered_apart() -> None:
    """While one trip is under way others gather, and go in the next one; a bad record spoils only its own answer."""
    disk = Disk()
    grouped = Grouped(disk.write)
    together = Barrier(4)

    def put(job_id: str) -> bool:
        together.wait(30)
        return grouped.put(record(job_id))

    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(grouped.put, record("first"))
        assert disk.begun.wait(30)
        others = {name: threads.submit(put, name) for name in ("a", "stale", "bad", "b")}
        while len(grouped._waiting) < 4:
            pass
        assert not first.done()
        disk.may_end.set()
        assert first.result(30) is True
        assert (others["a"].result(30), others["stale"].result(30), others["b"].result(30)) == (True, False, True)
        with pytest.raises(ValueError, match="not this one"):
            others["bad"].result(30)
    assert [len(trip) for trip in disk.trips] == [1, 4]


def test_nobody_hears_before_the_trip_is_over() -> None:
    """An answer given while the write is under way would be a lie after a crash."""
    disk = Disk()
    grouped = Grouped(disk.write)
    with ThreadPoolExecutor(2) as threads:
        told = [threads.submit(grouped.put, record(name)) for name in "ab"]
        assert disk.begun.wait(30)
        assert not any(one.done() for one in told)
        disk.may_end.set()
        assert [one.result(30) for one in told] == [True, True]


def test_trouble_is_everybodys_and_passes() -> None:
    """A write that fails is raised to each of its callers; the next one is made as if nothing had been."""
    disk = Disk()
    disk.may_end.set()
    grouped = Grouped(disk.write)
    with pytest.raises(OSError, match="on fire"):
        grouped.put(record("fire"))
    assert grouped.put(record("a")) is True


def test_a_trip_is_bounded() -> None:
    """No more than MOST records keep others from the file."""
    disk = Disk()
    grouped = Grouped(disk.write)
    with ThreadPoolExecutor(MOST + 12) as threads:
        told = [threads.submit(grouped.put, record(str(number))) for number in range(MOST + 11)]
        assert disk.begun.wait(30)
        while len(grouped._waiting) + len(disk.trips[0]) < MOST + 11:
            pass
        disk.may_end.set()
        assert all(one.result(30) for one in told)
    assert max(map(len, disk.trips)) <= MOST
    assert sum(map(len, disk.trips)) == MOST + 11


def test_a_forked_child_begins_anew() -> None:
    """Neither a pen in another thread's hand nor its tickets are inherited."""
    disk = Disk()
    disk.may_end.set()
    grouped = Grouped(disk.write)
    grouped._pen.acquire()
    grouped._waiting.append(object())  # type: ignore[arg-type]
    grouped.renew()
    assert grouped.put(record("a")) is True
    assert disk.trips == [["a"]]
