"""Two processes on one store, one of them killed −9 at each step that is written down. Issue 3, Done when 2.

On SQLite, where the file is all there is, and on PostgreSQL, where the server learns of the death by a broken line.

What is promised: no work is begun before the row says InProgress; a row is always one that some process wrote whole;
what comes after a crash is what the manual's table of rebuilt jobs says (pipeline.md 15); and of two processes that
start one job at one moment, one does the work.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pypepper.scheduler import Job, Task, Workflow, configure_job_store, get_job_store
from pypepper.scheduler.executor import Executor
from pypepper.scheduler.store import JobRecord
from tests.contract.pypepper.store_kit import settings_for
from tests.servers.fixtures import GetPlace

ROOT = Path(__file__).resolve().parents[3]
CHILD = Path(__file__).with_name("child.py")


class Place:
    """One database, one saved job, one ledger of begun work."""

    def __init__(self, kind: str, settings: dict[str, Any], folder: Path) -> None:
        self.kind = kind
        self.settings = settings
        self.ledger = folder / "ledger"
        configure_job_store(kind, **settings).clear()
        job = Job(category="test", channel_id="c")
        workflow = Workflow()
        workflow.add_task(Task("c", "d", "f", "n", "t", "", [], Executor(), executor_id="ledger"))
        job.workflows.append(workflow)
        job.restore_lifecycle("Scheduled", "Scheduled")
        assert job.save()
        self.job_id = job.id
        self.children: list[subprocess.Popen[str]] = []
        self.stderr = (folder / "stderr").open("w+")

    def start(self, kill: str = "") -> subprocess.Popen[str]:
        """Start a child and wait until it holds the job."""
        child = subprocess.Popen(
            [sys.executable, str(CHILD), self.kind, json.dumps(self.settings), self.job_id, str(self.ledger), kill],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )
        self.children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", self.told()
        return child

    def told(self) -> str:
        """Return what the children complained of."""
        self.stderr.seek(0)
        return self.stderr.read()

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.communicate()
        self.stderr.close()
        get_job_store().close()

    def row(self) -> JobRecord:
        row = get_job_store().get(self.job_id)
        assert row is not None
        return row

    def begun(self) -> list[str]:
        """Return what the row said each time work was begun."""
        return [line.split()[1] for line in self.ledger.read_text().splitlines()] if self.ledger.exists() else []


def go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def end(child: subprocess.Popen[str]) -> tuple[int, list[str]]:
    said, _ = child.communicate(timeout=60)
    return child.returncode, said.split()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, server_place: GetPlace, tmp_path: Path) -> Iterator[Place]:
    """A place of a test's own: a file, and a server that outlives the processes killed."""
    made = Place(request.param, settings_for(request.param, server_place, tmp_path), tmp_path)
    yield made
    made.close()


STEPS = [
    # kill, row then, begun before the kill, row after another process went on, begun in all
    ("put:Scheduled:before", "Scheduled", 0, "Completed", 1),
    ("put:Scheduled:after", "Scheduled", 0, "Completed", 1),
    ("get:1", "Scheduled", 0, "Completed", 1),
    ("get:2", "Scheduled", 0, "Completed", 1),
    ("put:InProgress:before", "Scheduled", 0, "Completed", 1),
    ("put:InProgress:after", "InProgress", 0, "Completed", 1),
    ("get:3", "InProgress", 0, "Completed", 1),
    ("work", "InProgress", 1, "Completed", 2),
    ("put:Completed:before", "InProgress", 1, "Completed", 2),
    ("put:Completed:after", "Completed", 1, "Completed", 1),
    ("get:4", "Completed", 1, "Completed", 1),
]


@pytest.mark.parametrize(("kill", "left", "before", "at_last", "in_all"), STEPS, ids=[step[0] for step in STEPS])
def test_killed_at_a_step(place: Place, kill: str, left: str, before: int, at_last: str, in_all: int) -> None:
    """Whatever the step, the row is whole, nothing was begun that it does not tell, and another process goes on.

    Work that had begun is begun again, as pipeline.md 15 and H14 say; a Completed job is not touched.
    """
    victim = place.start(kill)
    go(victim)
    code, _ = end(victim)
    assert code == -signal.SIGKILL
    assert (place.row().status, len(place.begun())) == (left, before)
    heir = place.start()
    go(heir)
    code, said = end(heir)
    assert code == 0, place.told()
    assert said[:2] == [at_last, at_last]
    assert said[2] == ("fine" if left == "Scheduled" else "RuntimeError")
    assert place.row().status == at_last
    assert place.begun() == ["InProgress"] * in_all


@pytest.mark.parametrize("kill", ["", "put:InProgress:after", "work", "put:Completed:before"])
def test_two_processes_start_one_job_at_one_moment(place: Place, kill: str) -> None:
    """One does the work, the other follows its row; also if the winner is killed in the midst of it."""
    children = [place.start(kill) for _ in range(2)]
    for child in children:
        go(child)
    codes = [end(child)[0] for child in children]
    assert len(place.begun()) == (0 if kill == "put:InProgress:after" else 1)
    assert codes.count(-signal.SIGKILL) == (1 if kill else 0)
    assert place.row().status == ("InProgress" if kill else "Completed")


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_killed_while_the_server_is_writing(place: Place) -> None:
    """The server has the start of the job, its writer is dead: the row is written whole, and nothing was begun.

    A server learns of a client's death only when it answers, so a put may land that nobody is left to be told of.
    """
    import psycopg

    victim = place.start("hold:InProgress")
    go(victim)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "holding\n", place.told()
    at = place.settings
    server = f"host={at['host']} port={at['port']} user={at['username']} dbname={at['db']}"
    with (
        psycopg.connect(server, password=at["password"]) as lock,
        psycopg.connect(server, password=at["password"]) as look,
    ):
        look.autocommit = True
        lock.execute("SELECT 1 FROM scheduler_jobs FOR UPDATE")
        go(victim)
        until(lambda: look.execute(WAITING, [at["db"]]).fetchone() == (1,))
        victim.kill()
        assert end(victim)[0] == -signal.SIGKILL
        assert place.row().status == "Scheduled"
    until(lambda: place.row().status == "InProgress")
    assert place.begun() == []
    heir = place.start()
    go(heir)
    assert end(heir) == (0, ["Completed", "Completed", "RuntimeError"])
    assert place.begun() == ["InProgress"]


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"


def until(fact: Callable[[], bool]) -> None:
    """Wait for a fact, with a deadline."""
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)
