"""Does a lock on this folder's file system decide anything, and what else has this machine to offer? For `doctor` and
the start.
"""

from __future__ import annotations

import errno
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyscheduler.engine.minding import seed
from pyscheduler.engine.minding.folder import make_folder
from pyscheduler.minder import claim, kernel

PREFIX: Final = ".lock-test."
STALE_S: Final = 5.0
"""A test takes a millisecond: what is older was left by a process killed in the middle of one."""

PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


@dataclass(frozen=True, slots=True)
class GuardReport:
    """What guards an attempt here. `fault` says why locks do not work, empty where they do."""

    locks: bool
    fault: str
    pidfd: bool
    ps: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """What an operator should read, empty where nothing is left to chance."""
        found = []
        if not self.locks:
            found.append(f"locks do not work here ({self.fault}): a reused pid may be taken for a minder")
            if not self.ps:
                found.append("there is no ps either: a minder is known by its pid alone")
        if not self.pidfd:
            found.append("no pidfd: start ticks are checked and then the number is signalled")
        return tuple(found)


def guard_report(folder: Path) -> GuardReport:
    """Try the lock on this folder and look for pidfd and ps. Blocks for about a millisecond."""
    fault = lock_fault(os.fspath(folder))
    return GuardReport(locks=not fault, fault=fault, pidfd=not kernel.NO_PIDFD, ps=seed.has_ps())


def lock_fault(folder: str) -> str:
    """Return why locks in this folder cannot be relied on, empty where they can."""
    try:
        return lasting_fault(folder)
    except OSError as error:
        return str(error)


def lasting_fault(folder: str) -> str:
    """Return the same; OSError where that says nothing about locks and passes: no room left, no descriptor."""
    try:
        return _found_fault(folder)
    except OSError as error:
        if error.errno in PASSING:
            raise
        return str(error)


def _found_fault(folder: str) -> str:
    """Return what is wrong with locks, empty where nothing is. OSError where they cannot be tried.

    Two open descriptions of one file must exclude each other, closing one must free it, and an unlinked file must show
    as unlinked: the three facts that a claim rests on.
    """
    path = os.path.join(folder, PREFIX + secrets.token_hex(8))
    make_folder(folder)
    first = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _remove_stale(folder, os.fstat(first).st_mtime - STALE_S)
        return _try(path, first)
    finally:
        os.close(first)


def _remove_stale(folder: str, before: float) -> None:
    """Remove what killed tests have left, by the file system's own clock."""
    for name in os.listdir(folder):
        if name.startswith(PREFIX):
            path = os.path.join(folder, name)
            try:
                if os.stat(path).st_mtime < before:
                    os.unlink(path)
            except FileNotFoundError:
                continue  # another test has removed it, or itself


def _try(path: str, first: int) -> str:
    second = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        mine = os.fstat(first)
        if not claim.try_lock(first) or claim.try_lock(second):
            return "two processes may hold the same lock"
        if not claim.at_path(mine, path):
            return "a file changes its number while it is open"
    finally:
        os.unlink(path)
        os.close(second)
    return "a removed file still stands at its path" if claim.at_path(mine, path) else ""
