"""The folders: whether locks work, who may look in, how much room is left, and what lies there that nobody knows."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyscheduler.cli.checks.finding import Finding, bad, ok, warn

if TYPE_CHECKING:
    from pyscheduler.store import Peek

LITTLE: Final = 1 << 30
VERY_LITTLE: Final = 100 << 20
SHOWN: Final = 5


def folders(state_dir: Path, log_dir: Path) -> Iterator[Finding]:
    """Yield what there is to say about the two folders."""
    if not state_dir.exists():
        yield ok("state_dir", f"{state_dir} is not there yet: the first start makes it")
    else:
        yield from permissions(state_dir)
        yield from _guards(state_dir)
    for name, folder in (("state_dir", state_dir), ("log_dir", log_dir)):
        yield room(f"{name} room", folder)


def permissions(state_dir: Path) -> Iterator[Finding]:
    """Judge who may look into the state directory, and who it belongs to."""
    found = state_dir.stat()
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o022:
        what = f"{state_dir} can be written by others (mode {mode:04o}): they can forge what jobs did"
        yield bad("state_dir", what, f"chmod 700 {state_dir}")
    elif mode & 0o055:
        what = f"{state_dir} can be read by others (mode {mode:04o})"
        yield warn("state_dir", what, f"chmod 700 {state_dir}")
    elif os.geteuid() not in (0, found.st_uid):
        what = f"{state_dir} belongs to user {found.st_uid}, and this is user {os.geteuid()}"
        yield bad("state_dir", what, "run the scheduler and its commands as the same user")
    else:
        yield ok("state_dir", f"{state_dir}, mode {mode:04o}")
    yield from _files_others_may_read(state_dir)


def _files_others_may_read(state_dir: Path) -> Iterator[Finding]:
    wrong = [path.name for path in sorted(state_dir.glob("pysched.db*")) if _others_may_read(path)]
    if wrong:
        yield warn("state_dir", f"others may read {', '.join(wrong)}", f"chmod 600 {state_dir}/pysched.db*")


def _others_may_read(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o077)
    except FileNotFoundError:
        return False  # SQLite removes its own files with its last connection


def _guards(state_dir: Path) -> Iterator[Finding]:
    """Try what guards an attempt here: locks, pidfds, ps."""
    from pyscheduler.engine.minding.locktest import guard_report

    if not os.access(state_dir, os.W_OK):
        yield warn("locks", "not tried: this user may not write there", "run it as root or as the scheduler's user")
        return
    folder = state_dir / "status"
    report = guard_report(folder if folder.is_dir() else state_dir)
    if report.locks:
        yield ok("locks", "locks on this file system keep one attempt to one minder")
    else:
        what = f"locks do not work there ({report.fault}): a reused pid may be taken for a minder"
        yield warn("locks", what, "put state_dir on a local file system")
    if report.pidfd:
        yield ok("pidfd", "signals go to a process itself, never to a number")
    else:
        yield warn("pidfd", "this kernel has none: start ticks are checked before a number is signalled", "Linux 5.3")
    if report.ps or report.locks:
        yield ok("ps", "there" if report.ps else "not there, and not needed where locks work")
    else:
        yield warn("ps", "not there: without locks a minder is known by its pid alone", "install procps")


def room(about: str, folder: Path) -> Finding:
    """Judge the space left where a folder lies or will lie."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        free = shutil.disk_usage(there).free
        files = os.statvfs(there)
    except OSError as error:
        return bad(about, f"{there}: {error.strerror}", "look at the mount")
    text = f"{free / (1 << 30):.1f} GiB free at {there}"
    inodes = files.f_favail if files.f_files else None
    if free < VERY_LITTLE or (inodes is not None and inodes < 1000):
        what = text if free < VERY_LITTLE else f"room for {inodes} more files at {there}"
        return bad(about, what, "make room: on a full disk nothing is started")
    if free < LITTLE:
        return warn(about, text, "make room before it is full")
    return ok(about, text)


def strangers(state_dir: Path, store: Peek | None) -> Finding:
    """Look for files of attempts that the store knows nothing of: they may be jobs that nobody watches."""
    folder = state_dir / "status"
    names = [name for name in os.listdir(folder) if ".json" in name] if folder.is_dir() else []
    parts = [name.partition(".json")[0].rsplit(".", 2) for name in names]
    runs = {part[0] for part in parts if len(part) == 3}
    known = store.keys_of_runs(runs) if store is not None else {}
    unknown = sorted(name for name, part in zip(names, parts, strict=True) if part[-1] not in known)
    if not unknown:
        return ok("status files", f"{len(names)} there, each of an attempt that the store knows")
    shown = ", ".join(unknown[:SHOWN]) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
    what = f"the store knows nothing of {shown} in {folder}"
    return warn("status files", what, "see whether their jobs still run (their .pid names them), then remove the files")
