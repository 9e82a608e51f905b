"""The file decides: who may begin, looked at from inside, with the other side's moves made by hand. DESIGN 4."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pyscheduler.minder import claim, kernel, notes


def identity() -> notes.Identity:
    return notes.Identity(
        key="k",
        minder=kernel.myself(),
        nursery=None,
        boot_id=kernel.boot_id(),
        started_at=notes.instant(),
        minder_at=notes.instant(),
        monotonic=0.0,
        limits=notes.Limits(None, 1.0, "leave"),
    )


async def take_while_locked(status: str, locker: int) -> asyncio.Task[claim.Claim]:
    """Start claiming while `locker` holds the lock, and return once the claim waits for it."""
    task = asyncio.create_task(asyncio.to_thread(claim.take, status, identity(), lock=True))
    path = os.path.realpath(notes.identity_path(status))

    def opened() -> int:
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return sum(os.path.lexists(link) and os.path.realpath(link) == path for link in links)

    while opened() < 2:
        await asyncio.sleep(0.005)
    assert not task.done()
    return task


async def test_a_file_unlinked_under_the_lock_is_not_for_you(tmp_path: Path) -> None:
    """`find` holds the lock, unlinks, lets go: the minder that had opened the file before must not begin."""
    status = str(tmp_path / "x.json")
    path = notes.identity_path(status)
    locker = os.open(path, os.O_CREAT | os.O_RDWR)
    assert claim.try_lock(locker)
    task = await take_while_locked(status, locker)
    os.unlink(path)
    os.close(locker)
    with pytest.raises(claim.Refused, match="the file is gone"):
        await task
    assert list(tmp_path.iterdir()) == []


async def test_another_file_at_the_path_is_not_the_one_you_opened(tmp_path: Path) -> None:
    """Unlinked and made anew while the minder waited: the new file is for the new order."""
    status = str(tmp_path / "x.json")
    path = notes.identity_path(status)
    locker = os.open(path, os.O_CREAT | os.O_RDWR)
    assert claim.try_lock(locker)
    task = await take_while_locked(status, locker)
    os.unlink(path)
    Path(path).touch()
    os.close(locker)
    with pytest.raises(claim.Refused, match="the file is gone"):
        await task
    assert Path(path).read_bytes() == b""


async def test_a_looker_is_waited_for(tmp_path: Path) -> None:
    """`find` only looked: once it lets go the minder begins, with its identity and the note's room on disk."""
    status = str(tmp_path / "x.json")
    locker = os.open(notes.identity_path(status), os.O_CREAT | os.O_RDWR)
    assert claim.try_lock(locker)
    task = await take_while_locked(status, locker)
    os.close(locker)
    taken = await task
    found = notes.parse_identity(Path(notes.identity_path(status)).read_bytes(), "k")
    assert found is not None
    assert found.minder == kernel.myself()
    assert os.stat(notes.block_path(status)).st_size == notes.BLOCK_BYTES
    other = os.open(notes.identity_path(status), os.O_RDWR)
    assert not claim.try_lock(other)
    for fd in (taken.lock, taken.block, other):
        os.close(fd)


async def test_a_guardian_at_work_is_not_waited_for(tmp_path: Path) -> None:
    """Locked and not empty: refused at once, not after ten seconds."""
    status = str(tmp_path / "x.json")
    path = notes.identity_path(status)
    locker = os.open(path, os.O_CREAT | os.O_RDWR)
    assert claim.try_lock(locker)
    os.write(locker, b"somebody")
    with pytest.raises(claim.Refused, match="another guardian has it"):
        claim.take(status, identity(), lock=True)
    os.close(locker)


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    """A late order creates nothing."""
    with pytest.raises(claim.Refused, match="no file"):
        claim.take(str(tmp_path / "x.json"), identity(), lock=True)
    assert list(tmp_path.iterdir()) == []


def test_only_what_nobody_has_begun_can_be_revoked(tmp_path: Path) -> None:
    """Empty and unlocked goes; begun, locked or missing does not, and only the first two are somebody's."""
    status = str(tmp_path / "x.json")
    path = Path(notes.identity_path(status))
    assert claim.revoke(status, lock=True) is None
    path.write_text("begun")
    assert claim.revoke(status, lock=True) == "somebody has begun"
    path.write_text("")
    locker = os.open(path, os.O_RDWR)
    assert claim.try_lock(locker)
    assert claim.revoke(status, lock=True) == "somebody holds it"
    os.close(locker)
    assert claim.revoke(status, lock=True) is None
    assert not path.exists()
