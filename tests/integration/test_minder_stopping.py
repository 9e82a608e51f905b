"""Ending a job: its whole tree, in time, and an honest word about what would not die. DESIGN 4, "Stopping"; FC-040."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from pyscheduler.engine import attempts
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.ports import AttemptHandle
from pyscheduler.model.result import AttemptResult
from tests.yard import (
    PATIENCE_S,
    Yard,
    alive,
    carriers,
    hurried,
    kill,
    minders,
    no_timeout_before,
    number_in,
    until,
)

WRITE_FOR_EVER = "while :; do date >> grows; sleep 0.05; done"


async def stops_growing(path: Path) -> None:
    """Assert that nobody writes there any more."""
    size = path.stat().st_size
    await asyncio.sleep(0.3)
    assert path.stat().st_size == size


async def growing(yard: Yard) -> Path:
    path = yard.file("grows")
    await until(lambda: path.exists() and path.stat().st_size > 0)
    return path


def state_of(pid: int) -> str:
    """Return the kernel's letter for what a process does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stop_file(yard: Yard, handle: AttemptHandle, **fields: object) -> Path:
    del handle
    (status,) = {path for path in yard.status.iterdir() if path.name.endswith(".pid")}
    path = Path(str(status).removesuffix(".pid") + ".stop")
    path.write_text(json.dumps(fields))
    return path


TREES = {
    "a child in the group ignores TERM": f"(trap '' TERM; {WRITE_FOR_EVER}) & wait",
    "a child left the session": f"setsid sh -c \"trap '' TERM; {WRITE_FOR_EVER}\" & wait",
    "a daemon forked twice, closed its output and ignores TERM": (
        f"(setsid sh -c \"trap '' TERM; {WRITE_FOR_EVER}\" >/dev/null 2>&1 </dev/null &) ; sleep 60"
    ),
    "it has dropped its environment and its parents": (
        f"(env -i PATH=$PATH setsid sh -c \"trap '' TERM; {WRITE_FOR_EVER}\" >/dev/null 2>&1 </dev/null &) ; sleep 60"
    ),
}


@pytest.mark.parametrize("tree", TREES)
async def test_the_whole_tree_ends(tmp_path: Path, tree: str) -> None:
    """TERM to all, KILL to what is left after the grace: the minder is above everything that the job ever forked."""
    async with minders(tmp_path) as (launcher, yard):
        handle = await launcher.launch(yard.spec(TREES[tree], kill_grace_s=0.3))
        path = await growing(yard)
        handle.terminate("kill", "enough")
        result = await handle.wait()
        assert (result.stopped_by, result.survivors) == ("kill", ())
        await stops_growing(path)


async def test_a_timeout_ends_the_whole_tree_too(tmp_path: Path) -> None:
    """FC-040 a: the leader dies of TERM, the stubborn child of KILL one grace later."""
    async with minders(tmp_path, python=hurried(tmp_path, no_timeout_before(tmp_path / "grows"))) as (launcher, yard):
        spec = yard.spec(TREES["a child in the group ignores TERM"], timeout_s=0.5, kill_grace_s=0.5)
        started = time.monotonic()
        handle = await launcher.launch(spec)
        path = await growing(yard)
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("timeout", signal.SIGTERM)
        assert time.monotonic() - started >= 1.0
        await stops_growing(path)


async def test_a_job_that_leaves_with_0_on_its_timeout_says_both(tmp_path: Path) -> None:
    """The exit code is kept beside the timeout; a job that ends in time is no timeout."""
    async with minders(tmp_path, python=hurried(tmp_path, no_timeout_before(tmp_path / "tidy"))) as (launcher, yard):
        tidy = "trap 'exit 0' TERM; touch tidy; while :; do sleep 0.02; done"
        result = await (await launcher.launch(yard.spec(tidy, timeout_s=0.2))).wait()
        assert (result.stopped_by, result.exit_code) == ("timeout", 0)
        result = await (await launcher.launch(yard.spec("sleep 600 & echo ok", timeout_s=PATIENCE_S))).wait()
        assert (result.stopped_by, result.exit_code) == (None, 0)


async def test_a_stopped_job_hears_term(tmp_path: Path) -> None:
    """A job that lies in SIGSTOP is continued so that it can end by itself."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("trap 'echo bye; exit 5' TERM; kill -STOP $$; while :; do sleep 0.02; done", kill_grace_s=60.0)
        handle = await launcher.launch(spec)
        identity = Path(f"{spec.status_path}.pid")
        pid = json.loads((await until(lambda: identity.read_text().splitlines()[1:]))[0])["job"]["pid"]
        await until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        handle.terminate("kill")
        result = await handle.wait()
        assert (result.exit_code, result.stopped_by) == (5, "kill")


async def test_leftovers_of_a_normal_end_are_left_and_named(tmp_path: Path) -> None:
    """A background child outlives the job by default; the note says which."""
    async with minders(tmp_path) as (launcher, yard):
        handle = await launcher.launch(yard.spec("sleep 60 & echo $! > pid; exit 4"))
        result = await handle.wait()
        pid = number_in(yard.file("pid"))
        assert pid is not None
        assert (result.exit_code, result.leftovers, result.survivors) == (4, (pid,), ())
        assert alive(pid)


async def test_leftovers_are_ended_where_the_job_says_so(tmp_path: Path) -> None:
    """`leftovers: kill`: the exit code is the job's own, nothing of it lives on, nobody stopped it. FC-050."""
    async with minders(tmp_path) as (launcher, yard):
        script = f"({WRITE_FOR_EVER}) & while [ ! -e grows ]; do sleep 0.01; done; exit 4"
        handle = await launcher.launch(yard.spec(script, leftovers="kill", kill_grace_s=0.3))
        result = await handle.wait()
        assert (result.exit_code, result.stopped_by, result.leftovers, result.survivors) == (4, None, (), ())
        await stops_growing(yard.file("grows"))


async def test_a_thousand_children_end_with_their_parent(tmp_path: Path) -> None:
    """A big tree is signalled as one group and buried without a scan for each."""
    async with minders(tmp_path) as (launcher, yard):
        script = "i=0; while [ $i -lt 1000 ]; do sleep 300 & i=$((i+1)); done; touch all; wait"
        handle = await launcher.launch(yard.spec(script, kill_grace_s=30.0))
        await until(lambda: yard.file("all").exists())
        handle.terminate("kill")
        result = await handle.wait()
        assert (result.stopped_by, result.survivors) == ("kill", ())


async def test_a_bare_signal_to_look_does_nothing(tmp_path: Path) -> None:
    """SIGUSR1 only means "look": without a file, or with another attempt's, nothing happens."""
    async with minders(tmp_path) as (launcher, yard):
        handle = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 9"))
        assert handle.pid is not None
        os.kill(handle.pid, signal.SIGUSR1)
        stop_file(yard, handle, key="another", by="kill", reason="", at="")
        os.kill(handle.pid, signal.SIGUSR1)
        await asyncio.sleep(0.2)
        yard.file("go").touch()
        result = await handle.wait()
        assert (result.exit_code, result.stopped_by) == (9, None)


async def test_an_order_to_stop_that_was_there_first_starts_nothing(tmp_path: Path) -> None:
    """The minder looks right after it has written its identity: a kill that overtook the launch still counts."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("touch ran")
        yard.status.mkdir()
        Path(f"{spec.status_path}.stop").write_text(json.dumps({"key": spec.key, "by": "kill", "reason": "", "at": ""}))
        result = await (await launcher.launch(spec)).wait()
        assert (result.stopped_by, result.exit_code, result.signal, result.start_error) == ("kill", None, None, None)
        assert not yard.file("ran").exists()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_from_outside_is_passed_on_and_noted(tmp_path: Path, signum: signal.Signals) -> None:
    """A host going down tells the minder: the job hears it, and its end is a signal, never a success."""
    async with minders(tmp_path) as (launcher, yard):
        script = "trap 'echo heard; exit 0' TERM INT; touch up; while :; do sleep 0.02; done"
        spec = yard.spec(script)
        handle = await launcher.launch(spec)
        await until(lambda: yard.file("up").exists())
        assert handle.pid is not None
        os.kill(handle.pid, signum)
        result = await handle.wait()
        assert (result.signal, result.exit_code, result.stopped_by) == (signum, 0, None)
        assert yard.out(spec) == "heard\n"


async def test_an_order_to_stop_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    """Neither the job nor its minder: a disk at fault gives no orders."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("exit 3")
        Path(f"{spec.status_path}.stop").mkdir(parents=True)
        handle = await launcher.launch(spec)
        assert (await handle.wait()).exit_code == 3
        Path(f"{spec.status_path}.stop").rmdir()


async def test_terminate_then_kill_shortens_the_grace(tmp_path: Path) -> None:
    """The newest order counts for the time, the first for who ended it."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("trap '' TERM; touch up; while :; do sleep 0.02; done", kill_grace_s=600.0)
        handle = await launcher.launch(spec)
        await until(lambda: yard.file("up").exists())
        handle.terminate("timeout")
        await until(lambda: '"ending":"timeout"' in Path(f"{spec.status_path}.pid").read_text())
        handle.kill()
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("timeout", signal.SIGKILL)


async def test_terminate_of_an_ended_attempt_changes_nothing(tmp_path: Path) -> None:
    """No file appears for an attempt that nobody guards any more."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("true")
        handle = await launcher.launch(spec)
        first = await handle.wait()
        handle.terminate("kill")
        handle.kill()
        assert await handle.wait() == first
        assert not Path(f"{spec.status_path}.stop").exists()


@pytest.mark.parametrize("last", ["sleep 100", "exit 0"])
async def test_a_stopped_minder_is_continued_to_hear_an_order(tmp_path: Path, last: str) -> None:
    """A job that puts its own minder to sleep (`kill -STOP $PPID`) can be ended all the same."""
    async with minders(tmp_path) as (launcher, yard):
        handle = await launcher.launch(yard.spec(f"kill -STOP $PPID; {last}", kill_grace_s=0.5))
        await until(lambda: handle.pid is not None and state_of(handle.pid) == "T")
        if last == "exit 0":
            await until(lambda: not carriers(yard.keys), "the job has ended by itself")
        handle.terminate("kill")
        result = await asyncio.wait_for(handle.wait(), PATIENCE_S)
        expected = ("kill", signal.SIGTERM) if last != "exit 0" else (None, None)
        assert (result.stopped_by, result.signal) == expected


async def test_the_second_line_keeps_a_stopped_minders_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The minder sleeps through the deadline, so the engine orders the end, and the note says `timeout`."""
    monkeypatch.setattr(attempts, "SECOND_LINE_S", 0.3)
    ends: list[AttemptResult] = []

    async def on_end(_run_id: str, _number: int, result: AttemptResult) -> None:
        ends.append(result)

    async with minders(tmp_path) as (launcher, yard):
        minding = attempts.Attempts(launcher, SystemClock(), on_end, lambda *_: None)
        minding.launch(yard.spec("kill -STOP $PPID; sleep 100", timeout_s=1.0, kill_grace_s=0.5))
        (end,) = await until(lambda: ends)
        assert (end.stopped_by, end.signal) == ("timeout", signal.SIGTERM)


async def test_a_note_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A folder lies in the note's place: the run still counts as running, and its remark says why. Then it ends."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("exit 3")
        spec.status_path.mkdir(parents=True)
        handle = await launcher.launch(spec)
        said = f"it has ended, and its note {spec.status_path} cannot be written yet: Is a directory"
        await until(lambda: handle.remark == said, handle.remark)
        spec.status_path.rmdir()
        assert (await asyncio.wait_for(handle.wait(), PATIENCE_S)).exit_code == 3


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.mark.root
@pytest.mark.skipif(not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="only a frozen job outlives KILL")
async def test_a_leader_that_will_not_die_keeps_the_attempt_running(tmp_path: Path) -> None:
    """KILL and ten seconds later it still lives: no note, and the handle says so. Once it dies, the note follows."""
    group = FREEZER / f"minder-test-{os.getpid()}"
    group.mkdir()
    try:
        async with minders(tmp_path, python=hurried(tmp_path, guard__KILL_WAIT_S=0.5)) as (launcher, yard):
            spec = yard.spec("echo $$ > pid; exec sleep 600", kill_grace_s=0.1)
            handle = await launcher.launch(spec)
            pid = await until(lambda: number_in(yard.file("pid")))
            (group / "cgroup.procs").write_text(str(pid))
            (group / "freezer.state").write_text("FROZEN")
            news: list[str] = []
            handle.watch(lambda: news.append(handle.remark))
            handle.terminate("kill")
            await until(lambda: handle.remark == f"process {pid} does not die: KILL was sent")
            assert news[-1] == handle.remark
            assert not spec.status_path.exists()
            (group / "freezer.state").write_text("THAWED")
            result = await handle.wait()
            assert result.signal in (signal.SIGTERM, signal.SIGKILL)
            assert result.stopped_by == "kill"
    finally:
        (group / "freezer.state").write_text("THAWED")
        await until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@pytest.mark.root
@pytest.mark.skipif(not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="only a frozen job outlives KILL")
async def test_what_outlives_kill_is_named_as_a_survivor(tmp_path: Path) -> None:
    """The leader is dead and a child is not: the note comes after ten seconds and names it."""
    group = FREEZER / f"minder-survivor-{os.getpid()}"
    group.mkdir()
    pid = 0
    try:
        async with minders(tmp_path, python=hurried(tmp_path, guard__KILL_WAIT_S=0.5)) as (launcher, yard):
            spec = yard.spec("sleep 600 & echo $! > pid; exec sleep 600", kill_grace_s=0.1)
            handle = await launcher.launch(spec)
            pid = await until(lambda: number_in(yard.file("pid")))
            (group / "cgroup.procs").write_text(str(pid))
            (group / "freezer.state").write_text("FROZEN")
            handle.terminate("kill")
            result = await handle.wait()
            assert (result.survivors, result.stopped_by) == ((pid,), "kill")
            (group / "freezer.state").write_text("THAWED")
    finally:
        (group / "freezer.state").write_text("THAWED")
        kill(pid)
        await until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
