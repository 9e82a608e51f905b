"""What the engine's process asks of the machine it runs on: its boot, its place in the process tree, its limits.

Nothing here is a clock for decisions: `booted_at` is for schedules that say `@reboot`.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.minder import kernel, notes

KEY_VARIABLE: Final = kernel.KEY_VARIABLE
FILES_WANTED: Final = 65536
"""Open files a scheduler asks for: a pidfd for each adopted attempt, sockets, logs being read."""

inherited_files: int | None = None
"""The soft limit of open files before `raise_open_files`, which is what jobs get. None: never raised."""
children_of_ours: Final[set[int]] = set()
"""Children that somebody here waits for by number: never taken for strangers."""


def boot_id() -> str:
    """Return the id of the machine's present boot: pids and start ticks mean something within one boot only."""
    return kernel.boot_id()


def booted_at(now: datetime) -> datetime:
    """Return when the machine was started, by the present wall clock. A step of the wall clock moves it too."""
    return now - timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME))


def start_ticks(pid: int) -> int | None:
    """Return the clock ticks after boot at which the process started, None where there is none of that number."""
    return kernel.start_ticks(pid)


def am_i_pid1() -> bool:
    """Whether this process is the first of its pid namespace: orphans fall to it, and it must bury them."""
    return os.getpid() == 1


def reap_unknown_children() -> int:
    """Bury dead children that nobody in this process waits for; return how many. For a scheduler that is pid 1.

    A stranger is told by its session: what this process starts itself stays in its session or is named in
    `children_of_ours`; orphans come from the sessions of jobs, minders and shells. Call it once a second.
    """
    if not _somebody_is_dead():
        return 0
    mine, count = os.getsid(0), 0
    for child in kernel.processes().values():
        if child.parent != os.getpid() or child.alive or child.session == mine or child.pid in children_of_ours:
            continue
        count += kernel.reap(child.pid)
    return count


def _somebody_is_dead() -> bool:
    try:
        return kernel.peek_any() is not None
    except ChildProcessError:
        return False


def raise_open_files(wanted: int = FILES_WANTED) -> int:
    """Raise the soft limit of open files towards `wanted` and return it. Jobs keep the limit we were started with."""
    global inherited_files
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or limit <= soft:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    if inherited_files is None:
        inherited_files = soft
    return limit


def shed_attempt_key() -> None:
    """Start this very program again if it carries an attempt's key, as when a job starts a scheduler; else return.

    Whoever carries the key counts as a process of that attempt; removing the variable does not remove it from what the
    kernel shows of the environment we were started with, a new exec does.
    """
    if KEY_VARIABLE not in os.environ:
        return
    clean = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], clean)  # noqa: S606 - the same program again


def proc_of(pid: int) -> notes.Proc | None:
    """Return what tells this process from every other of this boot."""
    found = kernel.stat(pid)
    return found.proc if found else None
