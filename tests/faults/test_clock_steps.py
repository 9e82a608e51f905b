"""The wall clock is stepped both ways under a running service with real jobs. DESIGN 1 P5, DESIGN 3 "Time".

The service's own clock is shifted by what stands in a file: the machine's cannot be set by a test. Everything that
counts durations has to go by the monotonic clock, which nobody shifts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.serving import Served, served

DRIVER = """
import sys, time
from datetime import datetime
from pyscheduler.engine import clock
from pyscheduler.service import Options, run
from pyscheduler.service.logs import logging_to

def shift():
    with open("shift") as file:
        return float(file.read() or 0)

class Wall(datetime):
    @classmethod
    def now(cls, zone=None):
        return datetime.fromtimestamp(time.time() + shift(), zone)

class Shifted:
    def __getattr__(self, name):
        return getattr(time, name)
    def time(self):
        return time.time() + shift()

clock.datetime, clock.time = Wall, Shifted()
with logging_to(level="INFO"):
    sys.exit(run(sys.argv[1], Options()))
"""
TEXT = """
scheduler: {state_dir: state, log_dir: logs, kill_grace: 1s}
defaults: {schedule: manual, overlap: allow}
jobs:
  patient: {command: "until [ -e go ]; do sleep 0.05; done; exit 7", timeout: 1h}
  slow: {command: "exec sleep 300", timeout: 4s}
  again: {command: "[ {attempt} = 2 ]", retries: {count: 1, delay: 4s}}
  bell: {command: "true", schedule: "* * * * * *", catch_up: latest}
"""
HOUR = 3600


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "shift").write_text("0")
    with served(tmp_path, TEXT, driver=DRIVER) as found:
        yield found.start()


def step(service: Served, seconds: int) -> None:
    """Set the service's wall clock so far from the machine's."""
    new = service.home / "shift.new"
    new.write_text(str(seconds))
    new.replace(service.home / "shift")


def bells(service: Served) -> list[dict[str, Any]]:
    """Return the runs of the job that fires every second."""
    found: list[dict[str, Any]] = service.get("/api/runs?job=bell&order=oldest&limit=1000")["runs"]
    return found


def rings_on(service: Served) -> list[dict[str, Any]]:
    """Wait for three more firings of the schedule itself; returns all runs."""
    number = scheduled(service)
    service.until(lambda: scheduled(service) >= number + 3, "it rings on")
    return bells(service)


def scheduled(service: Served) -> int:
    """Return how many runs came by the schedule, not by catch-up."""
    return sum(run["trigger"] == "schedule" for run in bells(service))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shift", [HOUR, -2 * HOUR])
def test_a_step_changes_no_attempts_outcome_and_repeats_no_firing(service: Served, shift: int) -> None:
    """Timeout and retry delay last as long as they say; what runs, runs on; no instant fires twice; the bell goes on.

    There and back again: the forward half of the two is caught up by the job's rule, which is the newest firing only.
    """
    rings_on(service)
    patient, began = service.trigger("patient"), time.monotonic()
    again, slow = service.trigger("again"), service.trigger("slow")
    service.until_state(again, "retry_wait")
    step(service, shift)
    service.until_state(again, "succeeded")
    assert 4.0 <= time.monotonic() - began < 30
    ended = service.until_state(slow, "failed")
    assert ended["reason"] == "timeout"
    assert 4.0 <= time.monotonic() - began < 30
    rings_on(service)
    step(service, 0)
    runs = rings_on(service)
    assert service.state_of(patient) == "running"
    (service.home / "go").touch()
    assert service.until_state(patient, "failed")["reason"] == "exit 7"
    instants = Counter(run["scheduled_at"] for run in runs)
    assert max(instants.values()) == 1
    caught = [run for run in runs if run["trigger"] == "catch_up"]
    assert len(caught) == 1
    assert {run["state"] for run in runs} <= {"succeeded", "running", "queued"}
    assert service.stop() == 0


@pytest.mark.timeout(300)
def test_a_restart_behind_the_last_tick_goes_on(service: Served) -> None:
    """The clock was wrong, has been put right, and the scheduler is started again: no firing twice, the bell rings."""
    first = rings_on(service)[0]
    step(service, HOUR)
    service.until(lambda: any(ahead(run, first) for run in bells(service)), "it has rung in the hour to come")
    service.stop()
    step(service, 0)
    service.start()
    rings_on(service)
    instants = Counter(run["scheduled_at"] for run in bells(service))
    assert max(instants.values()) == 1


def ahead(run: dict[str, Any], first: dict[str, Any]) -> bool:
    """Whether a run is of more than half an hour after the first one."""
    instants = (datetime.fromisoformat(each["scheduled_at"]) for each in (run, first))
    return next(instants) - next(instants) > timedelta(minutes=30)
