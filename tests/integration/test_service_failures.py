"""When the disk is full, read-only or gone, when the store is damaged: what the service says, and how it comes back.

DESIGN 3 (fail-stop), field cases FC-052 and FC-056. Disks are filled in a mount namespace of the test's own.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.serving import DRIVER, SLOW_TO_REOPEN, Served, can_mount, on_tmpfs, served

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
jobs:
  quick: {command: "true", schedule: manual}
  patient: {command: "touch begun; until [ -e go ]; do sleep 0.1; done; exit 7", schedule: manual}
"""
pytestmark = pytest.mark.timeout(300)
needs_mounts = pytest.mark.skipif(not can_mount(), reason="this machine gives a test no mounts of its own")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Served]:
    """A service whose state folder is a disk of 5 MB."""
    with served(tmp_path, TEXT, wrapper=on_tmpfs(tmp_path / "state", "size=5m,mode=700")) as service:
        yield service


def fill(service: Served, folder: str = "state") -> Path:
    """Leave no byte free on the disk of a folder; returns the file to remove."""
    ballast = service.inside(service.home / folder / "ballast")
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return ballast


def accepted(service: Served, job: str) -> str | None:
    """Try to trigger a job; returns the run's id, None where it was refused with a clear 503."""
    answer = service.ask("POST", f"/api/jobs/{job}/trigger", {})
    if answer.status == 200:
        return str(answer.body["run"]["run_id"])
    assert answer.status == 503, answer
    assert answer.body["error"], answer
    return None


@needs_mounts
@pytest.mark.root
def test_a_full_disk_stops_starts_and_passes_by_itself(small: Served) -> None:
    """FC-052: refused, never accepted and gone; the running job's true end is told; no restart is needed."""
    small.driver = SLOW_TO_REOPEN + DRIVER
    small.start()
    running = small.trigger("patient")
    small.until((small.home / "begun").exists, "the job has begun")
    ballast = fill(small)
    done = []
    while (run_id := accepted(small, "quick")) is not None:
        done.append(run_id)
    health = small.health()
    assert health is not None
    assert (health.status, health.body["status"]) == (503, "failed")
    assert "disk is full" in health.body["error"]
    refused = small.ask("GET", "/api/runs")
    assert refused.status == 503
    assert refused.body["error"] == "scheduler failed; see the scheduler log"
    (small.home / "go").touch()
    ballast.unlink()
    small.until(small.is_well, "well again by itself")
    ended = small.until_state(running, "failed")
    assert ended["reason"] == "exit 7"
    for run_id in done:
        small.until_state(run_id, "succeeded")
    small.until_state(small.trigger("quick"), "succeeded")
    assert [run["state"] for run in small.get("/api/runs?limit=1000")["runs"] if run["state"] == "running"] == []
    for name in ("pysched.db", "pysched.db-wal"):  # idle by now; SQLite itself does not follow /proc/PID/root
        shutil.copy(small.inside(small.state / name), small.home)
    with closing(sqlite3.connect(small.home / "pysched.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert small.stop() == 0
    assert "Traceback" not in small.said()


@needs_mounts
@pytest.mark.root
def test_a_start_on_a_full_disk_waits_for_room(tmp_path: Path) -> None:
    """Starting on a full disk waits the same way, says so, and can still be stopped."""
    wrapper = on_tmpfs(tmp_path / "state", "size=20m,mode=700")
    full = ("sh", "-c", 'cat /dev/zero > state/ballast 2>/dev/null; exec "$0" "$@"')
    with served(tmp_path, TEXT, wrapper=(*wrapper, *full)) as service:
        service.start(ready=False)
        service.until(lambda: "the disk is full" in service.said())
        health = service.health()
        assert health is not None
        assert (health.status, health.body["error"]) == (503, "scheduler is starting")
        assert "the disk is full" in health.body["message"]
        service.inside(service.state / "ballast").unlink()
        service.until(service.is_well)
        assert service.stop() == 0


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change a mount that is in use")
def test_a_start_on_a_read_only_disk_waits_for_it(tmp_path: Path) -> None:
    """FC-056 d, e: nothing starts without a durable record; once the disk may be written it goes on by itself."""
    wrapper = on_tmpfs(tmp_path / "state", "size=5m,mode=700")
    read_only = ("sh", "-c", 'mount -o remount,ro "$PWD/state" && exec "$0" "$@"')
    with served(tmp_path, TEXT, wrapper=(*wrapper, *read_only)) as service:
        service.start(ready=False)
        service.until(lambda: "Read-only file system" in service.said())
        assert service.health() is None
        enter = ("nsenter", "-t", str(service.pid), "-m")
        subprocess.run([*enter, "mount", "-o", "remount,rw", str(service.state)], check=True)
        service.until(service.is_well)
        assert service.stop() == 0


def test_a_disk_that_takes_no_more_writes_under_it_loses_no_end(tmp_path: Path) -> None:
    """FC-056 d at run time: nothing starts, what runs ends as it ends, and that is told once writes are taken again.

    A disk in use turns read-only by the kernel's own hand only; a limit on the size of files refuses writes as hard.
    """
    with served(tmp_path, TEXT) as service:
        service.start()
        running = service.trigger("patient")
        service.until((service.home / "begun").exists, "the job has begun")
        _, most = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, most))
        assert accepted(service, "quick") is None
        (tmp_path / "go").touch()
        health = service.health()
        assert health is not None
        assert health.status == 503
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (most, most))
        service.until(service.is_well, "well again by itself")
        assert service.until_state(running, "failed")["reason"] == "exit 7"
        assert len(service.get("/api/runs")["runs"]) == 1
        service.until_state(service.trigger("quick"), "succeeded")
        assert service.stop() == 0


LOGGED = """
scheduler:
  state_dir: state
  log_dir: logs
defaults: {schedule: manual}
jobs:
  silent: {command: "true"}
  talks: {command: "echo a word"}
  bounded: {command: "seq 1 100000", max_log: 1M}
  elsewhere: {command: "echo a word", stdout: "other/{run_id}.out", stderr: stdout}
"""


def ends(service: Served, job: str) -> tuple[str, str]:
    """Trigger a job, wait for its end; returns state and reason."""
    ended = service.until_state(service.trigger(job), "succeeded", "failed")
    return ended["state"], ended["reason"]


@needs_mounts
@pytest.mark.root
def test_a_full_log_disk_stops_no_scheduling(tmp_path: Path) -> None:
    """FC-052: jobs start and end; who prints hears ENOSPC itself, and with `max_log` not even that. Room mends it."""
    wrapper = on_tmpfs(tmp_path / "logs", "size=1m,mode=700")
    with served(tmp_path, LOGGED, wrapper=wrapper) as service:
        service.start()
        assert ends(service, "talks") == ("succeeded", "")
        ballast = fill(service, "logs")
        assert ends(service, "silent") == ("succeeded", "")
        assert ends(service, "talks")[0] == "failed"
        assert ends(service, "bounded") == ("succeeded", "")
        assert ends(service, "elsewhere") == ("succeeded", "")
        ballast.unlink()
        assert ends(service, "talks") == ("succeeded", "")
        assert service.is_well()
        assert service.stop() == 0


@needs_mounts
@pytest.mark.root
def test_a_log_disk_without_inodes_fails_the_start_with_the_reason(tmp_path: Path) -> None:
    """FC-052: no log can be made, so that job does not run; those that log elsewhere do, and the scheduler is well."""
    wrapper = on_tmpfs(tmp_path / "logs", "size=1m,nr_inodes=4,mode=700")
    with served(tmp_path, LOGGED, wrapper=wrapper) as service:
        service.start()
        state, reason = ends(service, "silent")
        assert state == "failed"
        assert reason.startswith("start error: cannot open log: ")
        assert "No space left on device" in reason
        assert ends(service, "elsewhere") == ("succeeded", "")
        assert service.is_well()
        assert service.stop() == 0


@needs_mounts
@pytest.mark.root
def test_exit_on_failure_ends_it_with_1(small: Served) -> None:
    """Who wants the service manager to act is obeyed; running jobs go on all the same."""
    small.start("--exit-on-failure")
    small.trigger("patient")
    small.until((small.home / "begun").exists, "the job has begun")
    fill(small)
    while small.process is not None and small.process.poll() is None:
        try:
            accepted(small, "quick")
        except OSError:
            break
    assert small.wait() == 1
    assert "the disk is full" in small.said()


# --------------------------------------------------------------------------- damage


def overwrite_head(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"\xa5" * 200)


def zero_a_page(database: Path) -> None:
    with database.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(bytes(4096))


def claim_a_newer_schema(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()


def empty(database: Path) -> None:
    os.truncate(database, 0)


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of a service that has run and stopped."""
    home = tmp_path_factory.mktemp("before")
    with served(home, TEXT) as service:
        service.start()
        service.until_state(service.trigger("quick"), "succeeded")
        service.stop()
    return home / "state"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (overwrite_head, "is damaged"),
        (zero_a_page, "is damaged"),
        (claim_a_newer_schema, "the store has schema 9999, and this release knows up to"),
        (empty, "the store's database is empty (0 bytes)"),
    ],
)
def test_a_damaged_store_ends_it_with_one_clear_line(
    tmp_path: Path, left_behind: Path, harm: Callable[[Path], None], said: str
) -> None:
    """FC-056 a, b, f, g: it exits 1 and names file and next step; the file is not touched, no job is started."""
    with served(tmp_path, TEXT) as service:
        subprocess.run(["cp", "-a", str(left_behind), str(service.state)], check=True)
        database = service.state / "pysched.db"
        harm(database)
        before = database.read_bytes()
        service.start(ready=False)
        assert service.wait() == 1
        lines = [line for line in service.said().splitlines() if " ERROR " in line or " CRITICAL " in line]
        assert len(lines) == 1
        assert said in lines[0]
        assert "pysched.db" in lines[0]
        assert "Traceback" not in service.said()
        assert database.read_bytes() == before
        assert not service.socket.exists()


@pytest.mark.parametrize("name", ["pysched.db", "pysched.db-wal"])
def test_a_store_removed_under_it_ends_it(tmp_path: Path, name: str) -> None:
    """FC-056 c, h: files taken away at run time are noticed with the next change; it does not write into the void."""
    with served(tmp_path, TEXT) as service:
        service.start()
        (service.state / name).rename(tmp_path / "taken")
        answer = service.ask("POST", "/api/jobs/quick/trigger", {})
        assert answer.status == 503
        assert service.wait() == 1
        assert "moved, removed or replaced" in service.said()


@pytest.mark.parametrize("name", ["serve.lock", "store.lock"])
def test_a_lock_removed_under_it_ends_it(tmp_path: Path, name: str) -> None:
    """A second scheduler could be at work by now: the first stops deciding with its next change."""
    with served(tmp_path, TEXT) as service:
        service.start()
        (service.state / name).unlink()
        assert service.ask("POST", "/api/jobs/quick/trigger", {}).status == 503
        assert service.wait() == 1
        assert "the lock file was moved, removed or replaced" in service.said()


def test_a_faulty_configuration_ends_it_with_2_and_makes_nothing(tmp_path: Path) -> None:
    """All problems are said, with file, line and column, before anything is made in state_dir."""
    with served(tmp_path, "jobs:\n  a: {command: 1, at: noon, when: manual}\n  b: {schedule: manual}\n") as service:
        service.start(ready=False)
        assert service.wait() == 2
        assert "pysched.yaml:2:" in service.said()
        assert "pysched.yaml:3:" in service.said()
        assert not service.state.exists()


def test_an_engine_that_fails_is_replaced_and_running_jobs_are_adopted(tmp_path: Path) -> None:
    """The engine fails stop, the service stays: another program's lock on the store is such a trouble."""
    with served(tmp_path, TEXT) as service:
        service.start()
        running = service.trigger("patient")
        service.until((service.home / "begun").exists, "the job has begun")
        with closing(sqlite3.connect(service.state / "pysched.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert accepted(service, "quick") is None
            health = service.health()
            assert health is not None
            assert health.status == 503
            other.execute("ROLLBACK")
        service.until(service.is_well)
        scheduler = service.get("/api/scheduler")
        assert scheduler["engine"]["failures"] >= 1
        assert int(scheduler["engine"]["generation"]) >= 2
        (tmp_path / "go").touch()
        assert service.until_state(running, "failed")["reason"] == "exit 7"
        service.signal(signal.SIGTERM)
        assert service.wait() == 0
