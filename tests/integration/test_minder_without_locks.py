"""Where the file system's locks decide nothing: the block's creation and the seed's two questions do. DESIGN 4, end."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.minding import locktest, seed, tidy
from pyscheduler.engine.ports import Lost, Running
from pyscheduler.minder import claim, kernel, notes
from tests.yard import Yard, alive, kill, minders, number_in, until

WAITS = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; exit 7"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def identity(pid: int, *, started_ago_s: float = 0.0) -> notes.Identity:
    """Return the identity of a minder that began so long ago, by the wall clock."""
    began = SystemClock().now() - timedelta(seconds=started_ago_s)
    return notes.Identity(
        key="k",
        minder=notes.Proc(pid, kernel.start_ticks(pid) or 1),
        nursery=None,
        boot_id=kernel.boot_id(),
        started_at="",
        minder_at=began.isoformat(),
        monotonic=0.0,
        limits=notes.Limits(None, 1.0, "leave"),
    )


def test_a_minder_is_who_has_its_pid_and_its_age(sleeper: subprocess.Popen[bytes]) -> None:
    """Both questions say yes for the real one; one that began elsewhen is another process."""
    assert seed.lives(identity(sleeper.pid))
    assert not seed.lives(identity(sleeper.pid, started_ago_s=60))


def test_a_pid_that_is_gone_or_a_zombie_is_no_minder(sleeper: subprocess.Popen[bytes]) -> None:
    """An ended child of ours never looks alive, reaped or not."""
    found = identity(sleeper.pid)
    sleeper.kill()
    while alive(sleeper.pid):
        os.sched_yield()
    assert not seed.lives(found)
    sleeper.wait()
    assert not seed.lives(found)


def test_without_ps_the_pid_alone_is_trusted_with_a_warning(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The seed's own words: the check is skipped, and said so."""
    monkeypatch.setenv("PATH", "/nowhere")
    with caplog.at_level(logging.WARNING):
        assert seed.lives(identity(sleeper.pid, started_ago_s=60))
    assert "there is no ps here" in caplog.text
    assert not seed.has_ps()


async def test_a_live_attempt_is_adopted_and_a_dead_one_is_lost(tmp_path: Path) -> None:
    """The table of seed 000, step 2, row by row, without a lock anywhere."""
    async with minders(tmp_path, locks=False) as (launcher, yard):
        spec = yard.spec(WAITS)
        handle = await launcher.launch(spec)
        await until(lambda: number_in(yard.file("pid")))
        minder = handle.pid
        assert minder is not None
        with Path(f"{spec.status_path}.pid").open("r+") as file:
            assert claim.try_lock(file.fileno()), "nobody holds a lock"
        async with minders(tmp_path, locks=False) as (second, _):
            found = await second.find(yard.ref(spec, minder))
            assert isinstance(found, Running)
            above = kernel.stat(minder)
            assert above is not None
            kill(above.parent)
            kill(minder)
            yard.file("go").touch()
            assert (await found.handle.wait()).lost is not None
            assert isinstance(await second.find(yard.ref(spec, minder)), Lost)


async def test_the_nursery_takes_over_here_too(tmp_path: Path) -> None:
    """The job falls to it all the same."""
    async with minders(tmp_path, locks=False) as (launcher, yard):
        handle = await launcher.launch(yard.spec(WAITS))
        await until(lambda: number_in(yard.file("pid")))
        assert handle.pid is not None
        kill(handle.pid)
        await until(lambda: handle.remark)
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 7


async def test_find_and_a_minder_cannot_both_have_an_order(tmp_path: Path) -> None:
    """Whoever creates the block first: `find` revokes only what nobody has begun."""
    yard = Yard(tmp_path)
    yard.status.mkdir()
    launcher = MinderLauncher(locks=False)
    spec = yard.spec("true")
    path = Path(f"{spec.status_path}.pid")
    path.touch()
    Path(f"{spec.status_path}.new").touch()
    found = await launcher.find(yard.ref(spec))
    assert isinstance(found, Running)
    assert path.exists()
    other = yard.spec("true")
    Path(f"{other.status_path}.pid").touch()
    assert await launcher.find(yard.ref(other)) == Lost("never started")
    assert not [path for path in yard.status.iterdir() if other.key in path.name]
    await launcher.close()


def test_a_claim_without_a_lock_is_for_one_only(tmp_path: Path) -> None:
    """The second minder with the same order finds the block taken, whatever it read before."""
    status = str(tmp_path / "x.json")
    Path(f"{status}.pid").touch()
    first = claim.take(status, identity(os.getpid()), lock=False)
    os.ftruncate(first.lock, 0)  # as if the second had looked before the first wrote
    with pytest.raises(claim.Refused):
        claim.take(status, identity(os.getpid()), lock=False)
    os.close(first.lock)
    os.close(first.block)


# ------------------------------------------------------------------------------- does the lock work here?


def test_locks_work_on_this_machine_and_leave_nothing_behind(tmp_path: Path) -> None:
    """The three facts a claim rests on are tried, and the trial is tidied up."""
    report = MinderLauncher().guard_report(tmp_path / "status")
    assert (report.locks, report.fault) == (True, "")
    assert list((tmp_path / "status").iterdir()) == []


def test_a_folder_that_cannot_be_written_has_no_locks(tmp_path: Path) -> None:
    """The reason is the system's."""
    (tmp_path / "wall").touch()
    assert "Not a directory" in locktest.lock_fault(str(tmp_path / "wall" / "status"))


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ("claim.try_lock = lambda fd: True", "two processes may hold the same lock"),
        ("claim.at_path = lambda mine, path: False", "a file changes its number while it is open"),
        ("claim.at_path = lambda mine, path: True", "a removed file still stands at its path"),
    ],
)
def test_a_file_system_that_lies_is_found_out(tmp_path: Path, broken: str, fault: str) -> None:
    """Each of the three facts is looked at."""
    program = f"from pyscheduler.engine.minding import locktest; from pyscheduler.minder import claim; {broken}; "
    program += "import json, sys; print(json.dumps(locktest.lock_fault(sys.argv[1])))"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=env, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == fault


async def test_a_distrusted_folder_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The launcher falls back by itself and says so at the first attempt, not at each."""
    monkeypatch.setattr(
        "pyscheduler.engine.minding.locks.lasting_fault", lambda folder: "[Errno 37] No locks available"
    )
    with caplog.at_level(logging.WARNING):
        async with minders(tmp_path) as (launcher, yard):
            for code in (3, 4):
                assert (await (await launcher.launch(yard.spec(f"exit {code}"))).wait()).exit_code == code
    assert caplog.text.count("No locks available") == 1


async def test_a_disk_that_is_full_for_once_says_nothing_about_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is kept for life, so none is given: that attempt is not started, and the next one asks again."""

    def full(folder: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)

    async with minders(tmp_path) as (launcher, yard):
        monkeypatch.setattr(locktest, "make_folder", full)
        with pytest.raises(OSError, match="No space left"):
            await launcher.launch(yard.spec("exit 3"))
        monkeypatch.undo()
        assert (await (await launcher.launch(yard.spec("exit 4"))).wait()).exit_code == 4
    assert "locks do not work" not in caplog.text


def test_a_killed_lock_test_leaves_nothing_for_good(tmp_path: Path) -> None:
    """The next one removes what it left, but not what another one is just working with."""
    old, young = tmp_path / f"{locktest.PREFIX}old", tmp_path / f"{locktest.PREFIX}young"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    assert locktest.lock_fault(str(tmp_path)) == ""
    assert list(tmp_path.iterdir()) == [young]
    assert tidy.listing(str(tmp_path)) == ({}, [])
