"""What jobs do to a scheduler, through a running service: the issue's "Bad input, faults", with real processes.

The rooms behind it have their own tests of each fault (docs/field-cases.md names them); here each goes the whole way,
from the trigger to the state, the reason and the log that an operator reads, and the service goes on as before.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.minder import kernel
from tests.serving import Served, served

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  kill_grace: 1s
defaults: {schedule: manual, overlap: allow}
jobs:
  quick: {command: "true"}
  missing: {command: [no-such-program]}
  missing-in-shell: {command: "no-such-program"}
  missing-folder: {command: "true", cwd: "nowhere"}
  no-log: {command: "touch ran", stdout: "{log_dir}/file/x.out"}
  killed: {command: "kill -KILL $$$$"}
  dumps: {command: "ulimit -c 0; kill -SEGV $$$$"}
  stubborn: {command: "trap '' TERM; touch up-{run_id}; while :; do sleep 0.05; done"}
  daemon: {command: "(setsid sh -c 'exec sleep 300' >/dev/null 2>&1 </dev/null &); exit 3"}
  daemons:
    command: |
      (setsid sh -c 'echo $$$$ > daemon.pid; trap "" TERM; while :; do sleep 0.05; done' >/dev/null 2>&1 </dev/null &)
      sleep 300
  gigabyte: {command: "head -c 1073741824 /dev/zero; echo done >&2", max_log: 1M}
  wild: {command: "printf 'before\\\\377\\\\376 after'; exit 6"}
  closes: {command: "exec >&- 2>&-; sleep 0.2; exit 4"}
  holds: {command: "sleep 300 & echo ok; exit 5"}
  thousand: {command: "i=0; while [ $i -lt 1000 ]; do sleep 300 & i=$((i+1)); done; touch all; wait", kill_grace: 20s}
"""
CUT = re.compile(rb"\n\[pysched: (\d+) *bytes cut here, max_log\]\n")
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service that outlives all of it."""
    with served(tmp_path_factory.mktemp("faults"), TEXT) as found:
        (found.home / "logs").mkdir()
        (found.home / "logs" / "file").write_text("in the place of a folder")
        yield found.start()
        assert found.stop() == 0
        assert "Traceback" not in found.said()
        assert "failed stop" not in found.said()


def end_of(service: Served, job: str) -> tuple[str, str]:
    """Trigger a job, wait for its end; returns state and reason."""
    run = service.until_state(service.trigger(job), "succeeded", "failed")
    return run["state"], run["reason"]


def attempt_of(service: Served, run_id: str) -> dict[str, Any]:
    """Return the run's latest attempt."""
    found: dict[str, Any] = service.get(f"/api/runs/{run_id}")["attempts"][-1]
    return found


def resident_mb(pid: int) -> float:
    """Return how much memory a process has in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def goes(pid: int) -> bool:
    """Whether the process is there and runs."""
    found = kernel.stat(pid)
    return found is not None and found.alive


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ("missing", "start error: No such file or directory: 'no-such-program'"),
        ("missing-in-shell", "exit 127"),
        ("killed", "signal 9"),
        ("dumps", "signal 11"),
        ("closes", "exit 4"),
        ("holds", "exit 5"),
        ("daemon", "exit 3"),
        ("wild", "exit 6"),
    ],
)
def test_however_a_job_ends_the_run_says_so_at_once(service: Served, job: str, reason: str) -> None:
    """No command, signals, closed output, held descriptors, a daemon left behind: the main process's end counts."""
    began = time.monotonic()
    assert end_of(service, job) == ("failed", reason)
    assert time.monotonic() - began < 30, "it waited for something that outlives the job"
    assert end_of(service, "quick") == ("succeeded", "")


def test_a_folder_that_is_not_there_runs_nothing(service: Served) -> None:
    """The reason names what is missing."""
    state, reason = end_of(service, "missing-folder")
    assert state == "failed"
    assert reason.startswith("start error: ")
    assert "nowhere" in reason


def test_a_log_folder_that_cannot_be_written_fails_that_job_alone(service: Served) -> None:
    """A job whose output would vanish does not run; all others do."""
    state, reason = end_of(service, "no-log")
    assert state == "failed"
    assert reason.startswith("start error: cannot open log: ")
    assert not (service.home / "ran").exists()
    assert end_of(service, "quick") == ("succeeded", "")


def test_invalid_utf_8_is_kept_and_shown(service: Served) -> None:
    """The file is the output byte for byte; what is shown is valid text with marks."""
    run_id = service.trigger("wild")
    service.until_state(run_id, "failed")
    assert service.get(f"/api/runs/{run_id}/log")["lines"] == ["before\ufffd\ufffd after"]
    assert Path(attempt_of(service, run_id)["stdout_path"]).read_bytes() == b"before\xff\xfe after"


def test_a_job_that_ignores_term_is_killed_after_the_grace(service: Served) -> None:
    """`kill_grace` is 1 s here; the run ends killed by whom, and a second order is refused meanwhile."""
    run_id = service.trigger("stubborn")
    service.until((service.home / f"up-{run_id}").exists)
    began = time.monotonic()
    service.post(f"/api/runs/{run_id}/kill")
    assert service.ask("POST", f"/api/runs/{run_id}/kill", {}).status == 409
    ended = service.until_state(run_id, "failed")
    assert 1.0 <= time.monotonic() - began < 30
    assert ended["reason"].startswith("killed by ")
    assert attempt_of(service, run_id)["signal"] == 9


def test_a_daemon_is_ended_with_its_job(service: Served) -> None:
    """It forked twice, left the session, closed its output and ignores TERM: a kill reaches it all the same."""
    run_id = service.trigger("daemons")
    path = service.home / "daemon.pid"
    service.until(lambda: path.exists() and path.read_text().endswith("\n"))
    pid = int(path.read_text())
    assert goes(pid)
    service.post(f"/api/runs/{run_id}/kill")
    service.until_state(run_id, "failed")
    assert not goes(pid)


def told(output: Path) -> int:
    """Return how many bytes a log that was cut stands for."""
    head, *rest = CUT.split(output.read_bytes())
    return len(head) + int(rest[0]) + len(rest[1]) if len(rest) == 2 else 0


def test_a_gigabyte_is_cut_to_its_bound_and_nobody_grows(service: Served) -> None:
    """With `max_log` the file stays near 1 MB, says what is missing, and the scheduler's memory does not follow."""
    before = resident_mb(service.pid)
    run_id = service.trigger("gigabyte")
    most = before
    while service.state_of(run_id) not in ("succeeded", "failed"):
        most = max(most, resident_mb(service.pid))
    assert service.state_of(run_id) == "succeeded"
    assert most - before < 30
    attempt = attempt_of(service, run_id)
    output = Path(attempt["stdout_path"])
    service.until(lambda: told(output) == 1 << 30, "every byte is there or told to be missing")
    assert output.stat().st_size <= 1 << 20
    service.until(lambda: Path(attempt["stderr_path"]).read_text() == "done\n", "the other stream is copied, too")


def test_a_thousand_children_end_with_their_job(service: Served) -> None:
    """Killed by an operator: not one of them is left, and the service answers all the while."""
    run_id = service.trigger("thousand")
    service.until((service.home / "all").exists, "all have been started")
    leader = next(pid for pid in service.marked() if _has(pid, f"PYSCHED_RUN_ID={run_id}") and _leads(pid))
    session = [found.pid for found in kernel.processes().values() if found.session == leader]
    assert len(session) > 1000
    service.post(f"/api/runs/{run_id}/kill")
    slowest = 0.0
    while service.state_of(run_id) != "failed":
        began = time.monotonic()
        assert service.is_well()
        slowest = max(slowest, time.monotonic() - began)
    assert [pid for pid in session if goes(pid)] == []
    assert slowest < 20


def _has(pid: int, variable: str) -> bool:
    try:
        return variable.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _leads(pid: int) -> bool:
    found = kernel.stat(pid)
    return found is not None and found.session == pid
