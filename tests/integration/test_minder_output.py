"""Output: straight to files by default, through a pipe with `max_log`. DESIGN 4, "Output"; FC-046, FC-048, FC-052."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptResult, LaunchSpec
from pyscheduler.errors import LaunchError
from tests.yard import alive, hurried, kill, minders, number_in, until

CUT = re.compile(rb"\n\[pysched: (\d+) *bytes cut here, max_log\]\n")
LOST = re.compile(rb"\n\[pysched: (\d+) bytes lost here, the disk was full\]\n")


async def run(launcher: MinderLauncher, spec: LaunchSpec) -> AttemptResult:
    return await (await launcher.launch(spec)).wait()


async def test_a_gigabyte_goes_past_us(tmp_path: Path) -> None:
    """The job writes to its file itself: no copy, no wait, no memory of ours. (To /dev/null, to spare the disk.)"""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("head -c 1000000000 /dev/zero; exit 3", stdout_path=Path(os.devnull))
        assert (await run(launcher, spec)).exit_code == 3


async def test_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    """Invalid UTF-8, a cut euro sign, zeros, a line without end: the file is the output, byte by byte. FC-048."""
    script = r"printf 'before\n\377\376\303\n\342\202 cut\nafter\n'; cat blob; printf done"
    async with minders(tmp_path) as (launcher, yard):
        blob = os.urandom(300_000)
        yard.file("blob").write_bytes(blob)
        for more in ({}, {"max_log_bytes": 10_000_000}):
            spec = yard.spec(script, **more)  # type: ignore[arg-type]
            assert (await run(launcher, spec)).exit_code == 0
            expected = b"before\n\xff\xfe\xc3\n\xe2\x82 cut\nafter\n" + blob + b"done"
            assert spec.stdout_path.read_bytes() == expected


async def test_a_job_may_close_its_output(tmp_path: Path) -> None:
    """Nobody waits for an end-of-file that means nothing."""
    async with minders(tmp_path) as (launcher, yard):
        for more in ({}, {"max_log_bytes": 1000}):
            spec = yard.spec("echo first; exec >&- 2>&-; sleep 0.1; exit 3", **more)  # type: ignore[arg-type]
            assert (await run(launcher, spec)).exit_code == 3
            assert spec.stdout_path.read_text() == "first\n"


async def test_a_grandchild_that_holds_the_pipe_holds_nobody(tmp_path: Path) -> None:
    """The job ends when its main process does; what is left writes on, and is copied until it lets go. FC-050."""
    async with minders(tmp_path) as (launcher, yard):
        script = "(while [ ! -e go ]; do sleep 0.02; done; echo late) & echo early; exit 0"
        spec = yard.spec(script, max_log_bytes=10_000)
        result = await run(launcher, spec)
        assert result.exit_code == 0
        assert result.leftovers
        assert spec.stdout_path.read_text() == "early\n"
        yard.file("go").touch()
        await until(lambda: spec.stdout_path.read_text() == "early\nlate\n")


@pytest.mark.parametrize("guardian", ["minder", "nursery"])
async def test_what_was_written_last_is_in_the_log_before_the_end_is_told(tmp_path: Path, guardian: str) -> None:
    """Who is slow at the very moment of the end copies what came meanwhile, and only then writes the note."""
    slow = f"""
import os, time
step, copy_on, nursery_pid = room("guard").Guard.step, room("watch").Minder._copy_on, os.getpid()
def late(self, now):
    mine = os.getpid() == nursery_pid if {guardian!r} == "nursery" else os.getpid() != nursery_pid
    if mine and self.leader is not None and not self.identity.key.startswith("rehearsal"):
        open({str(tmp_path / "go")!r}, "w").close()
        while room("kernel").peek(self.leader) is None: time.sleep(0.01)
    return step(self, now)
def later(*given):
    while not os.path.exists({str(tmp_path / "read")!r}): time.sleep(0.01)
    copy_on(*given)
room("guard").Guard.step, room("watch").Minder._copy_on = late, later
"""
    async with minders(tmp_path, python=hurried(tmp_path, slow)) as (launcher, yard):
        script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo last; exit 3"
        spec = yard.spec(script, max_log_bytes=10_000)
        try:
            handle = await launcher.launch(spec)
            if guardian == "nursery":
                await until(lambda: number_in(yard.file("pid")))
                assert handle.pid is not None
                kill(handle.pid)
            assert (await handle.wait()).exit_code == 3
            assert spec.stdout_path.read_text() == "last\n"
        finally:
            yard.file("read").touch()


async def test_long_output_is_cut_in_the_middle_and_says_so(tmp_path: Path) -> None:
    """Beginning and end are there, the line between says how many bytes are not, and the file keeps its bound."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("seq 1 300000; exit 4", max_log_bytes=100_000)
        result = await run(launcher, spec)
        assert result.exit_code == 4
        await until(lambda: spec.stdout_path.read_bytes().endswith(b"\n300000\n"))
        data = spec.stdout_path.read_bytes()
        whole = b"".join(b"%d\n" % number for number in range(1, 300_001))
        head, cut, tail = CUT.split(data)
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(cut) + len(tail) == len(whole)
        assert len(head) >= 50_000
        assert len(tail) >= 20_000
        assert len(data) <= 100_000


async def test_both_streams_have_their_own_bound(tmp_path: Path) -> None:
    """Merged they share one file and one bound, apart each has its own."""
    script = "seq 1 30000; seq 1 30000 >&2"
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(script, max_log_bytes=10_000)
        await run(launcher, spec)
        for path in (spec.stdout_path, spec.stderr_path):
            assert path is not None
            await until(lambda path=path: path.read_bytes().endswith(b"\n30000\n"))  # type: ignore[misc]
            assert path.stat().st_size <= 10_000
        merged = yard.spec(script, max_log_bytes=10_000, stderr_path=None)
        await run(launcher, merged)
        await until(lambda: merged.stdout_path.read_bytes().endswith(b"\n30000\n"))
        assert merged.stdout_path.stat().st_size <= 10_000


async def test_an_earlier_attempts_output_in_the_same_file_is_kept(tmp_path: Path) -> None:
    """The bound counts from where this attempt began."""
    async with minders(tmp_path) as (launcher, yard):
        log = yard.file("shared.log")
        log.write_text("old\n" * 5000)
        spec = yard.spec("seq 1 30000", max_log_bytes=10_000, stdout_path=log)
        await run(launcher, spec)
        await until(lambda: log.read_bytes().endswith(b"\n30000\n"))
        assert log.read_text().startswith("old\n" * 5000 + "1\n2\n3\n")
        assert log.stat().st_size <= 20_000 + 10_000


async def test_the_nursery_copies_on_when_the_minder_is_killed(tmp_path: Path) -> None:
    """The job gets no SIGPIPE: it ends by itself, with its code and the rest of its output. Cuts are counted on."""
    script = "echo $$ > pid; seq 1 30000; while [ ! -e go ]; do sleep 0.02; done; seq 30001 60000; exit 6"
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec(script, max_log_bytes=20_000)
        handle = await launcher.launch(spec)
        pid = await until(lambda: number_in(yard.file("pid")))
        await until(lambda: spec.stdout_path.exists() and spec.stdout_path.read_bytes().endswith(b"\n30000\n"))
        assert handle.pid is not None
        kill(handle.pid)
        yard.file("go").touch()
        result = await handle.wait()
        assert (result.exit_code, result.signal, alive(pid)) == (6, None, False)
        await until(lambda: spec.stdout_path.read_bytes().endswith(b"\n60000\n"))
        head, cut, tail = CUT.split(spec.stdout_path.read_bytes())
        whole = b"".join(b"%d\n" % number for number in range(1, 60_001))
        assert len(head) + int(cut) + len(tail) == len(whole)


async def test_a_log_that_cannot_be_opened_is_a_start_error_here_too(tmp_path: Path) -> None:
    """The pipe changes nothing about that."""
    async with minders(tmp_path) as (launcher, yard):
        yard.file("wall").touch()
        spec = yard.spec("touch ran", stdout_path=yard.file("wall") / "x", max_log_bytes=1000)
        result = await run(launcher, spec)
        assert result.start_error is not None
        assert result.start_error.startswith("cannot open log: ")
        assert not yard.file("ran").exists()


# ------------------------------------------------------------------------------- full disks


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    """Mount a small tmpfs; root only."""
    path.mkdir()
    assert os.system(f"mount -t tmpfs -o size={size},nr_inodes=100 none {path}") == 0
    try:
        yield path
    finally:
        assert os.system(f"umount -l {path}") == 0


ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")


@ROOT
@pytest.mark.root
async def test_a_full_log_disk_does_not_hurt_a_job_with_max_log(tmp_path: Path) -> None:
    """Output is dropped and the gap is marked once there is room; the job never waits and keeps its code. FC-052 c."""
    script = f"{sys.executable} -S -c \"import sys; sys.stdout.write('x' * 300000 + chr(10))\"; touch half; "
    script += "while [ ! -e go ]; do sleep 0.02; done; echo end; exit 8"
    async with minders(tmp_path) as (launcher, yard):
        with small_disk(tmp_path / "disk", "128k") as disk:
            spec = yard.spec(script, stdout_path=disk / "x.out", stderr_path=None, max_log_bytes=10_000_000)
            handle = await launcher.launch(spec)
            await until(lambda: yard.file("half").exists())
            (tmp_path / "disk-was-full").write_bytes(spec.stdout_path.read_bytes())
            assert os.system(f"mount -o remount,size=4m {disk}") == 0
            yard.file("go").touch()
            assert (await handle.wait()).exit_code == 8
            await until(lambda: spec.stdout_path.read_bytes().endswith(b"end\n"))
            before, lost, after = LOST.split(spec.stdout_path.read_bytes())
            assert set(before) == {ord("x")}
            assert len(before) + int(lost) + len(after) == 300_001 + len(b"end\n")


@ROOT
@pytest.mark.root
async def test_a_full_log_disk_gives_a_plain_job_enospc(tmp_path: Path) -> None:
    """Without max_log the job writes itself, and hears of it itself: documented."""
    async with minders(tmp_path) as (launcher, yard):
        with small_disk(tmp_path / "disk", "64k") as disk:
            spec = yard.spec("head -c 1000000 /dev/zero || exit 9", stdout_path=disk / "x.out")
            assert (await run(launcher, spec)).exit_code == 9


@ROOT
@pytest.mark.root
async def test_without_room_for_identity_or_note_nothing_starts(tmp_path: Path) -> None:
    """The note's block is reserved before the job starts; a full state disk is a start error, and no file is left."""
    async with minders(tmp_path) as (launcher, yard):
        with small_disk(yard.status, "64k"):
            filler = yard.status / "filler"
            filler.write_bytes(b"x" * 64 * 1024)
            with pytest.raises(LaunchError, match=r"cannot write the attempt's files: \[Errno 28\]"):
                await launcher.launch(yard.spec("touch ran"))
            assert [path.name for path in yard.status.iterdir()] == ["filler"]
            filler.unlink()
            assert (await run(launcher, yard.spec("exit 3"))).exit_code == 3
        assert not yard.file("ran").exists()


@ROOT
@pytest.mark.root
async def test_a_note_that_finds_no_place_is_tried_again(tmp_path: Path) -> None:
    """A disk that turns read-only delays the end and loses none: the lock is kept, the note comes with the disk."""
    async with minders(tmp_path) as (launcher, yard):
        with small_disk(yard.status, "256k"):
            spec = yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 5")
            handle = await launcher.launch(spec)
            waiting = asyncio.ensure_future(handle.wait())
            spec.status_path.mkdir()  # the rename onto it fails, as on a broken disk
            (spec.status_path / "x").touch()
            yard.file("go").touch()
            assert await asyncio.wait([waiting], timeout=1.5) == (set(), {waiting})
            (spec.status_path / "x").unlink()
            spec.status_path.rmdir()
            assert (await waiting).exit_code == 5
