"""One look at an attempt's files: what is there, and is anybody guarding it? DESIGN 4, "Finding again".

`grab` touches files only and runs on a helper thread; `judge` weighs what it held against a census of all
processes. The order of the questions is the promise: a note wins over everything; a file nobody has begun is
unlinked under its lock, so that no late minder can; a lock not granted is a guardian; only then do processes count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pyscheduler.engine.minding import seed
from pyscheduler.engine.minding.census import Census
from pyscheduler.engine.minding.results import result_of
from pyscheduler.engine.ports import AttemptRef
from pyscheduler.minder import claim, crash, kin, notes
from pyscheduler.minder.kernel import Stat
from pyscheduler.model.result import AttemptResult

NEVER = "never started"
MAY_HAVE = "may have run"
UNKNOWN = "exit unknown"


@dataclass(frozen=True, slots=True)
class Noted:
    """The note is there."""

    result: AttemptResult


@dataclass(frozen=True, slots=True)
class Nothing:
    """No file, and no order can find one any more. `sure` is False where something may have run all the same."""

    reason: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Guarded:
    """Somebody guards it; who, where the identity says so already."""

    guardian: notes.Proc | None
    identity: notes.Identity | None

    @property
    def by_minder(self) -> bool:
        """Whether the guardian is the attempt's own minder, which ends with it or soon after."""
        return self.identity is not None and self.guardian == self.identity.minder


@dataclass(frozen=True, slots=True)
class Unguarded:
    """The lock is ours and somebody had begun. `close` gives it back."""

    fd: int
    identity: notes.Identity

    def close(self) -> None:
        """Let go of the lock."""
        os.close(self.fd)


@dataclass(frozen=True, slots=True)
class Bare:
    """No guardian, but processes of the job. `zombies` True: none of them runs code any more."""

    processes: tuple[Stat, ...]
    zombies: bool = False


@dataclass(frozen=True, slots=True)
class Owed:
    """No guardian and no process, but the nursery lives: it owes a note."""

    nursery: notes.Proc


@dataclass(frozen=True, slots=True)
class Gone:
    """Nobody is left who could say how it ended."""

    reason: str


Sight = Noted | Nothing | Guarded | Bare | Owed | Gone


def grab(ref: AttemptRef, boot: str, *, lock: bool) -> Noted | Nothing | Guarded | Unguarded:
    """Look at the files, and hold the lock where nobody else does."""
    status = os.fspath(ref.status_path)
    if (noted := _noted(status, ref)) is not None:
        return noted
    path = notes.identity_path(status)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _noted(status, ref) or _nothing(ref, boot)
    keep = False
    try:
        if lock and not claim.try_lock(fd):
            return _noted(status, ref) or _guarded(fd, ref)
        crash.point("find.locked")
        found = _noted(status, ref) or _under_lock(fd, path, status, ref, boot, lock=lock)
        keep = isinstance(found, Unguarded)
        return found
    finally:
        if not keep:
            os.close(fd)


def _noted(status: str, ref: AttemptRef) -> Noted | None:
    note = notes.read_note(status, ref.key)
    return None if note is None else Noted(result_of(note))


def _nothing(ref: AttemptRef, boot: str) -> Nothing:
    sure = ref.pid is None and ref.boot_id == boot and not ref.store_is_older
    return Nothing(NEVER if sure else MAY_HAVE, sure)


def _guarded(fd: int, ref: AttemptRef) -> Guarded:
    identity = notes.parse_identity(notes.read_locked(fd), ref.key)
    return Guarded(identity.guardian if identity else None, identity)


def _under_lock(
    fd: int, path: str, status: str, ref: AttemptRef, boot: str, *, lock: bool
) -> Nothing | Guarded | Unguarded:
    """Judge the file itself: revoke it, or hold it because somebody had begun."""
    mine = os.fstat(fd)
    if mine.st_nlink == 0 or not claim.at_path(mine, path):
        return _nothing(ref, boot)
    data = notes.read_locked(fd)
    identity = notes.parse_identity(data, ref.key)
    if identity is None and notes.parse_identity(data) is not None:
        return Nothing(f"{MAY_HAVE}: another attempt's file lies in its place", sure=False)
    if not lock and (guardian := _guardian_without_lock(identity, status)) is not None:
        return guardian
    if identity is not None:
        return Unguarded(fd, identity)
    os.unlink(path)
    crash.point("find.unlinked")
    _remove(notes.block_path(status))
    return _nothing(ref, boot)


def _guardian_without_lock(identity: notes.Identity | None, status: str) -> Guarded | None:
    """Ask the seed's two questions; for a file nobody has begun, the block's creation decides who was first."""
    if identity is not None:
        return Guarded(identity.guardian, identity) if seed.lives(identity) else None
    try:
        os.close(os.open(notes.block_path(status), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return Guarded(None, None)
    return None


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # no minder came as far as to reserve it


def judge(identity: notes.Identity, census: Census, boot: str) -> Bare | Owed | Gone:
    """Say what is left of an attempt without a guardian. The census must have begun after the lock was granted."""
    if identity.boot_id != boot:
        return Gone(f"{UNKNOWN}: the machine was restarted")
    found = kin.relatives(identity.job, identity.key, census.table, census.carriers(identity.key))
    found.sort(key=lambda one: (identity.job is None or one.pid != identity.job.pid, one.pid))
    living = tuple(one for one in found if one.alive)
    if living:
        return Bare(living)
    if identity.nursery is not None and census.lives(identity.nursery):
        return Owed(identity.nursery)
    dead = tuple(found)
    return Bare(dead, zombies=True) if dead else Gone(f"{UNKNOWN}: minder and nursery are gone")


def without_file(nothing: Nothing, census: Census, key: str) -> Nothing | Bare:
    """Say what is left of an attempt whose file is gone but may have run: whoever carries its key still runs."""
    living = tuple(one for pid in census.carriers(key) if (one := census.table[pid]).alive)
    return Bare(living) if living else nothing
