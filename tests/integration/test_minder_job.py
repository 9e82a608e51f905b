"""What a job gets from its minder, and what it never gets. DESIGN 4, "Job set-up"; jobs.md 1.12; FC-058, FC-062."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptResult, LaunchSpec
from tests.yard import Yard, minders, until

LIBRARYS_OWN = {32, 33}
"""Signals the C library keeps to itself: nobody can set them through it, so they stay as the host left them."""
SELF_PORTRAIT = """
import json, os, signal, sys
def status(name):
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(name))
stdin = os.readlink("/proc/self/fd/0")
fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
print(json.dumps({
    "stdin": stdin,
    "fds": [fd for fd in fds if os.path.exists(f"/proc/self/fd/{fd}")],
    "blocked": status("SigBlk"), "ignored": status("SigIgn"),
    "pid": os.getpid(), "session": os.getsid(0), "group": os.getpgrp(), "cwd": os.getcwd(),
    "oom": int(open("/proc/self/oom_score_adj").read()),
    "nice": os.nice(0), "argv": sys.argv[1:],
    "environ": {os.fsencode(k).hex(): os.fsencode(v).hex() for k, v in os.environ.items()},
}))
"""


async def run(launcher: MinderLauncher, spec: LaunchSpec) -> AttemptResult:
    return await (await launcher.launch(spec)).wait()


async def portrait(launcher: MinderLauncher, yard: Yard, *args: str, **more: Any) -> tuple[dict[str, Any], LaunchSpec]:
    """Run a job that describes itself and return its words."""
    spec = yard.spec(sys.executable, "-S", "-c", SELF_PORTRAIT, *args, **more)
    result = await run(launcher, spec)
    assert result.exit_code == 0, (result, spec.stderr_path and spec.stderr_path.read_text())
    found: dict[str, Any] = json.loads(yard.out(spec))
    return found, spec


async def test_a_job_leads_its_own_session_with_nothing_of_ours(tmp_path: Path) -> None:
    """Own session and group, stdin null, three descriptors, a clean mask and default dispositions."""
    async with minders(tmp_path) as (launcher, yard):
        job, spec = await portrait(launcher, yard)
        assert job["pid"] == job["session"] == job["group"]
        assert job["stdin"] == os.devnull
        assert job["fds"] == [0, 1, 2]
        assert int(job["blocked"], 16) == 0
        python_ignores = {signal.SIGPIPE, signal.SIGXFSZ}  # done by the job's own interpreter, not inherited
        ignored = {number for number in range(1, 65) if int(job["ignored"], 16) >> (number - 1) & 1}
        assert ignored - LIBRARYS_OWN <= python_ignores
        assert job["cwd"] == str(yard.home)
        key = bytes.fromhex(job["environ"][b"PYSCHED_ATTEMPT_KEY".hex()]).decode()
        assert key == spec.key


async def test_a_job_dies_of_a_broken_pipe_like_any_other(tmp_path: Path) -> None:
    """The interpreter ignores SIGPIPE and SIGXFSZ; a shell under it must not."""
    async with minders(tmp_path) as (launcher, yard):
        for more in ({}, {"nice": 0}):
            spec = yard.spec("grep SigIgn /proc/self/status", **more)  # type: ignore[arg-type]
            await run(launcher, spec)
            ignored = int(yard.out(spec).split()[1], 16)
            assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


async def test_a_job_is_killed_before_what_watches_over_it(tmp_path: Path) -> None:
    """The kernel's choice under memory pressure is the job, not minder, nursery or scheduler."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("cat /proc/self/oom_score_adj; while [ ! -e go ]; do sleep 0.02; done")
        handle = await launcher.launch(spec)
        mine = int(Path("/proc/self/oom_score_adj").read_text())
        await until(lambda: spec.stdout_path.exists() and yard.out(spec))
        score = Path(f"/proc/{handle.pid}/oom_score_adj")
        await until(lambda: int(score.read_text()) == mine, "the minder has its own score back")
        yard.file("go").touch()
        await handle.wait()
        assert int(yard.out(spec)) > mine


async def test_bytes_that_are_no_text_reach_the_job_as_they_are(tmp_path: Path) -> None:
    """Arguments and environment are bytes on Linux: FF goes in and FF comes out."""
    odd = os.fsdecode(b"a \xff\xfe \xe2\x82\xac 'q' \"d\" $HOME `x`\n;")
    async with minders(tmp_path) as (launcher, yard):
        job, _ = await portrait(launcher, yard, odd, env={"ODD": odd, "EMPTY": "", "LINES": "a\nb"})
        assert os.fsencode(job["argv"][0]) == os.fsencode(odd)
        environ = {bytes.fromhex(k): bytes.fromhex(v) for k, v in job["environ"].items()}
        assert environ[b"ODD"] == os.fsencode(odd)
        assert (environ[b"EMPTY"], environ[b"LINES"]) == (b"", b"a\nb")


async def test_the_environment_is_the_orders_and_nothing_else(tmp_path: Path) -> None:
    """Neither the scheduler's nor the nursery's variables leak in."""
    async with minders(tmp_path, env={"PYSCHED_NO_PIDFD": "1"}) as (launcher, yard):
        job, spec = await portrait(launcher, yard, env={"ONLY": "this"})
        names = {bytes.fromhex(name).decode() for name in job["environ"]}
        assert names - {"LC_CTYPE"} == {*spec.env, "PYSCHED_ATTEMPT_KEY"}  # the job's Python adds LC_CTYPE


async def test_an_order_of_a_megabyte_arrives_whole(tmp_path: Path) -> None:
    """Longer than any pipe: a fresh minder takes it. Two of them in a row do not get mixed up."""
    async with minders(tmp_path) as (launcher, yard):
        for letter in "xy":
            env = {f"BIG_{number}": letter * 100_000 for number in range(10)}
            spec = yard.spec('printf %s "$BIG_0$BIG_9" | tr -d "\\n" | wc -c; printf %.1s "$BIG_5"', env=env)
            assert (await run(launcher, spec)).exit_code == 0
            assert yard.out(spec).split() == ["200000", letter]


async def test_an_order_beyond_four_megabytes_is_refused(tmp_path: Path) -> None:
    """The bound of the frame is said before anything exists."""
    async with minders(tmp_path) as (launcher, yard):
        with pytest.raises(ValueError, match="4194304 is the most"):
            await launcher.launch(yard.spec("true", env={"BIG": "x" * 5_000_000}))
        assert list(yard.status.glob("*.json*")) == []


async def test_an_argument_beyond_the_kernels_limit_is_a_start_error(tmp_path: Path) -> None:
    """What exec refuses is told in the system's words."""
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec("/bin/echo", "x" * 200_000))
        assert result.start_error == "[Errno 7] Argument list too long: '/bin/echo'"


async def test_the_program_is_searched_in_the_jobs_own_path(tmp_path: Path) -> None:
    """The order's PATH counts, not the scheduler's; a folder or a plain file of that name is passed over."""
    async with minders(tmp_path) as (launcher, yard):
        for folder in ("one", "two", "three"):
            yard.file(folder).mkdir()
        yard.file("one/tool").mkdir()
        yard.file("two/tool").write_text("no program")
        yard.file("three/tool").write_text("#!/bin/sh\necho found $0\n")
        yard.file("three/tool").chmod(0o755)
        path = ":".join(str(yard.file(folder)) for folder in ("one", "two", "three"))
        spec = yard.spec("tool", "x", env={"PATH": path + ":/bin"})
        assert (await run(launcher, spec)).exit_code == 0
        assert yard.out(spec) == f"found {yard.file('three')}/tool\n"
        result = await run(launcher, yard.spec("tool", "x", env={"PATH": str(yard.file("two"))}))
        assert result.start_error == "[Errno 13] Permission denied: 'tool'"


async def test_a_missing_folder_is_a_start_error(tmp_path: Path) -> None:
    """Nothing runs in the wrong place; the next order of the same minder is not disturbed."""
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec("true", cwd=str(yard.file("nowhere"))))
        assert result.start_error == f"[Errno 2] No such file or directory: '{yard.file('nowhere')}'"
        spec = yard.spec("pwd")
        assert (await run(launcher, spec)).exit_code == 0
        assert yard.out(spec) == f"{yard.home}\n"


async def test_a_log_that_cannot_be_opened_is_a_start_error(tmp_path: Path) -> None:
    """A job whose output would vanish does not run. FC-052: an unwritable log folder."""
    async with minders(tmp_path) as (launcher, yard):
        yard.file("wall").write_text("")
        result = await run(launcher, yard.spec("touch ran", stdout_path=yard.file("wall") / "x.out"))
        assert result.start_error is not None
        assert result.start_error.startswith("cannot open log: ")
        assert not yard.file("ran").exists()


async def test_output_is_appended_and_folders_are_made(tmp_path: Path) -> None:
    """Logs outlive attempts; both streams in one file keep their order; modes do not depend on anybody's umask."""
    async with minders(tmp_path) as (launcher, yard):
        log = yard.logs / "deep" / "er" / "x.log"
        for word in ("one", "two"):
            await run(launcher, yard.spec(f"echo {word}; echo {word} >&2", stdout_path=log, stderr_path=None))
        assert log.read_text() == "one\none\ntwo\ntwo\n"
        assert stat.S_IMODE(log.stat().st_mode) == 0o640
        assert stat.S_IMODE(log.parent.stat().st_mode) == 0o750


@pytest.mark.parametrize("scheduler", [0o000, 0o022, 0o077])
async def test_no_file_of_ours_depends_on_the_schedulers_umask(tmp_path: Path, scheduler: int) -> None:
    """Identity and note are 0600, logs 0640; a job without `umask` gets the scheduler's own. FC-062."""
    before = os.umask(scheduler)
    try:
        async with minders(tmp_path) as (launcher, yard):
            spec = yard.spec("umask; touch f; mkdir d")
            await run(launcher, spec)
            given = yard.spec("umask; touch g; mkdir e", umask=0o027)
            await run(launcher, given)
            await run(launcher, yard.spec("true", umask=0))
            deep = yard.spec("true", stdout_path=yard.logs / "a" / "b" / "x.out")
            await run(launcher, deep)
    finally:
        os.umask(before)

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert int(yard.out(spec), 8) == scheduler
    assert (mode(yard.file("f")), mode(yard.file("d"))) == (0o666 & ~scheduler, 0o777 & ~scheduler)
    assert int(yard.out(given), 8) == 0o027
    assert (mode(yard.file("g")), mode(yard.file("e"))) == (0o640, 0o750)
    assert mode(spec.status_path) == mode(Path(f"{spec.status_path}.pid")) == 0o600
    assert mode(spec.stdout_path) == 0o640
    assert mode(deep.stdout_path.parent.parent) == 0o750


async def test_the_use_of_the_machine_is_noted(tmp_path: Path) -> None:
    """CPU seconds and peak memory are the job's own, its waited-for children included."""
    burn = "data = bytearray(60_000_000); end = __import__('time').process_time() + 0.2\n"
    burn += "while __import__('time').process_time() < end: pass"
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec(f'{sys.executable} -S -c "{burn}"'))
        assert result.cpu_s is not None
        assert 0.2 <= result.cpu_s < 5
        assert result.max_rss_bytes is not None
        assert 60_000_000 <= result.max_rss_bytes < 200_000_000
        assert result.started_at is not None
        assert result.ended_at is not None
        assert result.started_at < result.ended_at
