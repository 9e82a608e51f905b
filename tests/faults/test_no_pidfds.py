"""A kernel, or a container's sandbox, that has no pidfds: everything works, and doctor says what is left to chance.

DESIGN 4, "where there is no pidfd, start ticks then the signal". The crash test's run with `PYSCHED_NO_PIDFD=1` asks
the same code to choose that way; here it has to find out by itself.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.minder import kernel
from tests.serving import Served, served
from tests.shell import Shell

FORBID = Path(__file__).with_name("without_pidfds.py")
TEXT = """
scheduler: {state_dir: state, log_dir: logs, kill_grace: 1s}
defaults: {schedule: manual}
jobs:
  patient: {command: "touch up-{job}; until [ -e go ]; do sleep 0.05; done; exit 7"}
  orphan: {command: "touch up-{job}; until [ -e go ]; do sleep 0.05; done; exit 6"}
  stubborn: {command: "trap '' TERM; touch up-{job}; while :; do sleep 0.05; done"}
"""


def without(number: int, *command: str) -> tuple[str, ...]:
    """Return the command as it runs where the two calls fail with this error."""
    return (sys.executable, str(FORBID), str(number), *command)


def can_forbid() -> bool:
    """Whether this kernel takes a filter from us."""
    return subprocess.run(without(errno.ENOSYS, "true"), capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.skipif(not can_forbid(), reason="seccomp filters are impossible here")]


@pytest.fixture(params=[errno.ENOSYS, errno.EPERM], ids=["an old kernel", "a sandbox"])
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(tmp_path, TEXT, wrapper=without(request.param)) as found:
        yield found.start()


def test_jobs_are_killed_adopted_and_guarded_all_the_same(service: Served) -> None:
    """A kill reaches a stubborn job; a killed scheduler's job is adopted; a killed minder's falls to the nursery."""
    stubborn, orphan, patient = (service.trigger(job) for job in ("stubborn", "orphan", "patient"))
    for job in ("stubborn", "orphan", "patient"):
        service.until((service.home / f"up-{job}").exists)
    service.post(f"/api/runs/{stubborn}/kill")
    assert service.until_state(stubborn, "failed")["reason"].startswith("killed by ")
    minder = service.until(lambda: service.get(f"/api/runs/{orphan}")["attempts"][0]["pid"], "its minder is known")
    os.kill(minder, signal.SIGKILL)
    service.kill()
    service.start()
    (service.home / "go").touch()
    assert service.until_state(orphan, "failed")["reason"] == "exit 6"
    assert service.until_state(patient, "failed")["reason"] == "exit 7"


def test_doctor_says_so(service: Served) -> None:
    """It tries, rather than ask whether Python knows the call."""
    shell = Shell(service.home)
    command = without(errno.ENOSYS, *shell.command("doctor", "--json"))
    done = subprocess.run(command, cwd=service.home, env=shell.env, capture_output=True, text=True, check=False)
    assert "this kernel has none" in done.stdout, done


def test_here_it_is_found_out_by_trying() -> None:
    """Where the calls work, they are used."""
    assert kernel.NO_PIDFD is (os.environ.get("PYSCHED_NO_PIDFD") == "1")
