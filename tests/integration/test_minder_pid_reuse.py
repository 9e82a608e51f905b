"""Process numbers come round again, and nobody is mistaken for a job. DESIGN 1 P5, DESIGN 4; FC-044.

Runs in a small pid namespace of its own, where a number can be had on demand by writing /proc/sys/kernel/ns_last_pid.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pyscheduler.engine import machine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import Lost, Running
from pyscheduler.minder import kernel, notes
from tests.yard import Yard, alive, kill, number_in, until

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
if os.getuid() != 0:
    UNSHARE += ["--user", "--map-root-user"]


def namespaces() -> bool:
    """Whether this machine lets us have a pid namespace."""
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not namespaces(), reason="pid namespaces are impossible here"),
]


async def inside(home: Path, scenario: Callable[[Yard], Awaitable[None]], **environment: str) -> None:
    """Run a scenario, of this module or another, as pid 1 of a namespace of its own."""
    program = "import asyncio, sys; from pathlib import Path; from tests.yard import Yard; "
    program += f"from {scenario.__module__} import {scenario.__name__} as scenario; "
    program += "asyncio.run(scenario(Yard(Path(sys.argv[1]))))"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(path for path in sys.path if path), **environment}
    command = [*UNSHARE, sys.executable, "-W", "error", "-c", program, str(home)]
    process = await asyncio.create_subprocess_exec(*command, env=env, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


def stranger(pid: int) -> subprocess.Popen[bytes]:
    """Start a process that gets exactly this number, and leads its own session and group as a job would."""
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
    found = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    assert found.pid == pid
    return found


async def buried(pid: int) -> None:
    def gone() -> bool:
        machine.reap_unknown_children()
        return kernel.stat(pid) is None

    await until(gone, f"{pid} is buried")


async def everybody_dies(yard: Yard) -> None:
    """Scheduler's restart after job, minder and nursery have gone, each number taken by a stranger of our own user."""
    launcher = MinderLauncher()
    spec = yard.spec("echo $$ > pid; exec sleep 1000")
    handle = await launcher.launch(spec)
    job = await until(lambda: number_in(yard.file("pid")))
    assert handle.pid is not None
    found = kernel.stat(handle.pid)
    assert found is not None
    numbers = [found.parent, handle.pid, job]
    await launcher.close()
    for pid in numbers:
        kill(pid)
        await buried(pid)
    strangers = [stranger(pid) for pid in numbers]
    second = MinderLauncher()
    assert await second.find(yard.ref(spec, handle.pid)) == Lost("exit unknown: minder and nursery are gone")
    for one in strangers:
        assert one.poll() is None
        one.kill()
        one.wait()
    await second.close()


async def a_bare_job_ends_under_a_kill(yard: Yard) -> None:
    """While nobody guards it the job ends and its number is taken: an order to end it hurts nobody."""
    launcher = MinderLauncher()
    spec = yard.spec("echo $$ > pid; exec sleep 1000", kill_grace_s=0.1)
    handle = await launcher.launch(spec)
    job = await until(lambda: number_in(yard.file("pid")))
    assert handle.pid is not None
    found = kernel.stat(handle.pid)
    assert found is not None
    for pid in (found.parent, handle.pid):
        kill(pid)
        await buried(pid)
    second = MinderLauncher()
    adopted = await second.find(yard.ref(spec, handle.pid))
    assert isinstance(adopted, Running)
    kill(job)
    await buried(job)
    other = stranger(job)
    adopted.handle.terminate("kill")
    result = await adopted.handle.wait()
    assert result.lost is not None
    await asyncio.sleep(0.3)
    assert other.poll() is None
    other.kill()
    other.wait()
    await launcher.close()
    await second.close()


async def a_guardian_is_not_mistaken(yard: Yard) -> None:
    """An order to stop is never signalled to a number that another process has by now."""
    ours = subprocess.Popen(["sleep", "1000"])
    ticks = kernel.start_ticks(ours.pid)
    assert ticks is not None
    proc = notes.Proc(ours.pid, ticks)
    assert kernel.send(proc, 0)
    ours.kill()
    ours.wait()
    await asyncio.sleep(0.05)
    other = stranger(ours.pid)
    assert not kernel.send(proc, signal.SIGKILL)
    assert alive(other.pid)
    other.kill()
    other.wait()
    assert yard.home.exists()


@pytest.mark.parametrize("pidfd", [True, False])
@pytest.mark.parametrize("scenario", [everybody_dies, a_bare_job_ends_under_a_kill, a_guardian_is_not_mistaken])
async def test_a_number_that_comes_round_again(
    tmp_path: Path, scenario: Callable[[Yard], Awaitable[None]], *, pidfd: bool
) -> None:
    """Start ticks and boot id tell a job from whoever has its number now, with a pidfd and without."""
    await inside(tmp_path, scenario, **({} if pidfd else {"PYSCHED_NO_PIDFD": "1"}))
