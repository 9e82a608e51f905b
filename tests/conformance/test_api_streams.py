"""Streams: what changes reaches who watches, in order and without gaps; logs as they grow. Spec: jobs.md 13.6."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import DRIVER, Served, served
from tests.streaming import Stream, Told, streamed


def lines_of(told: list[Told]) -> list[str]:
    """Return the lines since the last reset."""
    found: list[str] = []
    for event in told:
        found = [] if event.kind == "reset" else found + event.data if event.kind == "lines" else found
    return found


def followed(stream: Stream) -> list[Told]:
    """Return everything up to the end."""
    return list(stream)


def test_a_change_is_told_within_a_second(service: Served) -> None:
    """Both of the run and of its attempt, from the commit on."""
    with streamed(service, "/events") as stream:
        assert stream.response.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        run = service.trigger("quick")
        told = stream.until("run", run_id=run, state="succeeded")
    states = [each.data["state"] for each in told if each.kind == "run" and each.data["run_id"] == run]
    assert set(states) <= {"queued", "running", "succeeded"}
    assert {"run_id": run, "attempt": 1, "ended": True} in [each.data for each in told if each.kind == "attempt"]
    numbers = [int(each.id.partition("-")[2]) for each in told]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_who_comes_back_misses_nothing(service: Served) -> None:
    """By `Last-Event-ID`, which wins over `after`; a foreign id is one reset with the newest id."""
    with streamed(service, "/events?ping=1") as stream:
        next(iter(stream))
        seen = stream.last_id
    run = service.trigger("quick")
    service.until_state(run, "succeeded")
    with streamed(service, "/events?after=00000000-1", {"Last-Event-ID": seen}) as stream:
        told = stream.until("run", run_id=run, state="succeeded")
    assert told[0].id == f"{seen.partition('-')[0]}-{int(seen.partition('-')[2]) + 1}"
    with streamed(service, "/events?after=00000000-1") as stream:
        first = next(iter(stream))
    assert (first.kind, first.data, first.id.partition("-")[0]) == ("reset", {}, seen.partition("-")[0])


def test_a_reader_may_ask_for_one_job_only(service: Served) -> None:
    """And hears of no other."""
    with streamed(service, "/events?job=merged") as stream:
        service.until_state(service.trigger("quick"), "succeeded")
        run = service.trigger("merged")
        told = stream.until("run", run_id=run, state="succeeded")
    assert {each.data["run_id"] for each in told} == {run}


def test_a_log_from_its_last_lines_to_its_end(service: Served) -> None:
    """An ended one is told whole, with what follows its last newline; streams of a log are apart."""
    run = service.trigger("talks")
    service.until_state(run, "succeeded")
    with streamed(service, f"/events/log/{run}") as stream:
        told = followed(stream)
    assert (lines_of(told), told[-1][1:]) == (["one", "two", "three"], ("end", {}))
    with streamed(service, f"/events/log/{run}?stream=stderr&attempt=1") as stream:
        assert lines_of(followed(stream)) == ["oops"]
    assert service.ask("GET", f"/events/log/{run}?attempt=2").status == 404
    assert service.ask("GET", "/events/log/talks.2020-01-01.1").status == 404


GROWING = """
scheduler: {state_dir: state, log_dir: logs}
jobs:
  steps:
    command: "for n in 1 2 3; do while [ ! -e go-$n ]; do sleep 0.02; done; echo line $n; done; printf last"
    schedule: manual
  big: {command: "seq 1 3000000", schedule: manual}
  cut: {command: "seq 1 1000; while [ ! -e go ]; do sleep 0.02; done", schedule: manual}
  silent: {command: "while [ ! -e go ]; do sleep 0.02; done", schedule: manual}
"""


PATIENT = f"""
from pyscheduler.service import house, listener
house.REQUESTS_END_S = listener.REQUESTS_END_S = 60
{DRIVER}"""
"""A service that gives requests a minute to end, where ours gives five seconds."""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, GROWING, driver=PATIENT) as found:
        yield found.start()


def test_a_log_as_it_grows(busy: Served) -> None:
    """Two readers, one late: each sees every line once, in order."""
    run = busy.trigger("steps")
    busy.until_state(run, "running")
    with streamed(busy, f"/events/log/{run}") as first:
        (busy.home / "go-1").touch()
        told = first.until_lines(1)
        with streamed(busy, f"/events/log/{run}") as second:
            late = second.until_lines(1)
            (busy.home / "go-2").touch()
            told += first.until_lines(1)
            (busy.home / "go-3").touch()
            assert lines_of(late + followed(second)) == ["line 1", "line 2", "line 3", "last"]
        assert lines_of(told + followed(first)) == ["line 1", "line 2", "line 3", "last"]


def test_a_huge_log_does_not_have_to_be_caught_up_with(busy: Served) -> None:
    """FC-046: what cannot be followed is passed over, said by a reset, and the end is the log's end."""
    run = busy.trigger("big")
    busy.until_state(run, "running", "succeeded")
    with streamed(busy, f"/events/log/{run}") as stream:
        told = followed(stream)
    assert sum(len(str(each.data)) for each in told) < 25_000_000
    found = lines_of(told)
    assert found[-1] == "3000000"
    assert found == [str(n) for n in range(int(found[0]), 3_000_001)]


def test_a_log_that_was_cut(busy: Served) -> None:
    """A reset, then what is in it now."""
    run = busy.trigger("cut")
    busy.until_state(run, "running")
    path = Path(busy.get(f"/api/runs/{run}")["attempts"][0]["stdout_path"])
    busy.until(lambda: path.exists() and path.stat().st_size > 3000)
    with streamed(busy, f"/events/log/{run}") as stream:
        assert lines_of(stream.until_lines(1)) == [str(n) for n in range(801, 1001)]
        path.write_text("new\n")
        told = stream.until_kind("reset")
        assert lines_of(stream.until_lines(1)) == ["new"]
        assert told[-1].kind == "reset"


def test_streams_end_when_the_service_stops(busy: Served) -> None:
    """At once: a stop does not wait the time that it gives to requests."""
    run = busy.trigger("silent")
    busy.until_state(run, "running")
    with streamed(busy, "/events") as events, streamed(busy, f"/events/log/{run}") as log:
        ends = [threading.Thread(target=followed, args=(stream,)) for stream in (events, log)]
        for thread in ends:
            thread.start()
        began = time.monotonic()
        assert busy.stop() == 0
        for thread in ends:
            thread.join(20)
            assert not thread.is_alive()
    assert time.monotonic() - began < 40
    (busy.home / "go").touch()
