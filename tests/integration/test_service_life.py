"""The service from start to stop: its lock, its socket, its signals, what it leaves alone. DESIGN 6; jobs.md 14.2."""

from __future__ import annotations

import os
import queue
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import PATIENCE_S, Served, served
from tests.yard import number_in

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
jobs:
  quick: {command: "echo done", schedule: manual}
  long: {command: "echo $$$$ > long.pid; sleep 600", schedule: manual}
  patient: {command: "touch begun; until [ -e go ]; do sleep 0.1; done", schedule: manual}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, TEXT) as found:
        yield found


def test_it_starts_runs_a_job_and_stops_with_0(service: Served) -> None:
    """From `serve` to a finished run and a clean end, with nothing but the socket."""
    service.start()
    run_id = service.trigger("quick")
    assert service.until_state(run_id, "succeeded")["attempt"] == 1
    assert service.stop() == 0
    assert not service.socket.exists()
    assert "Traceback" not in service.said()
    assert "the API does not close" not in service.said()


def test_a_second_one_is_refused_by_name(service: Served, tmp_path: Path) -> None:
    """One scheduler serves a state folder; another is told which one does, and harms nothing."""
    service.start()
    second = Served(tmp_path, TEXT)
    second.log = tmp_path / "second.log"
    second.start(ready=False)
    assert second.wait() == 1
    assert f"another scheduler (pid {service.pid}) already serves this state_dir" in second.said()
    assert "Traceback" not in second.said()
    assert service.is_well()


def test_a_standby_waits_for_the_folder_and_takes_over(service: Served) -> None:
    """`--standby` on a store of one machine: it waits for `serve.lock`, and recovers as any start does."""
    service.start()
    first = service.process
    assert first is not None
    service.start("--standby", ready=False)
    service.until(lambda: "standing by" in service.said(), "the second waits")
    assert first.poll() is None
    first.kill()
    first.wait()
    service.until(service.is_well, "it has taken over")


def test_a_stale_socket_is_replaced(service: Served) -> None:
    """A socket whose process was killed does not keep the next one out."""
    service.start()
    service.kill()
    assert service.socket.exists()
    service.start()
    assert service.stop() == 0


def test_what_is_no_socket_is_left_alone(service: Served) -> None:
    """A file at the socket's place is somebody's: it is named, not removed."""
    service.state.mkdir(mode=0o700)
    service.socket.write_text("mine")
    service.start(ready=False)
    assert service.wait() == 1
    assert "is in the way and no socket" in service.said()
    assert service.socket.read_text() == "mine"


def test_a_path_too_long_for_a_socket_is_served(tmp_path: Path) -> None:
    """A state folder may lie deeper than a socket's address can say."""
    deep = tmp_path.joinpath(*["a-rather-long-folder-name"] * 6)
    deep.mkdir(parents=True)
    with served(deep, TEXT) as service:
        service.start()
        assert len(os.fsencode(service.socket)) > 108
        service.until_state(service.trigger("quick"), "succeeded")
        assert service.stop() == 0
        assert not service.socket.exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_callers_umask(tmp_path: Path, umask: int) -> None:
    """FC-062: product files are closed to others, logs are 0640, jobs get umask 022, whoever started the service."""
    text = (
        TEXT
        + """
  masked: {command: "umask; touch f; mkdir d", schedule: manual}
  tight: {command: "umask; touch g; mkdir e", umask: "0027", schedule: manual}
"""
    )
    with served(tmp_path, text) as service:
        service.start(umask=umask)
        for job in ("masked", "tight"):
            service.until_state(service.trigger(job), "succeeded")
        service.stop()
        modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in tmp_path.rglob("*")}
        shown = {str(path.relative_to(tmp_path)): mode for path, mode in modes.items()}
        assert shown["state"] == 0o700
        assert shown["state/serve.lock"] == shown["state/pysched.db"] == shown["state/store.lock"] == 0o600
        assert (shown["f"], shown["d"], shown["g"], shown["e"]) == (0o644, 0o755, 0o640, 0o750)
        logs = [mode for name, mode in shown.items() if name.startswith("logs/") and name.endswith((".out", ".err"))]
        assert set(logs) == {0o640}
        assert not [name for name, mode in shown.items() if mode & 0o022]


def test_the_socket_is_0600(service: Served) -> None:
    """Only root and our own user can connect at all."""
    service.start()
    assert stat.S_IMODE(service.socket.stat().st_mode) == 0o600


def test_killed_it_comes_back_to_what_it_left(service: Served) -> None:
    """P4: kill -9 of the scheduler touches no running job; the next one adopts it and hears its end."""
    service.start()
    run_id = service.trigger("patient")
    service.until((service.home / "begun").exists, "the job has begun")
    service.kill()
    service.start()
    assert service.state_of(run_id) == "running"
    (service.home / "go").touch()
    found = service.until_state(run_id, "succeeded")
    assert found["attempt"] == 1
    events = [event["action"] for event in service.get(f"/api/runs/{run_id}")["events"]]
    assert events.count("attempt_started") == 1
    assert "attempt_adopted" in events


# --------------------------------------------------------------------------- stopping: field case FC-042

STOPS = """
scheduler:
  state_dir: state
  log_dir: logs
  max_running: 2
jobs:
  j1: {command: "until [ -e go ]; do sleep 0.1; done", schedule: manual}
  j2: {command: "trap '' TERM INT HUP; echo $$$$ > j2.pid; while :; do sleep 1; done", schedule: manual}
  j3: {command: "true", schedule: manual}
  j4: {command: "exit 3", schedule: manual, retries: {count: 1, delay: 10m}}
"""


@pytest.fixture
def four(tmp_path: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    """J1 and J2 running, J3 queued behind them, J4 between two tries."""
    with served(tmp_path, STOPS) as service:
        service.start()
        runs = {"j4": service.trigger("j4")}
        service.until_state(runs["j4"], "retry_wait")
        for job in ("j1", "j2", "j3"):
            runs[job] = service.trigger(job)
        service.until_state(runs["j1"], "running")
        service.until_state(runs["j2"], "running")
        service.until(lambda: number_in(tmp_path / "j2.pid"), "it has said who it is")
        yield service, runs


def frozen(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["state"], run["scheduled_at"], run["attempt"], run["not_before"]


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]])
def test_a_stop_starts_nothing_kills_nothing_and_forgets_nothing(
    four: tuple[Served, dict[str, str]], signals: list[int]
) -> None:
    """FC-042: running jobs are left to their minders; queued and waiting ones keep their place for the next start."""
    service, runs = four
    before = {job: frozen(service.run(runs[job])) for job in ("j3", "j4")}
    for number in signals:
        service.signal(number)
    assert service.wait() == 0
    pid = int((service.home / "j2.pid").read_text())
    os.kill(pid, 0)
    service.start()
    assert frozen(service.run(runs["j4"])) == before["j4"]
    assert service.run(runs["j3"])["scheduled_at"] == before["j3"][1]
    assert service.state_of(runs["j1"]) == service.state_of(runs["j2"]) == "running"
    (service.home / "go").touch()
    assert service.until_state(runs["j1"], "succeeded")["attempt"] == 1
    assert service.until_state(runs["j3"], "succeeded")["attempt"] == 1
    service.post(f"/api/runs/{runs['j2']}/kill", reason="the test is over")


def test_ctrl_c_reaches_no_job(four: tuple[Served, dict[str, str]]) -> None:
    """Every job has a session of its own, so a terminal's Ctrl-C is the scheduler's alone."""
    service, _ = four
    pid = int((service.home / "j2.pid").read_text())
    assert os.getsid(pid) not in (os.getsid(0), os.getsid(service.pid))
    assert os.getpgid(pid) != os.getpgid(service.pid)


def test_hangup_reloads_and_never_ends_it(service: Served) -> None:
    """FC-042 4: SIGHUP is a reload, by the actor `signal`."""
    service.start()
    service.write(TEXT + '\n  added: {command: "true", schedule: manual}\n')
    service.signal(signal.SIGHUP)
    service.until(lambda: service.ask("GET", "/api/jobs/added").status == 200)
    lines = service.get("/api/events?action=reload")["events"]
    assert [line["actor"] for line in lines] == ["signal"]
    assert service.is_well()


def test_a_stop_during_the_start_is_heard(service: Served) -> None:
    """A service manager that changes its mind is not kept waiting, and nothing is left half done."""
    service.start(ready=False)
    service.until(lambda: "state in" in service.said())
    service.signal(signal.SIGTERM)
    assert service.wait() == 0
    assert service.start().stop() == 0


# --------------------------------------------------------------------------- the service manager


Messages = queue.SimpleQueue[bytes]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Messages]:
    """What a service manager hears. It listens all the time: the kernel keeps ten messages and drops the rest."""
    messages = Messages()

    def listen() -> None:
        while message := found.recv(4096):
            messages.put(message)

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(str(tmp_path / "notify"))
        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield messages
        finally:
            found.shutdown(socket.SHUT_RD)
            listening.join()


def heard(manager: Messages, word: str) -> dict[str, str]:
    """Return the next message that has this name in it."""
    while True:
        lines = dict(line.split("=", 1) for line in manager.get(timeout=PATIENCE_S).decode().splitlines())
        if word in lines:
            return lines


def test_it_speaks_to_the_service_manager(tmp_path: Path, manager: Messages) -> None:
    """Type=notify-reload and WatchdogSec work: ready, alive, reloading with its instant, ready again, stopping."""
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "300000"}
    with served(tmp_path, TEXT, env=env) as service:
        service.start(ready=False)
        assert heard(manager, "EXTEND_TIMEOUT_USEC")["STATUS"] == "starting"
        assert heard(manager, "READY")["STATUS"].startswith("3 jobs")
        assert service.is_well()
        heard(manager, "WATCHDOG")
        service.signal(signal.SIGHUP)
        assert int(heard(manager, "RELOADING")["MONOTONIC_USEC"]) > 0
        heard(manager, "READY")
        run_id = service.trigger("quick")
        service.until_state(run_id, "succeeded")
        service.signal(signal.SIGTERM)
        heard(manager, "STOPPING")
        assert service.wait() == 0


def test_a_job_that_starts_a_scheduler_does_not_lend_it_its_key(tmp_path: Path) -> None:
    """Whoever carries an attempt's key counts as that attempt's process: a scheduler sheds it by starting anew."""
    with served(tmp_path, TEXT, env={"PYSCHED_ATTEMPT_KEY": "0123456789abcdef"}) as service:
        service.start()
        environ = Path(f"/proc/{service.pid}/environ").read_bytes()
        assert b"PYSCHED_ATTEMPT_KEY" not in environ
        assert service.stop() == 0
