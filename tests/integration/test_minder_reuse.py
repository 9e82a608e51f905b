"""How minders are used again, how they go, and what is left of them: nothing. DESIGN 4, "Nursery"; FC-038, FC-066."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.engine import machine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.errors import LaunchError
from pyscheduler.minder import kernel, notes, rehearsal, watch
from tests.yard import Yard, alive, hurried, kill, minders, until


async def minder_for(launcher: MinderLauncher, spec: LaunchSpec) -> int:
    """Run an attempt to its end and return who minded it."""
    handle = await launcher.launch(spec)
    await handle.wait()
    assert handle.pid is not None
    return handle.pid


def nursery_above(minder: int) -> int:
    found = kernel.stat(minder)
    assert found is not None
    return found.parent


def nursery_named_by(spec: LaunchSpec) -> int:
    found = notes.parse_identity(Path(f"{spec.status_path}.pid").read_bytes(), spec.key)
    assert found is not None
    assert found.nursery is not None
    return found.nursery.pid


def children_of(pid: int) -> list[kernel.Stat]:
    return [one for one in kernel.processes().values() if one.parent == pid]


async def test_a_clean_minder_takes_the_next_order(tmp_path: Path) -> None:
    """Attempt after attempt under one process; a code, a signal or a start error of the job is clean too."""
    async with minders(tmp_path) as (launcher, yard):
        specs = [yard.spec("true"), yard.spec("exit 3"), yard.spec("kill -9 $$"), yard.spec("no-such", "x")]
        assert len({await minder_for(launcher, spec) for spec in specs}) == 1


@pytest.mark.parametrize("kind", ["leftovers", "nice", "max_log", "kill"])
async def test_after_anything_else_a_fresh_minder_comes(tmp_path: Path, kind: str) -> None:
    """Leftovers, special set-up, or an order to stop: that minder is not used again."""
    async with minders(tmp_path) as (launcher, yard):
        if kind == "kill":
            handle = await launcher.launch(yard.spec("exec sleep 60"))
            first = handle.pid
            handle.kill()
            await handle.wait()
        else:
            script = "sleep 60 &" if kind == "leftovers" else "true"
            more: dict[str, Any] = {"nice": {"nice": 1}, "max_log": {"max_log_bytes": 1000}}.get(kind, {})
            first = await minder_for(launcher, yard.spec(script, **more))
        assert await minder_for(launcher, yard.spec("true")) != first
        assert first is not None
        await until(lambda: not alive(first), "the used minder has gone")


async def test_an_idle_minder_goes_by_itself(tmp_path: Path) -> None:
    """Some seconds without an order, and at the end nothing is left: no minder, no zombie."""
    async with minders(tmp_path, python=hurried(tmp_path, watch__IDLE_S=0.2)) as (launcher, yard):
        minder = await minder_for(launcher, spec := yard.spec("true"))
        nursery = nursery_named_by(spec)  # the minder itself may be gone already
        await until(lambda: kernel.stat(minder) is None, "the minder has gone and is buried")
        assert children_of(nursery) == []
        assert await minder_for(launcher, yard.spec("true")) != minder


async def test_a_minder_retires_after_its_last_attempt(tmp_path: Path) -> None:
    """A bound on whatever might pile up in a process that lives long: a thousand attempts, here three."""
    assert watch.ATTEMPTS_MAX == 1000
    async with minders(tmp_path, python=hurried(tmp_path, watch__ATTEMPTS_MAX=3)) as (launcher, yard):
        found = [await minder_for(launcher, yard.spec("true")) for _ in range(6)]
        assert (len(set(found[:3])), len(set(found[3:])), len(set(found))) == (1, 1, 2)


async def test_a_minder_does_not_grow(tmp_path: Path) -> None:
    """What one attempt allocates is given back before the next."""
    async with minders(tmp_path) as (launcher, yard):
        for _ in range(20):
            first = await minder_for(launcher, yard.spec("true"))
        before = _private(first)
        for _ in range(60):
            assert await minder_for(launcher, yard.spec("true")) == first
        assert _private(first) - before < 128 * 1024


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def _links(folder: Path) -> list[str]:
    """Return what is open once the job runs: null thrice, signals, orders, reports, OOM score, two files."""
    try:
        links = [os.readlink(fd) for fd in folder.iterdir()]
    except FileNotFoundError:  # closed between the two looks: the job is just being started
        return []
    return links if len(links) == 9 else []


async def test_a_minder_has_nothing_open_but_its_own(tmp_path: Path) -> None:
    """Born with every descriptor of the nursery, it closes them first: others' orders and locks, and the launcher."""
    async with minders(tmp_path) as (launcher, yard):
        specs = [yard.spec("while [ ! -e go ]; do sleep 0.02; done") for _ in range(8)]
        handles = [await launcher.launch(spec) for spec in specs]
        for handle, spec in zip(handles, specs, strict=True):
            folder = Path(f"/proc/{handle.pid}/fd")
            links = await until(partial(_links, folder))
            files = {link for link in links if link.startswith(str(yard.status))}
            assert files == {f"{spec.status_path}.pid", f"{spec.status_path}.new"}
            assert not any(link.startswith("socket:") for link in links)
        yard.file("go").touch()
        await asyncio.gather(*(handle.wait() for handle in handles))


async def test_at_the_launchers_end_everything_ends_with_its_work(tmp_path: Path) -> None:
    """End-of-file: idle minders go at once, busy ones with their attempt, the nursery with the last of them."""
    yard = Yard(tmp_path)
    launcher = MinderLauncher()
    idle = await minder_for(launcher, yard.spec("true"))
    busy = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; sleep 60 & exit 0"))
    assert busy.pid is not None
    other = await minder_for(launcher, yard.spec("true"))
    nursery = nursery_above(busy.pid)
    await launcher.close()
    await until(lambda: not alive(idle) or idle == busy.pid)
    await until(lambda: not alive(other))
    assert alive(busy.pid)
    yard.file("go").touch()
    await until(lambda: not alive(nursery), "leftovers do not keep the nursery")
    assert not alive(busy.pid)
    async with minders(tmp_path) as (_, cleaner):
        cleaner.keys = yard.keys


async def test_no_zombie_is_left(tmp_path: Path) -> None:
    """Background children, daemons, killed jobs, missing programs, killed minders: all are buried. FC-038."""
    async with minders(tmp_path) as (launcher, yard):
        scripts = [
            ("sleep 0.2 & exit 0",),
            ("exec sleep 0.1",),
            ("(setsid sleep 0.3 >/dev/null 2>&1 &); exit 0",),
            ("kill -9 $$",),
            ("no-such-program", "x"),
        ]
        nursery = nursery_above(await minder_for(launcher, yard.spec("true")))
        earlier = {one.pid for one in children_of(os.getpid())} - {nursery}  # nurseries of tests before this one
        handles = [await launcher.launch(yard.spec(*script)) for script in scripts * 4]
        doomed = await launcher.launch(yard.spec("touch up; sleep 0.2; exit 5"))
        await until(yard.file("up").exists)
        assert doomed.pid is not None
        kill(doomed.pid)
        await asyncio.gather(*(handle.wait() for handle in handles))
        assert (await doomed.wait()).exit_code == 5

        def zombies() -> list[int]:
            table = kernel.processes().values()
            dead = {one.pid for one in table if not one.alive and one.parent in (nursery, os.getpid())}
            return sorted(dead - earlier)

        await until(lambda: not zombies(), "zombies are buried")
        await until(lambda: all(one.alive for one in children_of(nursery)))


async def test_descriptors_and_threads_of_the_launcher_return_to_base(tmp_path: Path) -> None:
    """Attempts, adoptions and a nursery's death leave nothing open in the scheduler's process."""

    before, threads = open_files(), set(threading.enumerate())  # some of an earlier test may just be going
    yard = Yard(tmp_path)
    launcher = MinderLauncher()
    handles = [await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done")) for _ in range(10)]
    assert handles[0].pid is not None
    kill(nursery_above(handles[0].pid))
    await launcher.launch(yard.spec("true"))
    yard.file("go").touch()
    for handle in handles:
        assert (await handle.wait()).exit_code == 0
    await launcher.close()
    await until(lambda: open_files() <= before, "descriptors")
    await until(lambda: set(threading.enumerate()) <= threads, "threads")


def open_files() -> set[str]:
    """Return what is open in this process, without what is closed while one looks."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(f"{fd}:{os.readlink(f'/proc/self/fd/{fd}')}")
    return found


# ------------------------------------------------------------------------------- when the machine has no room


async def test_a_rehearsal_leaves_nothing_behind(tmp_path: Path) -> None:
    """What the nursery plays through before its first fork is gone when the first attempt runs, and told to nobody."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    abandoned = Path(rehearsal.MEMORY) / f"{rehearsal.PREFIX}{dead.pid}.0"
    draft = Path(tempfile.mkdtemp(dir=rehearsal.MEMORY))  # any nursery of this machine may tidy up what has the name
    (draft / "0.json").touch()
    draft.rename(abandoned)
    async with minders(tmp_path, env={"PYSCHED_CRASH": "claim.opened:2"}) as (launcher, yard):
        nursery = nursery_above(await minder_for(launcher, yard.spec("true")))
        assert not abandoned.exists()
        assert not list(Path(rehearsal.MEMORY).glob(f"{rehearsal.PREFIX}{nursery}.*"))
        assert [one for one in children_of(nursery) if not one.alive] == []
        assert len(os.listdir(f"/proc/{nursery}/fd")) == 8


@contextmanager
def no_descriptors(nursery: int) -> Iterator[None]:
    """Leave the nursery without a free descriptor."""
    limits = resource.prlimit(nursery, resource.RLIMIT_NOFILE)
    resource.prlimit(nursery, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{nursery}/fd")) + 8, limits[1]))
    yield
    resource.prlimit(nursery, resource.RLIMIT_NOFILE, limits)


PIDS = Path("/sys/fs/cgroup/pids")
NO_PIDS = pytest.mark.skipif(
    os.getuid() == 0 and not os.access(PIDS / "cgroup.procs", os.W_OK), reason="nothing here limits root's processes"
)


@contextmanager
def no_processes(nursery: int) -> Iterator[None]:
    """Leave the nursery without room for a child: root is bound by a cgroup only, everybody else by a limit."""
    if os.getuid() != 0:
        limits = resource.prlimit(nursery, resource.RLIMIT_NPROC)
        resource.prlimit(nursery, resource.RLIMIT_NPROC, (1, limits[1]))
        yield
        resource.prlimit(nursery, resource.RLIMIT_NPROC, limits)
        return
    group = PIDS / f"minder-test-{nursery}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(nursery))
    (group / "pids.max").write_text("1")
    yield
    (group / "pids.max").write_text("max")
    (group.parent / "cgroup.procs").write_text(str(nursery))
    group.rmdir()


@pytest.mark.parametrize("starve", [no_descriptors, pytest.param(no_processes, marks=NO_PIDS)])
async def test_where_the_machine_has_no_room_a_start_fails_with_the_reason(
    tmp_path: Path, starve: Callable[[int], AbstractContextManager[None]]
) -> None:
    """fork or pipe refuses: that start fails, nothing loops, what runs goes on, and the next one has room. FC-066."""
    async with minders(tmp_path) as (launcher, yard):
        busy = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done"))
        assert busy.pid is not None
        nursery = nursery_above(busy.pid)
        with starve(nursery):
            before = _cpu(nursery)
            for _ in range(3):
                with pytest.raises(LaunchError, match="cannot start: "):
                    await launcher.launch(yard.spec("touch ran"))
            assert _cpu(nursery) - before < 1.0
        assert await minder_for(launcher, yard.spec("true"))
        assert not yard.file("ran").exists()
        assert [path for path in yard.status.glob("*.pid") if path.stat().st_size == 0] == []
        yard.file("go").touch()
        assert (await busy.wait()).exit_code == 0


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@NO_PIDS
async def test_a_job_that_cannot_be_forked_is_a_start_error(tmp_path: Path) -> None:
    """The minder is there and the job finds no room: the note says so in the system's words."""
    async with minders(tmp_path) as (launcher, yard):
        minder = await minder_for(launcher, yard.spec("true"))
        with no_processes(minder):
            handle = await launcher.launch(yard.spec("touch ran"))
            result = await handle.wait()
        assert handle.pid == minder
        assert result.start_error == "[Errno 11] Resource temporarily unavailable: '/bin/sh'"
        assert not yard.file("ran").exists()
        assert await minder_for(launcher, yard.spec("true")) == minder


async def test_a_scheduler_that_is_pid_1_buries_strangers(tmp_path: Path) -> None:
    """Orphans of other sessions are reaped; a child that somebody here waits for by number is not."""
    stranger = os.posix_spawn("/bin/true", ["true"], {}, setsid=True)
    ours = os.posix_spawn("/bin/true", ["true"], {}, setsid=True)
    same = os.posix_spawn("/bin/true", ["true"], {})
    machine.children_of_ours.add(ours)
    try:
        await until(lambda: not any(alive(pid) for pid in (stranger, ours, same)))
        await until(lambda: machine.reap_unknown_children() or kernel.stat(stranger) is None)
        assert kernel.stat(stranger) is None
        assert os.waitpid(ours, 0)[0] == ours
        assert os.waitpid(same, 0)[0] == same
    finally:
        machine.children_of_ours.discard(ours)
