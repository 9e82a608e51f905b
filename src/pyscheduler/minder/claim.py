"""The file decides: how an order becomes an attempt, for exactly one minder, or for nobody.

A minder opens the identity *without* creating it, locks it, and goes on only if the file is still linked, is still
the one at that path, and is empty. So an order is dead once `find` has unlinked the file under its lock, and of two
minders with the same order one wins. Every way out of here but `Claim` leaves nothing started and, for `Failed`,
nothing that could still be.

Where the file system has no working lock (`order.lock` is false) the note's block, created with O_EXCL, takes the
lock's place for the claim: minder and `find` both try to create it, and the file is looked at again afterwards.
"""

from __future__ import annotations

import fcntl
import os
import time

from . import crash, notes

PATIENCE_S = 10.0
"""How long an empty identity may be locked by somebody who is only looking."""
PAUSE_S = 0.005


class Refused(Exception):
    """The attempt is somebody else's, or nobody's any more."""


class Failed(Exception):
    """Nothing was started and nothing can be: the file is gone."""


class Claim:
    """An attempt that is ours: its identity, locked and named, and the room for its note."""

    __slots__ = ("block", "identity", "lock")

    def __init__(self, lock: int, block: int, identity: notes.Identity) -> None:
        self.lock, self.block, self.identity = lock, block, identity


def take(status: str, identity: notes.Identity, *, lock: bool) -> Claim:
    """Claim the attempt or raise Refused or Failed. May wait PATIENCE_S for a looker to let go."""
    path = notes.identity_path(status)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused("no file") from None
    crash.point("claim.opened")
    try:
        if lock:
            _lock(fd)
        check(fd, path)
        crash.point("claim.locked")
        return Claim(fd, _settle(fd, path, status, identity, lock=lock), identity)
    except BaseException:
        os.close(fd)
        raise


def _lock(fd: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while not try_lock(fd):
        if os.fstat(fd).st_size:
            raise Refused("another guardian has it")
        if time.monotonic() > until:
            raise Refused("somebody holds the empty file")
        time.sleep(PAUSE_S)


def try_lock(fd: int) -> bool:
    """Take the exclusive lock if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check(fd: int, path: str) -> None:
    """Raise Refused unless the open file is linked, at its path, and empty."""
    mine = os.fstat(fd)
    if mine.st_nlink == 0 or not at_path(mine, path):
        raise Refused("the file is gone")
    if mine.st_size:
        raise Refused("somebody has begun")


def at_path(mine: os.stat_result, path: str) -> bool:
    """Whether the path still names this very file."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def revoke(status: str, *, lock: bool) -> str | None:
    """Unlink an identity that nobody has begun, so that its order is dead; else say why it is not ours to unlink."""
    path = notes.identity_path(status)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if lock and not try_lock(fd):
            return "somebody holds it"
        check(fd, path)
        os.unlink(path)
    except Refused as refusal:
        return str(refusal)
    finally:
        os.close(fd)
    return None


def _settle(fd: int, path: str, status: str, identity: notes.Identity, *, lock: bool) -> int:
    """Reserve the note's block and write the identity; undo everything where the disk refuses."""
    block = -1
    try:
        block = _reserve(notes.block_path(status), exclusive=not lock)
        if not lock:
            check(fd, path)
        crash.point("claim.reserved")
        line = identity.first_line()
        if os.pwrite(fd, line, 0) != len(line):
            raise OSError(28, "No space left on device")
    except (OSError, Refused) as error:
        if block >= 0:
            os.close(block)
            _unlink(notes.block_path(status))
        if isinstance(error, Refused):
            raise
        _unlink(path)
        raise Failed(f"cannot write the attempt's files: {error}") from None
    crash.point("claim.named")
    return block


def _reserve(path: str, *, exclusive: bool) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0)
    try:
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        raise Refused("somebody has begun") from None
    try:
        os.posix_fallocate(fd, 0, notes.BLOCK_BYTES)
    except BaseException:
        os.close(fd)
        _unlink(path)
        raise
    return fd


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # what cannot be removed is empty or half a line: nobody starts anything from it
