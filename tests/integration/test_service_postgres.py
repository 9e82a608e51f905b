"""One scheduler on a PostgreSQL store, end to end: a real job, a kill, a server that goes and comes back. DESIGN 6."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from pyscheduler.store.postgres.connect import address_of
from tests.contract.store_kit import a_schema
from tests.servers.fixtures import GetPlace, GetServer
from tests.servers.kinds import PASSWORD, Place
from tests.serving import ROOT, Served, served

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  store: "{store}"
jobs:
  quick: {{command: "true", schedule: manual}}
  patient: {{command: "touch begun; until [ -e go ]; do sleep 0.1; done", schedule: manual}}
"""
SECRET = {"PG_PASSWORD": PASSWORD}


def text(place: Place, options: str = "") -> str:
    """Return a configuration; the password comes from the environment, as it must."""
    return TEXT.format(store=place.uri.replace(quote(PASSWORD, safe=""), "${PG_PASSWORD}") + options)


@pytest.fixture
def url(server_place: GetPlace) -> Iterator[str]:
    """Give the address of a schema of the test's own."""
    with a_schema(server_place("postgres")) as found:
        yield found


@pytest.fixture
def service(server_place: GetPlace, url: str, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, text(server_place("postgres"), "?" + url.partition("?")[2]), env=SECRET) as found:
        yield found


def pysched(service: Served, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command beside the service."""
    env = os.environ | SECRET | {"PYTHONPATH": str(ROOT / "src"), "PYSCHED_CONFIG": str(service.file)}
    command = [sys.executable, "-c", "import sys; from pyscheduler.cli.main import main; sys.exit(main())", *words]
    return subprocess.run(command, env=env, cwd=service.home, capture_output=True, text=True, timeout=60, check=False)


def actions(service: Served, run_id: str) -> list[str]:
    """Return what the logbook says of a run, first to last."""
    return [event["action"] for event in service.get(f"/api/runs/{run_id}")["events"]]


def test_killed_it_comes_back_to_what_it_left(service: Served) -> None:
    """P4 on a server: kill -9 of the scheduler touches no running job; the next start adopts it and hears its end."""
    service.start()
    service.until_state(service.trigger("quick"), "succeeded")
    run_id = service.trigger("patient")
    service.until((service.home / "begun").exists, "the job has begun")
    service.until_state(run_id, "running")
    service.kill()
    service.start()
    assert service.state_of(run_id) == "running"
    (service.home / "go").touch()
    found = service.until_state(run_id, "succeeded")
    assert found["attempt"] == 1
    events = actions(service, run_id)
    assert events.count("attempt_started") == 1, "also where it was killed before it had read of the start"
    assert "attempt_adopted" in events
    assert not (service.state / "pysched.db").exists()


def test_a_start_that_no_leader_lived_to_read_of_is_told_by_the_next(service: Served, url: str) -> None:
    """Its node wrote the row, and the scheduler was killed before the line was written."""
    service.start()
    run_id = service.trigger("patient")
    service.until((service.home / "begun").exists, "the job has begun")
    service.until(lambda: "attempt_started" in actions(service, run_id), "its line is written")
    service.kill()
    with closing(psycopg.connect(**address_of(url).arguments, autocommit=True)) as server:
        assert server.execute("DELETE FROM events WHERE action = 'attempt_started'").rowcount == 1
    service.start()
    (service.home / "go").touch()
    service.until_state(run_id, "succeeded")
    told = service.until(lambda: "finished" in (found := actions(service, run_id)) and found, "its lines")
    assert [action for action in told if action.startswith("attempt")] == [
        "attempt_started",
        "attempt_adopted",
        "attempt_ended",
    ]


def test_commands_read_it_while_no_scheduler_runs(service: Served) -> None:
    """The store is asked itself; what only a file can do is refused with what to do instead."""
    service.start()
    run_id = service.trigger("quick")
    service.until_state(run_id, "succeeded")
    assert service.stop() == 0
    shown = pysched(service, "runs")
    assert (shown.returncode, run_id in shown.stdout) == (0, True), shown
    assert "what its store at postgresql" in shown.stderr, "where the answer comes from, without the password"
    for words in (("backup", "copy.db"), ("restore", "copy.db", "--yes")):
        refused = pysched(service, *words)
        assert refused.returncode != 0
        assert "pg_dump" in refused.stderr
    doctor = pysched(service, "doctor")
    assert "its tables are ours" in doctor.stdout
    assert PASSWORD not in service.said() + shown.stderr + doctor.stdout + refused.stderr


def test_a_server_that_comes_back_is_gone_on_with(own_server: GetServer, tmp_path: Path) -> None:
    """While it is away the service answers 503 and waits; what ran meanwhile is heard of, and nothing starts twice."""
    server = own_server("postgres")
    with served(tmp_path, text(server.place), env=SECRET) as service:
        service.start()
        run_id = service.trigger("patient")
        service.until((service.home / "begun").exists, "the job has begun")
        server.kill()
        service.until(lambda: (health := service.health()) is not None and health.status == 503, "it has failed")
        (service.home / "go").touch()
        server.start()
        service.until(service.is_well, "it has opened its store again")
        assert service.until_state(run_id, "succeeded")["attempt"] == 1
        service.until_state(service.trigger("quick"), "succeeded")
        assert service.stop() == 0
        assert PASSWORD not in service.said()


def test_a_second_scheduler_stands_by(service: Served, tmp_path: Path) -> None:
    """Another state folder, the same store: it says who leads, and waits for its end."""
    service.start()
    other = tmp_path / "other"
    other.mkdir()
    with served(other, service.file.read_text(), env=SECRET) as second:
        second.start(ready=False)
        second.until(lambda: "standing by" in second.said(), "it stands by")
        assert service.stop() == 0
        second.until(second.is_well, "it leads")


def test_an_address_without_a_server_is_waited_for(own_server: GetServer, tmp_path: Path) -> None:
    """The error names the server, not the password; the service stays."""
    server = own_server("postgres")
    nowhere = replace(server.place, port=1)
    with served(tmp_path, text(nowhere), env=SECRET) as service:
        service.start(ready=False)
        service.until(lambda: "the server cannot be reached" in service.said(), "it has said so")
        assert service.process is not None
        assert service.process.poll() is None
        assert "postgresql://pepper@127.0.0.1:1/pepper" in service.said()
        assert PASSWORD not in service.said()
