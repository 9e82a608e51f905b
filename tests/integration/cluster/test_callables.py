"""A callable under a minder: output, environment, exit code, signals, and what becomes of it when one of three dies."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pyscheduler.cluster.callables import Holder, wants_context
from pyscheduler.cluster.hold import LOST_CODE
from pyscheduler.cluster.task import Context
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptHandle, LaunchSpec
from pyscheduler.minder import kernel
from tests.yard import PATIENCE_S, number_in

CONTEXT = Context(
    task="job",
    run_id="job.2027-05-20.1",
    scheduled_at=datetime(2027, 5, 20, tzinfo=UTC),
    run_date=date(2027, 5, 20),
    attempt=1,
    token=1,
)


@asynccontextmanager
async def launched(
    folder: Path, payload: Callable[..., object], *, kill_grace_s: float = 0.3
) -> AsyncIterator[tuple[AttemptHandle, Holder]]:
    """Give a callable's attempt under way."""
    launcher, holder = MinderLauncher(), Holder(payload, CONTEXT)
    key = secrets.token_hex(8)
    spec = LaunchSpec(
        run_id=CONTEXT.run_id,
        attempt=1,
        key=key,
        argv=holder.argv(),
        env={"PATH": os.environ["PATH"], "GIVEN": "ä"},
        stdout_path=folder / "out",
        stderr_path=folder / "err",
        status_path=folder / f"status.{key}.json",
        kill_grace_s=kill_grace_s,
    )
    try:
        yield await launcher.launch(spec), holder
    finally:
        holder.close()
        with suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGKILL)
        while not holder.reap():
            await asyncio.sleep(0.01)
        await launcher.close()


async def fact(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_it_writes_to_its_log_with_its_environment(tmp_path: Path) -> None:
    """And has nothing of the scheduler's but what it refers to."""
    secret = "kept"

    def payload(context: Context) -> None:
        fds = [int(name) for name in os.listdir("/proc/self/fd")]
        print(context.run_id, os.environ["GIVEN"], secret, min(os.environ), max(fds) < 8)
        print("oops", file=sys.stderr)

    async with launched(tmp_path, payload) as (handle, _):
        result = await handle.wait()
    assert (result.exit_code, result.signal) == (0, None)
    assert (tmp_path / "out").read_text() == "job.2027-05-20.1 ä kept GIVEN True\n"
    assert (tmp_path / "err").read_text() == "oops\n"


@pytest.mark.parametrize(
    ("payload", "code", "number"),
    [
        (lambda: sys.exit(3), 3, None),
        (lambda: sys.exit(), 0, None),
        (lambda: sys.exit("no"), 1, None),
        (lambda: 1 / 0, 1, None),
        (lambda: os._exit(9), 9, None),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), None, 9),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), None, 11),
    ],
)
async def test_its_end_is_its_own(
    tmp_path: Path, payload: Callable[[], object], code: int | None, number: int | None
) -> None:
    """Exit codes and signals arrive as they were."""
    async with launched(tmp_path, payload) as (handle, _):
        result = await handle.wait()
    assert (result.exit_code, result.signal) == (code, number)


async def test_it_is_stopped_as_a_command_is(tmp_path: Path) -> None:
    """TERM first; one that ignores it is killed after its grace, with all of its session."""

    def stubborn() -> None:
        signal.signal(signal.SIGTERM, lambda *_: print("no", flush=True))
        (tmp_path / "pid").write_text(f"{os.getpid()}\n")
        while True:
            time.sleep(0.05)

    async with launched(tmp_path, stubborn, kill_grace_s=3.0) as (handle, _):  # it is to say no before it is killed
        await fact(lambda: number_in(tmp_path / "pid"))
        handle.terminate("kill")
        result = await handle.wait()
        assert result.stopped_by == "kill"
        pid = int((tmp_path / "pid").read_text())
        await fact(lambda: kernel.stat(pid) is None)
    assert (tmp_path / "out").read_text() == "no\n"


async def test_a_holder_that_dies_takes_the_call_with_it(tmp_path: Path) -> None:
    """The attempt ends with a code of its own, and nothing runs on unseen."""

    def waits() -> None:
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(60)

    async with launched(tmp_path, waits) as (handle, holder):
        await fact(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        pid = int((tmp_path / "pid").read_text())
        os.kill(holder.pid, signal.SIGKILL)
        result = await handle.wait()
        assert result.exit_code == LOST_CODE
        await fact(lambda: kernel.stat(pid) is None)
    assert "without a word" in (tmp_path / "err").read_text()


async def test_a_gate_that_nobody_opens_starts_nothing(tmp_path: Path) -> None:
    """The holder ends as soon as its scheduler lets go."""
    holder = Holder(lambda: (tmp_path / "ran").touch(), CONTEXT)
    assert not holder.reap()
    holder.close()
    await fact(holder.reap)
    assert not (tmp_path / "ran").exists()


def test_who_takes_an_argument_gets_the_context() -> None:
    """Defaults need nothing, and what has no signature is called as it stands."""
    assert wants_context(lambda context: context)
    assert not wants_context(lambda: None)
    assert not wants_context(lambda given=1: given)
    assert not wants_context(print)


async def test_a_program_with_many_open_files_has_callables_too(tmp_path: Path) -> None:
    """Numbers beyond 1,023, which select(2) does not take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(1100)]
    try:
        async with launched(tmp_path, lambda: print("done")) as (handle, _):
            result = await handle.wait()
        assert (result.exit_code, (tmp_path / "out").read_text()) == (0, "done\n")
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_gate_that_is_closed_again_opens_nothing(tmp_path: Path) -> None:
    """A job that is killed between its connection and its first word: the function does not run, not for an instant."""
    ran = tmp_path / "ran"
    holder = Holder(lambda: ran.touch(), CONTEXT)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(holder.argv()[-1])
    code = os.waitstatus_to_exitcode(os.waitpid(holder.pid, 0)[1])
    holder.close()
    assert code == LOST_CODE
    assert not ran.exists()


STOPPED_EARLY = """
import os, signal, socket, sys
from pyscheduler.cluster import hold

send_fds = socket.send_fds

def stopped(*given):
    os.kill(os.getpid(), signal.SIGTERM)
    return send_fds(*given)

socket.send_fds = stopped
hold.main(sys.argv[1])
"""


def test_a_stop_that_comes_with_the_start_is_passed_on_after_it(tmp_path: Path) -> None:
    """It stands in nobody's way: length, output and environment arrive whole, and then the stop."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.fspath(tmp_path / "gate"))
        listener.listen()
        job = subprocess.Popen([sys.executable, "-c", STOPPED_EARLY, os.fspath(tmp_path / "gate")])
        link, _ = listener.accept()
        with link:
            head, files, _, _ = socket.recv_fds(link, 4, 2)
            for file in files:
                os.close(file)
            assert len(files) == 2
            left = int.from_bytes(head, "big")
            while left:
                left -= len(link.recv(left))
            assert link.recv(16) == b"T"
            link.sendall(b"exit 0\n")
        assert job.wait(PATIENCE_S) == 0
