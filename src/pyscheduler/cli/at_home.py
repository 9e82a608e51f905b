"""Whether a scheduler is at home, on its way, or at home elsewhere: read from the kernel's list of locks, taking none.

A scheduler keeps a lock on `serve.lock` in its state folder for life, and the command `serve` one on the configuration
file from its first line on (`announced`), when the folder need not even exist. Whoever asks must not take either lock
to find out: a start that met the asker's lock would be refused. So /proc/locks is read, which names each lock's file
and process. What is not there to read (another kernel, another pid namespace) counts as "nobody": then the answer is
as it would be without asking.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from pyscheduler.cli.place import Place

LOCK_NAME: Final = "serve.lock"
LOCKS: Final = Path("/proc/locks")
PIECE: Final = 3000
"""A list so long may have come in several pieces: a page holds some 4,000 characters."""
MOST_HOLDERS: Final = 2000
"""Processes whose open files are looked at in search of a state folder: every running attempt's minder has a lock."""


class Served(NamedTuple):
    """A scheduler at home: its process and its state folder."""

    pid: int
    state_dir: Path


class _Lock(NamedTuple):
    pid: int
    device: int
    inode: int


@contextmanager
def announced(config: Path) -> Iterator[None]:
    """Let clients see, while the block runs, that a scheduler of this configuration is on its way.

    A shared lock: two that start at once do not keep each other from it. Where the file cannot be opened or locked
    nothing is said, and whoever reads the file next says why.
    """
    try:
        handle = os.open(config, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def scheduler_of(state_dir: Path) -> int | None:
    """Return the process that serves a state folder, None where none does or it cannot be found out."""
    return _holder(state_dir / LOCK_NAME)


def on_its_way(place: Place) -> bool:
    """Whether a scheduler is starting, or has the state folder and does not answer yet or any more."""
    if scheduler_of(place.state_dir) is not None:
        return True
    starter = _holder(place.config)
    # One that has another folder will not come here; one that has taken this folder in the meantime has come.
    here = os.path.realpath(place.state_dir / LOCK_NAME)
    return starter is not None and all(str(file) == here for file in _locked_files(starter))


def elsewhere(place: Place) -> Served | None:
    """Return the scheduler that was started with this configuration file while it named another state folder."""
    here, config = place.state_dir / LOCK_NAME, os.path.realpath(place.config)
    for pid in list(dict.fromkeys(lock.pid for lock in _locks()))[:MOST_HOLDERS]:
        for file in _locked_files(pid):
            if file != here and _configuration_of(file, pid) == config:
                return Served(pid, file.parent)
    return None


def _holder(file: Path) -> int | None:
    try:
        found = file.stat()
    except OSError:
        return None
    same = [lock for lock in _locks() if lock.inode == found.st_ino]
    # Some file systems show another device number here than stat(2) does; then the pid in the file must agree.
    return next((lock.pid for lock in same if lock.device == found.st_dev or lock.pid == _pid_in(file)), None)


def _locks() -> Iterator[_Lock]:
    """Yield every lock of flock(2) that is held.

    The kernel hands its list out in pieces of a page, and where a lock goes meanwhile the next piece begins one too
    late: so a list of several is read twice, and what stands in either of them is held.
    """
    text = _listed()
    if len(text) >= PIECE:
        text += _listed()
    yield from dict.fromkeys(_locks_in(text))


def _locks_in(text: str) -> Iterator[_Lock]:
    """Yield the locks of a list. Lines with an arrow are of those who wait for one."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK" and words[4].isdecimal():
            major, minor, inode = words[5].split(":")
            yield _Lock(int(words[4]), os.makedev(int(major, 16), int(minor, 16)), int(inode))


def _listed() -> str:
    try:
        return LOCKS.read_text()
    except OSError:
        return ""


def _pid_in(file: Path) -> int | None:
    text = _text_of(file).partition("\n")[0].strip()
    return int(text) if text.isdecimal() else None


def _locked_files(pid: int) -> Iterator[Path]:
    """Yield the state folders' locks that a process has open; none of another user's process."""
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for each in os.listdir(folder):
            with suppress(OSError):
                target = os.readlink(f"{folder}/{each}")
                if target.endswith(f"/{LOCK_NAME}"):
                    yield Path(target)


def _configuration_of(file: Path, pid: int) -> str | None:
    """Return the configuration that a lock's text names, if the text is that process's own."""
    first, _, rest = _text_of(file).partition("\n")
    return rest.partition("\n")[0] if first.strip() == str(pid) else None


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as handle:
            return handle.read(8192)
    except OSError:
        return ""
