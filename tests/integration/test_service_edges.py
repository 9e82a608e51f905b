"""A service as pid 1, with an older store, with a client that will not let go, asked too early, told to hurry."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pyscheduler.api import shapes
from tests.serving import DRIVER, PATIENCE_S, Served, connected, served

TEXT = """
scheduler: {state_dir: state, log_dir: logs}
jobs:
  quick: {command: "true", schedule: manual}
  big: {command: "seq 1 2000000", schedule: manual}
  hourly: {command: "true", schedule: "* * * * *", catch_up: latest}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, TEXT) as found:
        yield found


# --------------------------------------------------------------------------- an older store: DESIGN 5


def restored(service: Served) -> None:
    """Run once, keep a copy, run again, put the copy back: the folder knows of a later start than the store."""
    service.start().stop()
    shutil.copy(service.state / "pysched.db", service.home / "backup.db")
    service.start().stop()
    shutil.copy(service.home / "backup.db", service.state / "pysched.db")
    for name in ("pysched.db-wal", "pysched.db-shm"):
        with suppress(FileNotFoundError):
            (service.state / name).unlink()
    service.start()


@pytest.mark.parametrize("decision", ["accept", "skip"])
def test_an_older_store_waits_for_a_word(service: Served, decision: str) -> None:
    """Nothing missed is started by itself; a person sees what would be, and says accept or skip."""
    restored(service)
    held = service.get("/api/catch-up")
    shapes.CatchUp.model_validate(held)
    assert held["held"] is True
    assert service.get("/api/scheduler")["catch_up_held"]["since"] == held["since"]
    body = service.post("/api/catch-up", decision=decision, reason="checked")
    shapes.CatchUp.model_validate(body)
    assert service.get("/api/catch-up")["held"] is False
    (line,) = service.get("/api/events?action=catch_up")["events"]
    assert (line["detail"]["accept"], line["detail"]["reason"]) == (decision == "accept", "checked")
    assert service.ask("POST", "/api/catch-up", {"decision": decision}).status == 409
    assert service.stop() == 0
    service.start()
    assert service.get("/api/catch-up")["held"] is False


# --------------------------------------------------------------------------- hurry


def open_download(service: Served, run_id: str) -> socket.socket:
    """Ask for a long answer and do not read it."""
    connection = connected(service.socket)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(f"GET /api/runs/{run_id}/log?raw=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


PATIENT_WITH_REQUESTS = """
from pyscheduler.service import house, listener
house.REQUESTS_END_S = listener.REQUESTS_END_S = 600
"""
"""Before a driver: what ends the wait is the second signal, however late it comes."""


def test_a_second_signal_shortens_the_wait(service: Served) -> None:
    """FC-042 2: a stop waits some seconds for a request under way; told again it waits for nobody."""
    service.driver = PATIENT_WITH_REQUESTS + DRIVER
    service.start()
    run_id = service.trigger("big")
    service.until_state(run_id, "succeeded")
    with open_download(service, run_id):
        service.signal(signal.SIGTERM)
        service.until(lambda: "SIGTERM: stopping" in service.said())
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
    assert "not waiting for requests and launches any longer" in service.said()
    assert "graceful shutdown exceeded" not in service.said()


def test_a_client_that_does_not_let_go_holds_a_stop_up_for_seconds_only(service: Served) -> None:
    """Spec 9.4: 5 s for requests in flight."""
    service.start()
    run_id = service.trigger("big")
    service.until_state(run_id, "succeeded")
    with open_download(service, run_id):
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began < PATIENCE_S / 2
    assert "graceful shutdown exceeded" in service.said()


PATIENT_WITH_THE_STORE = """
from pyscheduler.service import ways
ways.STORE_WAIT_S = 600.0
"""
"""Before a driver: one that waits for its store is not to give that up while it is looked at."""


def test_a_hangup_before_it_is_ready_is_ignored_with_a_warning(service: Served) -> None:
    """Spec 11.2: there is nothing to reload yet, and the default action would be the end."""
    service.driver = PATIENT_WITH_THE_STORE + DRIVER
    service.state.mkdir(mode=0o700)
    with (service.state / "store.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        service.start(ready=False)
        service.until(lambda: service.socket.exists() and service.health() is not None)
        health = service.health()
        assert health is not None
        assert (health.status, health.body["error"]) == (503, "scheduler is starting")
        service.signal(signal.SIGHUP)
        service.until(lambda: "SIGHUP is ignored while the scheduler is starting" in service.said())
    service.until(service.is_well)


def test_a_store_that_somebody_else_keeps_is_named(service: Served) -> None:
    """Another program with the store open is waited for some seconds, then named: exit 1."""
    service.state.mkdir(mode=0o700)
    with (service.state / "store.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        service.start(ready=False)
        assert service.wait() == 1
    assert "has this store open" in service.said()


# --------------------------------------------------------------------------- pid 1: field case FC-038


def can_be_pid1() -> bool:
    return subprocess.run([*_unshare(), "true"], capture_output=True, check=False).returncode == 0


def _unshare() -> tuple[str, ...]:
    user = () if os.geteuid() == 0 else ("-Ur",)
    # setsid: the first process of a container leads a session of its own
    return ("unshare", *user, "-pf", "--mount-proc", "--kill-child=KILL", "setsid")


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def zombies_of(pid: int) -> list[int]:
    found = []
    for child in children_of(pid):
        with suppress(OSError):
            if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                found.append(child)
    return found


@pytest.mark.root
@pytest.mark.skipif(not can_be_pid1(), reason="this machine gives a test no pid namespace")
def test_as_pid_1_it_buries_orphans_and_still_hears_signals(tmp_path: Path) -> None:
    """FC-038: what nobody waits for falls to pid 1; a scheduler that is pid 1 leaves no zombie behind."""
    with served(tmp_path, TEXT, wrapper=_unshare()) as service:
        service.start()
        (first,) = children_of(service.pid)
        service.until(lambda: "this is pid 1: when it ends its container ends" in service.said(), "it says what it is")
        user = () if os.geteuid() == 0 else ("-U", "--preserve-credentials")
        orphan = "(sleep 0.3; true) & (true &) ; exit 0"
        for _ in range(5):
            subprocess.run(["nsenter", "-t", str(first), *user, "-p", "-m", "sh", "-c", orphan], check=True)
        run_id = service.trigger("quick")
        service.until_state(run_id, "succeeded")
        service.until(lambda: len(children_of(first)) <= 1, "only the nursery is left")
        assert zombies_of(first) == []
        os.kill(first, signal.SIGTERM)
        assert service.wait() == 0
