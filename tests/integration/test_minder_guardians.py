"""Who watches when a guardian is killed. DESIGN 4, "Second guardian" and "Finding again"."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.minding import finding
from pyscheduler.engine.ports import AttemptHandle, Finished, LaunchSpec, Lost, Running
from pyscheduler.minder import notes
from tests.yard import Yard, alive, hurried, kill, minders, no_timeout_before, number_in, until

WAITS = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; exit 7"


def identity(spec: LaunchSpec) -> list[dict[str, Any]]:
    """Return the lines of the attempt's identity."""
    return [json.loads(line) for line in Path(f"{spec.status_path}.pid").read_text().splitlines()]


def nursery_of(spec: LaunchSpec) -> int:
    pid: int = identity(spec)[0]["nursery"]["pid"]
    return pid


def remarked(handle: AttemptHandle) -> str:
    return handle.remark


async def up(yard: Yard) -> int:
    """Wait until the job has written its pid."""
    pid: int = await until(lambda: number_in(yard.file("pid")))
    return pid


def minder_of(handle: AttemptHandle) -> int:
    assert handle.pid is not None
    return handle.pid


async def orphan(launcher: MinderLauncher, spec: LaunchSpec, yard: Yard) -> tuple[AttemptHandle, int]:
    """Start an attempt, then kill its nursery and its minder: nobody guards it any more."""
    handle = await launcher.launch(spec)
    pid, minder, nursery = await up(yard), minder_of(handle), nursery_of(spec)
    kill(nursery)
    kill(minder)
    await until(lambda: "still runs" in handle.remark, handle.remark)
    return handle, pid


async def test_the_nursery_takes_over_and_reads_the_true_code(tmp_path: Path) -> None:
    """Minder killed -9: its job falls to the nursery, which names itself in the identity and writes the note."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        pid = await up(yard)
        kill(minder_of(handle))
        await until(lambda: handle.remark)
        assert handle.remark == f"minder gone, the nursery guards process {pid}"
        assert handle.pid is None
        assert identity(spec)[-1]["guardian"]["pid"] == nursery_of(spec)
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_a_nursery_without_a_launcher_sleeps(tmp_path: Path) -> None:
    """Its scheduler is gone and its last attempt runs on: it waits to be woken, and does not look round and round."""
    count = (
        "import os",
        "wait, nursery_pid = room('ears').Ears.wait, os.getpid()",
        "def counted(self, until, now):",
        f"    if os.getpid() == nursery_pid: open({str(tmp_path / 'turns')!r}, 'a').write('.')",
        "    return wait(self, until, now)",
        "room('ears').Ears.wait = counted",
    )
    async with minders(tmp_path, python=hurried(tmp_path, *count, line__ACK_S=0.05)) as (launcher, yard):
        handle = await launcher.launch(yard.spec("until [ -e go ]; do sleep 0.1; done"))
        assert handle.pid is not None
        await launcher.close()
        await asyncio.sleep(1.0)
        assert 0 < len(yard.file("turns").read_text()) < 50
        yard.file("go").touch()


async def test_the_nursery_goes_on_enforcing_the_limits(tmp_path: Path) -> None:
    """Timeout and grace stand in the identity: the ward ends as its minder would have ended it."""
    taken_over = tmp_path / "taken-over"
    async with minders(tmp_path, python=hurried(tmp_path, no_timeout_before(taken_over))) as (launcher, yard):
        script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done"
        handle = await launcher.launch(yard.spec(script, timeout_s=1.0, kill_grace_s=0.3))
        pid = await up(yard)
        kill(minder_of(handle))
        await until(lambda: handle.remark == f"minder gone, the nursery guards process {pid}", handle.remark)
        taken_over.touch()
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("timeout", signal.SIGKILL)
        assert not alive(pid)


async def test_the_nursery_obeys_an_order_to_stop(tmp_path: Path) -> None:
    """The order is a file: whoever guards now finds it, before and after the takeover."""
    async with minders(tmp_path) as (launcher, yard):
        for early in (False, True):
            spec = yard.spec("echo $$ > pid; exec sleep 600")
            handle = await launcher.launch(spec)
            await up(yard)
            minder = minder_of(handle)
            if early:  # ordered while the minder lies stopped, found by its heir
                kill(minder, signal.SIGSTOP)
                handle.terminate("kill", "early")
                await until(Path(f"{spec.status_path}.stop").exists)
            kill(minder)
            if not early:
                await until(partial(remarked, handle))
                handle.terminate("kill", "late")
            result = await handle.wait()
            assert (result.stopped_by, result.signal) == ("kill", signal.SIGTERM)
            yard.file("pid").unlink()


async def test_who_ended_the_job_outlives_the_minder_that_did(tmp_path: Path) -> None:
    """Killed between its TERM and its note: the nursery still writes "timeout", not a bare signal."""
    env = {"PYSCHED_CRASH": "job.ended", "PYSCHED_CRASH_ONCE": str(tmp_path / "died-at")}
    async with minders(tmp_path, env=env) as (launcher, yard):
        result = await (await launcher.launch(yard.spec("exec sleep 600", timeout_s=0.2))).wait()
        assert (result.stopped_by, result.signal) == ("timeout", signal.SIGTERM)


async def test_the_nursery_ends_what_the_minder_had_begun_to_end(tmp_path: Path) -> None:
    """TERM was sent and ignored, the minder killed, the order's file gone: the grace still runs out."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done", kill_grace_s=0.5)
        handle = await launcher.launch(spec)
        pid, minder = await up(yard), minder_of(handle)
        handle.terminate("kill")
        await until(lambda: '"ending":"kill"' in Path(f"{spec.status_path}.pid").read_text())
        kill(minder, signal.SIGSTOP)
        Path(f"{spec.status_path}.stop").unlink()
        kill(minder)
        result = await handle.wait()
        assert (result.stopped_by, result.signal, alive(pid)) == ("kill", signal.SIGKILL, False)


async def test_a_minder_alone_still_writes_the_note(tmp_path: Path) -> None:
    """Nursery killed -9: the attempt goes on under its minder, and the launcher follows it there."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        await up(yard)
        kill(nursery_of(spec))
        await until(lambda: not alive(nursery_of(spec)))
        other = await launcher.launch(yard.spec("exit 3"))
        assert (await other.wait()).exit_code == 3
        assert handle.remark == ""
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_without_any_guardian_the_job_still_counts_as_running(tmp_path: Path) -> None:
    """Minder and nursery killed: "minder gone, process N still runs"; lost only at that process's end."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle, pid = await orphan(launcher, spec, yard)
        assert handle.remark == f"minder gone, process {pid} still runs"
        assert handle.pid is None
        yard.file("go").touch()
        result = await handle.wait()
        assert result.lost is not None
        assert result.lost.startswith("exit unknown")
        assert await MinderLauncher().find(yard.ref(spec)) == Lost("exit unknown: minder and nursery are gone")


async def test_without_any_guardian_a_kill_still_acts(tmp_path: Path) -> None:
    """TERM, grace, KILL, process by process: also what left the group but carries the key."""
    async with minders(tmp_path) as (launcher, yard):
        script = "setsid sh -c \"trap '' TERM; while :; do date >> grows; sleep 0.05; done\" & " + WAITS
        handle, pid = await orphan(launcher, yard.spec(script, kill_grace_s=0.3), yard)
        await until(yard.file("grows").exists)
        handle.terminate("kill")
        result = await handle.wait()
        assert result.lost is not None
        assert result.stopped_by == "kill"
        assert not alive(pid)
        size = yard.file("grows").stat().st_size
        await asyncio.sleep(0.2)
        assert yard.file("grows").stat().st_size == size


async def test_a_recovery_finds_a_job_without_guardians(tmp_path: Path) -> None:
    """`find` by another launcher: running while the job or a process with its key lives, a kill of before counts."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS, kill_grace_s=0.2)
        _, pid = await orphan(launcher, spec, yard)
        async with minders(tmp_path) as (second, _):
            found = await second.find(yard.ref(spec, pid=1))
            assert isinstance(found, Running)
            found.handle.terminate("timeout")
            result = await found.handle.wait()
            assert (result.stopped_by, alive(pid)) == ("timeout", False)


async def test_a_boot_that_is_over_leaves_nothing_alive(tmp_path: Path) -> None:
    """The same numbers under another boot id are strangers: lost at once, nobody is signalled."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        pid = await up(yard)
        kill(nursery_of(spec))
        kill(minder_of(handle))
        await until(lambda: "still runs" in handle.remark)
        path = Path(f"{spec.status_path}.pid")
        first, *rest = path.read_text().splitlines()
        line = json.dumps({**json.loads(first), "boot_id": "an earlier one"})
        path.write_text("\n".join([line, *rest]) + "\n")
        found = await MinderLauncher().find(yard.ref(spec))
        assert found == Lost("exit unknown: the machine was restarted")
        assert alive(pid)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "never started"),
        ({"pid": 4711}, "may have run"),
        ({"boot_id": "an earlier one"}, "may have run"),
        ({"store_is_older": True}, "may have run"),
    ],
)
async def test_no_file_means_never_started_only_where_that_is_certain(
    tmp_path: Path, more: dict[str, Any], reason: str
) -> None:
    """A pid in the row, another boot, or a store older than its folder: something may have run after all."""
    async with minders(tmp_path) as (launcher, yard):
        assert await launcher.find(yard.ref(yard.spec("true"), **more)) == Lost(reason)


async def test_a_deleted_file_does_not_hide_a_living_job(tmp_path: Path) -> None:
    """With its files gone a job is still known by its key: it runs, and no retry runs beside it."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        await up(yard)
        async with minders(tmp_path) as (second, _):
            for path in yard.status.iterdir():
                path.unlink()
            found = await second.find(yard.ref(spec, pid=handle.pid))
            assert isinstance(found, Running)
            yard.file("go").touch()
            assert (await found.handle.wait()).lost == "may have run"


async def test_a_note_wins_over_everything(tmp_path: Path) -> None:
    """Whoever holds the lock and whatever lives: a readable note with the key is the answer."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        await launcher.launch(spec)
        await up(yard)
        note = {"v": 1, "key": "another", "exit_code": 42, "signal": None, "ended_at": "2027-05-20T01:02:03Z"}
        spec.status_path.write_text(json.dumps(note))
        async with minders(tmp_path) as (second, _):
            assert isinstance(await second.find(yard.ref(spec)), Running)
        spec.status_path.write_text(json.dumps({**note, "key": spec.key}))
        async with minders(tmp_path) as (third, _):
            found = await third.find(yard.ref(spec))
            assert isinstance(found, Finished)
            assert found.result.exit_code == 42


async def test_what_appears_between_two_looks_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody alive at the first look: a hundred milliseconds later a note is there, and it is no loss."""
    monkeypatch.setattr(finding, "TWICE_S", 0.5)
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("exit 3")
        await (await launcher.launch(spec)).wait()
        hidden = spec.status_path.rename(tmp_path / "note")
        identity_file = Path(f"{spec.status_path}.pid")
        identity_file.write_text(
            identity_file.read_text().replace('"nursery":{', '"nursery":{"was":1,"pid":1},"was":{')
        )
        async with minders(tmp_path) as (second, _):
            finding_it = asyncio.ensure_future(second.find(yard.ref(spec)))
            await asyncio.sleep(0.25)
            hidden.rename(spec.status_path)
            found = await finding_it
            assert isinstance(found, Finished)
            assert found.result.exit_code == 3


async def test_a_corrupt_note_is_no_note(tmp_path: Path) -> None:
    """Half a line, zeros, or a `v` nobody knows: ignored, and the files and processes decide."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        await launcher.launch(spec)
        await up(yard)
        for text in ("", '{"v":1,"key":"' + spec.key, "\0" * 4096, json.dumps({"v": 999, "key": spec.key}), "[1]"):
            spec.status_path.write_text(text)
            async with minders(tmp_path) as (second, _):
                assert isinstance(await second.find(yard.ref(spec)), Running)


async def test_an_unfinished_last_line_is_ignored(tmp_path: Path) -> None:
    """A guardian killed while it added a line leaves half of it: what stands before counts."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        pid = await up(yard)
        with Path(f"{spec.status_path}.pid").open("a") as file:
            file.write('{"guardian":{"pid":1')
        kill(minder_of(handle))
        await until(lambda: handle.remark == f"minder gone, the nursery guards process {pid}", handle.remark)
        found = notes.parse_identity(Path(f"{spec.status_path}.pid").read_bytes(), spec.key)
        assert found is not None
        assert found.guardian == found.nursery
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_a_stopped_nursery_owes_the_note(tmp_path: Path) -> None:
    """Minder dead, job dead, nursery alive but asleep: not lost. The note comes when it wakes."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        pid, minder, nursery = await up(yard), minder_of(handle), nursery_of(spec)
        kill(nursery, signal.SIGSTOP)
        kill(minder)
        yard.file("go").touch()
        await until(lambda: not alive(pid))
        async with minders(tmp_path) as (second, _):
            found = await second.find(yard.ref(spec))
            assert isinstance(found, Running)
            kill(nursery, signal.SIGCONT)
            assert (await found.handle.wait()).exit_code == 7


async def test_two_minders_killed_at_once_keep_their_jobs_apart(tmp_path: Path) -> None:
    """Each ward reads its own job's code, named or not."""
    async with minders(tmp_path) as (launcher, yard):
        script = "touch up-{0}; while [ ! -e go ]; do sleep 0.02; done; exit {0}"
        handles = [await launcher.launch(yard.spec(script.format(code))) for code in range(20, 26)]
        await until(lambda: len(list(yard.home.glob("up-*"))) == 6)
        for handle in handles:
            kill(minder_of(handle), signal.SIGSTOP)
        yard.file("go").touch()
        for handle in handles:
            kill(minder_of(handle))
        results = await asyncio.gather(*(handle.wait() for handle in handles))
        assert [result.exit_code for result in results] == list(range(20, 26))


async def test_a_launcher_serves_a_second_loop(tmp_path: Path) -> None:
    """`pynet.loop.run` twice in one process: what the first loop left is followed on the second."""

    def on_a_loop_of_its_own(work: Any) -> Any:
        return asyncio.run(work)

    yard = Yard(tmp_path)
    launcher = MinderLauncher()
    spec, orphaned = yard.spec(WAITS), yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 8")

    async def first() -> tuple[AttemptHandle, AttemptHandle]:
        followed = await launcher.launch(orphaned)
        nursery = nursery_of(orphaned)
        kill(nursery)
        await until(lambda: not alive(nursery))
        return await launcher.launch(spec), followed

    async def second(handles: tuple[AttemptHandle, AttemptHandle]) -> list[int | None]:
        yard.file("go").touch()
        results = [(await handle.wait()).exit_code for handle in handles]
        results.append((await (await launcher.launch(yard.spec("exit 9"))).wait()).exit_code)
        await launcher.close()
        return results

    handles = await asyncio.to_thread(on_a_loop_of_its_own, first())
    assert await asyncio.to_thread(on_a_loop_of_its_own, second(handles)) == [7, 8, 9]
    assert os.getpid() > 0
