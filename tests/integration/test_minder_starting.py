"""How an order becomes a job, and what holds at the moments in between. DESIGN 4, "Starting" and "Nursery"."""

from __future__ import annotations

import array
import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.errors import LaunchError
from pyscheduler.minder import claim, kernel
from tests.yard import alive, hurried, kill, minders, number_in, until

WAITS = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; exit 7"


async def idle_minder(launcher: MinderLauncher, spec: LaunchSpec) -> tuple[int, int]:
    """Run an attempt; return its minder, idle now, and the nursery."""
    handle = await launcher.launch(spec)
    await handle.wait()
    assert handle.pid is not None
    found = kernel.stat(handle.pid)
    assert found is not None
    return handle.pid, found.parent


def lines(spec: LaunchSpec) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(f"{spec.status_path}.pid").read_text().splitlines()]


async def test_an_order_an_idle_minder_had_not_begun_goes_to_a_fresh_one(tmp_path: Path) -> None:
    """Killed with the order in its pipe: the file is still empty, so another minder may begin."""
    async with minders(tmp_path) as (launcher, yard):
        minder, nursery = await idle_minder(launcher, yard.spec("true"))
        kill(minder, signal.SIGSTOP)
        spec = yard.spec("echo x >> ran; exit 3")
        task = asyncio.ensure_future(launcher.launch(spec))
        await until(lambda: _handed_over(nursery, minder), "the order is in the minder's pipe")
        kill(minder)
        handle = await task
        assert handle.pid != minder
        assert (await handle.wait()).exit_code == 3
        assert yard.file("ran").read_text() == "x\n"


async def test_a_dead_job_that_was_never_named_still_has_its_code_read(tmp_path: Path) -> None:
    """The minder dies right after the spawn, the job before anybody looks: it is the one session leader that fell."""
    env = {"PYSCHED_CRASH": "spawn.after:2"}
    async with minders(tmp_path, env=env) as (launcher, yard):
        minder, nursery = await idle_minder(launcher, yard.spec("true"))
        kill(minder, signal.SIGSTOP)
        spec = yard.spec("touch ran; exit 6")
        task = asyncio.ensure_future(launcher.launch(spec))
        await until(lambda: _handed_over(nursery, minder), "the order is in the minder's pipe")
        kill(nursery, signal.SIGSTOP)
        kill(minder, signal.SIGCONT)
        await until(lambda: yard.file("ran").exists() and not alive(minder))
        await until(lambda: not [pid for pid in _carriers(spec) if alive(pid)], "the job is dead")
        kill(nursery, signal.SIGCONT)
        handle = await task
        assert (await handle.wait()).exit_code == 6
        assert "job" not in {key for line in lines(spec) for key in line}


async def test_a_strangers_wait_keeps_an_unsettled_wards_job(tmp_path: Path) -> None:
    """While somebody only looks, the nursery cannot settle whose that dead child is: it reaps nothing meanwhile."""
    env = {"PYSCHED_CRASH": "spawn.after:2"}
    async with minders(tmp_path, env=env) as (launcher, yard):
        minder, nursery = await idle_minder(launcher, yard.spec("true"))
        kill(minder, signal.SIGSTOP)
        spec = yard.spec("touch ran; exit 6")
        task = asyncio.ensure_future(launcher.launch(spec))
        await until(lambda: _handed_over(nursery, minder), "the order is in the minder's pipe")
        kill(nursery, signal.SIGSTOP)
        kill(minder, signal.SIGCONT)
        await until(lambda: yard.file("ran").exists() and not alive(minder))
        with Path(f"{spec.status_path}.pid").open("r+") as looker:
            await until(lambda: claim.try_lock(looker.fileno()), "the dead minder's lock is free")
            kill(nursery, signal.SIGCONT)
            await asyncio.sleep(1.5)  # longer than an orphan otherwise waits for its burial
        handle = await task
        assert (await handle.wait()).exit_code == 6


async def test_half_an_order_in_a_small_pipe_is_none(tmp_path: Path) -> None:
    """A user with very many pipes gets small ones: what does not fit whole goes to a fresh minder at once."""
    async with minders(tmp_path) as (launcher, yard):
        minder, _ = await idle_minder(launcher, yard.spec("true"))
        for fd in Path(f"/proc/{minder}/fd").iterdir():
            if os.readlink(fd).startswith("pipe:") and _mode(minder, fd.name) == "r":
                mine = os.open(fd, os.O_RDONLY | os.O_NONBLOCK)
                fcntl.fcntl(mine, fcntl.F_SETPIPE_SZ, 4096)
                os.close(mine)
        handle = await launcher.launch(yard.spec("exit 3", env={"BIG": "x" * 20_000}))
        assert (await handle.wait()).exit_code == 3
        assert handle.pid != minder


def _carriers(spec: LaunchSpec) -> list[int]:
    return [pid for pid in kernel.processes() if kernel.carries(pid, spec.key)]


def _handed_over(nursery: int, minder: int) -> bool:
    """Whether the nursery has handed the order over: its turn is done once it waits again."""
    found, waits = kernel.stat(nursery), Path(f"/proc/{nursery}/wchan").read_text()
    return found is not None and found.state == "S" and "poll" in waits and _order_waits(minder)


def _order_waits(minder: int) -> bool:
    for fd in Path(f"/proc/{minder}/fd").iterdir():
        if os.readlink(fd).startswith("pipe:") and "r" in _mode(minder, fd.name):
            mine = os.open(fd, os.O_RDONLY | os.O_NONBLOCK)
            count = array.array("i", [0])
            fcntl.ioctl(mine, termios.FIONREAD, count)
            os.close(mine)
            if count[0]:
                return True
    return False


def _mode(pid: int, fd: str) -> str:
    flags = next(line for line in Path(f"/proc/{pid}/fdinfo/{fd}").read_text().splitlines() if line.startswith("flags"))
    return "r" if int(flags.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY else "w"


@contextmanager
def leased(path: Path) -> Iterator[None]:
    """Let everybody who opens the file, to exec it or else, wait until the block is over. The kernel waits 45 s."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # by which the kernel says that somebody waits
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield
    finally:
        os.close(fd)
        signal.signal(signal.SIGIO, before)


async def test_between_fork_and_exec_the_lock_is_held_by_the_child(tmp_path: Path) -> None:
    """Minder killed while its child waits to exec: nobody can take the attempt until the key is in the environment."""
    shell = Path(shutil.copy("/bin/sh", tmp_path / "slow-sh"))
    async with minders(tmp_path) as (launcher, yard):
        with leased(shell):
            spec = yard.spec(str(shell), "-c", WAITS)
            handle = await launcher.launch(spec)
            minder = handle.pid
            assert minder is not None

            def child() -> list[int]:
                return [one.pid for one in kernel.processes().values() if one.parent == minder]

            (pid,) = await until(child, "the child is forked")
            kill(minder)
            await until(lambda: kernel.stat(minder) is None or not alive(minder))
            assert not kernel.carries(pid, spec.key)
            with Path(f"{spec.status_path}.pid").open("r+") as identity:
                assert not claim.try_lock(identity.fileno())
        await until(lambda: kernel.carries(pid, spec.key), "exec has happened")
        await until(lambda: handle.remark == f"minder gone, the nursery guards process {pid}", handle.remark)
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_nothing_is_imported_after_the_first_fork(tmp_path: Path) -> None:
    """An upgrade may replace every file under a running nursery: it and its minders have all they need."""
    spy = f"""
def spy(event, args):
    if event == "import": open({str(tmp_path / "imported")!r}, "a").write(str(args[0]) + chr(10))
freeze = room("nursery").gc.freeze
def frozen(): freeze(); sys.addaudithook(spy)
room("nursery").gc.freeze = frozen
"""
    async with minders(tmp_path, python=hurried(tmp_path, spy)) as (launcher, yard):
        specs = [
            yard.spec("exit 1"),
            yard.spec("sleep 5 & exit 1"),
            yard.spec("no-such-program", "x"),
            yard.spec("exit 1", nice=1, limits={"core": 0}),
            yard.spec("seq 10000", max_log_bytes=1000),
            yard.spec("sleep 60", timeout_s=0.1, kill_grace_s=0.1),
            yard.spec("true", cwd="/nowhere"),
        ]
        for spec in specs:
            await (await launcher.launch(spec)).wait()
        doomed = await launcher.launch(yard.spec(WAITS))
        await until(lambda: number_in(yard.file("pid")))
        assert doomed.pid is not None
        kill(doomed.pid)
        yard.file("go").touch()
        assert (await doomed.wait()).exit_code == 7
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()


async def test_a_fault_of_ours_in_a_minder_costs_no_exit_code(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A bug kills one minder; the nursery takes over, and the traceback reaches the scheduler's log."""
    bug = "def bug(*a): raise RuntimeError('on purpose')\nroom('watch').Minder._watch = bug"
    async with minders(tmp_path, python=hurried(tmp_path, bug)) as (launcher, yard):
        handle = await launcher.launch(yard.spec("sleep 0.1; exit 5"))
        assert (await handle.wait()).exit_code == 5
        assert "RuntimeError: on purpose" in caplog.text


async def test_a_takeover_that_fails_is_tried_again(tmp_path: Path) -> None:
    """No descriptor left for a look at /proc: the lock is let go, taken again, and the code still read."""
    bug = """
judge = room("wards").Ward._judge
faults = [OSError(24, "Too many open files")]
def fail(*args):
    if faults: raise faults.pop()
    return judge(*args)
room("wards").Ward._judge = fail
room("wards").FAULT_RETRY_S = 0.1
"""
    async with minders(tmp_path, python=hurried(tmp_path, bug)) as (launcher, yard):
        handle = await launcher.launch(yard.spec(WAITS))
        await until(lambda: number_in(yard.file("pid")))
        assert handle.pid is not None
        kill(handle.pid)
        await until(lambda: handle.remark)
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_a_host_going_down_is_heard_by_the_nursery(tmp_path: Path) -> None:
    """SIGTERM: passed on to its wards, no more orders, and it stays until the last attempt has ended."""
    async with minders(tmp_path) as (launcher, yard):
        ward = await launcher.launch(yard.spec("trap 'exit 9' TERM; " + WAITS))
        await until(lambda: number_in(yard.file("pid")))
        assert ward.pid is not None
        found = kernel.stat(ward.pid)
        assert found is not None
        nursery = found.parent
        kill(ward.pid)
        await until(lambda: ward.remark)
        other = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 4"))
        kill(nursery, signal.SIGTERM)
        result = await ward.wait()
        assert (result.exit_code, result.signal) == (9, signal.SIGTERM)
        assert (await (await launcher.launch(yard.spec("exit 3"))).wait()).exit_code == 3
        assert alive(nursery)
        yard.file("go").touch()
        assert (await other.wait()).exit_code == 4
        await until(lambda: not alive(nursery))


async def test_a_hangup_reaches_the_job_only(tmp_path: Path) -> None:
    """Minder and nursery have no terminal and no use for SIGHUP; the job gets it with its default meaning."""
    async with minders(tmp_path) as (launcher, yard):
        handle = await launcher.launch(yard.spec(WAITS))
        pid = await until(lambda: number_in(yard.file("pid")))
        assert handle.pid is not None
        found = kernel.stat(handle.pid)
        assert found is not None
        kill(handle.pid, signal.SIGHUP)
        kill(found.parent, signal.SIGHUP)
        kill(pid, signal.SIGHUP)
        result = await handle.wait()
        assert (result.signal, result.stopped_by) == (signal.SIGHUP, None)
        assert alive(found.parent)


async def test_sweep_leaves_what_is_guarded(tmp_path: Path) -> None:
    """Whatever the store says: files whose lock is held stay."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        await until(lambda: number_in(yard.file("pid")))
        assert await launcher.sweep(yard.status, lambda key: True) == ()
        assert Path(f"{spec.status_path}.pid").exists()
        yard.file("go").touch()
        await handle.wait()
        await launcher.sweep(yard.status, lambda key: True)
        assert list(yard.status.iterdir()) == []


async def test_a_missing_state_folder_has_nothing_to_sweep(tmp_path: Path) -> None:
    """The first start of all."""
    async with minders(tmp_path) as (launcher, yard):
        assert await launcher.sweep(yard.status, lambda key: None) == ()


async def test_a_nursery_that_cannot_be_started_is_a_launch_error(tmp_path: Path) -> None:
    """No interpreter at that path: nothing was started, and no file is left that anybody could begin."""
    async with minders(tmp_path, python=str(tmp_path / "no-python")) as (launcher, yard):
        with pytest.raises(LaunchError, match="the nursery cannot be started: No such file or directory"):
            await launcher.launch(yard.spec("touch ran"))
        assert list(yard.status.iterdir()) == []


def test_a_scheduler_started_by_a_job_sheds_the_jobs_key() -> None:
    """Whoever carries the key counts as a process of that attempt, so it is started again without."""
    program = "from pyscheduler.engine import machine; machine.shed_attempt_key(); "
    program += "print(b'PYSCHED_ATTEMPT_KEY' in open('/proc/self/environ', 'rb').read(), __import__('sys').argv[1:])"
    env = {**os.environ, "PYTHONPATH": ":".join(path for path in sys.path if path), "PYSCHED_ATTEMPT_KEY": "k"}
    done = subprocess.run([sys.executable, "-c", program, "a b"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "False ['a b']\n"
