"""Group commit: one pen, many tickets."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Barrier, Event, Thread

import pytest

from pypepper.scheduler.store.grouped import MOST, Answer, Grouped
from pypepper.scheduler.store.interfaces import JobRecord


def record(job_id: str) -> JobRecord:
    """Return a record of which only the id matters."""
    return JobRecord(job_id, None, "c", "Scheduled", "born", "born")


def beside(call: Callable[..., bool], *given: object) -> Future[bool]:
    """Call on a thread of its own, which a call that never ends does not keep the tests from ending."""
    told: Future[bool] = Future()

    def run() -> None:
        try:
            told.set_result(call(*given))
        except BaseException as error:
            told.set_exception(error)

    Thread(target=run, daemon=True).start()
    return told


def until(fact: Callable[[], bool]) -> None:
    """Wait for a fact, with a deadline."""
    deadline = time.monotonic() + 30
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Disk:
    """Writes in the order it is asked; the first write waits until it may end."""

    def __init__(self) -> None:
        self.trips: list[list[str]] = []
        self.begun, self.may_end = Event(), Event()

    def write(self, records: list[JobRecord]) -> list[Answer]:
        self.trips.append([one.id for one in records])
        self.begun.set()
        assert self.may_end.wait(30)
        if any(one.id == "interrupt" for one in records):
            raise KeyboardInterrupt
        if any(one.id == "fire" for one in records):
            raise OSError("the disk is on fire")
        return [ValueError("not this one") if one.id == "bad" else one.id != "stale" for one in records]


def test_one_alone_is_written_at_once() -> None:
    """No waiting for company; what the write says is the answer."""
    disk = Disk()
    disk.may_end.set()
    grouped = Grouped(disk.write)
    assert beside(grouped.put, record("a")).result(30) is True
    assert beside(grouped.put, record("stale")).result(30) is False
    assert disk.trips == [["a"], ["stale"]]


def test_what_waits_together_is_written_together_and_answered_apart() -> None:
    """While one trip is under way others gather, and go in the next one; a bad record spoils only its own answer."""
    disk = Disk()
    grouped = Grouped(disk.write)
    together = Barrier(4)

    def put(job_id: str) -> bool:
        together.wait(30)
        return grouped.put(record(job_id))

    first = beside(grouped.put, record("first"))
    assert disk.begun.wait(30)
    others = {name: beside(put, name) for name in ("a", "stale", "bad", "b")}
    until(lambda: len(grouped._waiting) == 4)
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
    told = [beside(grouped.put, record(name)) for name in "ab"]
    assert disk.begun.wait(30)
    assert not any(one.done() for one in told)
    disk.may_end.set()
    assert [one.result(30) for one in told] == [True, True]


def test_trouble_is_everybodys_and_passes() -> None:
    """A write that fails is raised to each of its callers; the next one is made as if nothing had been."""
    disk = Disk()
    grouped = Grouped(disk.write)
    first = beside(grouped.put, record("first"))
    assert disk.begun.wait(30)
    burnt = [beside(grouped.put, record(name)) for name in ("fire", "beside the fire")]
    until(lambda: len(grouped._waiting) == 2)
    disk.may_end.set()
    assert first.result(30) is True
    for one in burnt:
        with pytest.raises(OSError, match="on fire"):
            one.result(30)
    assert beside(grouped.put, record("a")).result(30) is True


def test_an_interrupted_writer_leaves_nobody_waiting() -> None:
    """A ^C in the thread that writes for several is an error for the others, not an endless wait."""
    disk = Disk()
    grouped = Grouped(disk.write)
    first = beside(grouped.put, record("first"))
    assert disk.begun.wait(30)
    others = [beside(grouped.put, record(name)) for name in ("interrupt", "a")]
    until(lambda: len(grouped._waiting) == 2)
    disk.may_end.set()
    assert first.result(30) is True
    errors = {type(error): str(error) for error in (one.exception(30) for one in others)}
    assert errors == {
        KeyboardInterrupt: "",
        RuntimeError: "the thread that was writing this record was interrupted",
    }
    assert disk.trips[0] == ["first"]
    assert sorted(disk.trips[1]) == ["a", "interrupt"]


def test_a_trip_is_bounded() -> None:
    """No more than 256 records keep others from the file, and those left over go in the next trip."""
    disk = Disk()
    grouped = Grouped(disk.write)
    told = [beside(grouped.put, record("first"))]
    assert disk.begun.wait(30)
    told += [beside(grouped.put, record(str(number))) for number in range(MOST + 11)]
    until(lambda: len(grouped._waiting) == MOST + 11)
    disk.may_end.set()
    assert all(one.result(30) for one in told)
    assert [len(trip) for trip in disk.trips] == [1, 256, 11]


def test_a_forked_child_begins_anew() -> None:
    """Neither a pen in another thread's hand nor its tickets are inherited."""
    disk = Disk()
    disk.may_end.set()
    grouped = Grouped(disk.write)
    grouped._pen.acquire()
    grouped._waiting.append(object())  # type: ignore[arg-type]
    grouped.renew()
    assert beside(grouped.put, record("a")).result(30) is True
    assert disk.trips == [["a"]]
