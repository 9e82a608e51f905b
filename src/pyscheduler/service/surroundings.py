"""What around this process would kill running jobs, or leave something to chance. Said at start, and by `doctor`.

A restart of the scheduler is free only where its service manager leaves its processes alone (promise P4). Whether it
does is asked of systemd itself (`systemctl show`); inside a container, or as pid 1, of the kernel. `gather` looks,
`remarks` judges; nothing here changes anything, and nothing that cannot be found out is guessed at.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 3.0
ASKED: Final = ("KillMode", "OOMPolicy", "TasksMax", "Type")
_UNIT: Final = re.compile(r"/([^/]+\.service)(?:/|$)")
INITS: Final = frozenset({"tini", "docker-init", "dumb-init", "catatonit", "s6-svscan", "runsv", "sh", "bash"})
"""What is often the first process of a container, and ends when its one child does."""
TASKS_A_RUN: Final = 8
"""Processes and threads that one running attempt may well have: its minder, a shell, a pipe of commands."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing an operator should know, and how to mend it. `warn` False: for `doctor` only, not at each start."""

    what: str
    mend: str
    warn: bool = True

    def __str__(self) -> str:
        return f"{self.what}; {self.mend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What was found. `unit` is systemd's unit of this process, `shown` what it says of it; empty where unknown.

    `first` is the name of pid 1 of this pid namespace, `is_first` whether that is us, `under_first` whether it is our
    parent. `container` is set where something says that we are in one.
    """

    unit: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)
    first: str = ""
    is_first: bool = False
    under_first: bool = False
    container: bool = False


def remarks(around: Around, max_running: int) -> tuple[Remark, ...]:
    """Return what an operator should know of these surroundings."""
    return (*_of_unit(around, max_running), *_of_container(around))


def _of_unit(around: Around, max_running: int) -> list[Remark]:
    found, unit, shown = [], around.unit, around.shown
    mode = shown.get("KillMode", "")
    if mode and mode not in ("process", "none"):
        what = f"{unit} has KillMode={mode}: stopping or restarting it kills every running job"
        found.append(Remark(what, "set KillMode=process (`pysched init --systemd` writes such a unit)"))
    policy = shown.get("OOMPolicy", "")
    if policy in ("stop", "kill"):
        what = f"{unit} has OOMPolicy={policy}: one job that is killed for want of memory takes all others with it"
        found.append(Remark(what, "set OOMPolicy=continue"))
    tasks, wanted = shown.get("TasksMax", ""), TASKS_A_RUN * max_running
    if tasks.isdecimal() and int(tasks) < wanted:
        what = f"{unit} has TasksMax={tasks}: {max_running} running jobs may want {wanted} processes"
        found.append(Remark(what, "set TasksMax=infinity"))
    return found


def _of_container(around: Around) -> list[Remark]:
    if around.is_first:
        what = "this is pid 1: when it ends its container ends, and every running job with it"
        return [Remark(what, "give the container an init and keep it running over restarts of the scheduler")]
    if around.under_first and around.first in INITS:
        what = f"pid 1 is {around.first}, which ends with this process: then every running job is killed"
        return [Remark(what, "let something that stays run the scheduler, such as a supervisor in the container")]
    if around.container:
        what = f"the first process of this container, {around.first}, has to bury what jobs leave behind"
        return [Remark(what, "see that it reaps children (`docker run --init` does)", warn=False)]
    return []


async def gather(environ: Mapping[str, str]) -> Around:
    """Look around. Takes milliseconds, at most PATIENCE_S where systemd does not answer."""
    unit = unit_of(await asyncio.to_thread(_read, "/proc/self/cgroup"))
    first = _read("/proc/1/comm").strip()
    return Around(
        unit=unit,
        shown=await _show(unit, environ) if unit else {},
        first=first,
        is_first=os.getpid() == 1,
        under_first=os.getppid() == 1,
        container=bool(environ.get("container")) or any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
    )


def unit_of(cgroup: str) -> str:
    """Return the innermost service unit that /proc/PID/cgroup names, empty where there is none."""
    units = [match[1] for line in cgroup.splitlines() for match in _UNIT.finditer(line.rpartition(":")[2])]
    named = [unit for unit in units if not unit.startswith("user@")]
    return named[-1] if named else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


async def _show(unit: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Ask systemd about a unit; nothing where it does not answer in time."""
    scope = ["--user"] if "/user@" in _read("/proc/self/cgroup") else []
    command = ["systemctl", *scope, "show", unit, *(f"--property={name}" for name in ASKED)]
    passed = {name: value for name, value in environ.items() if name in ("PATH", "XDG_RUNTIME_DIR")}
    try:
        child = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=passed)
    except OSError:
        return {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await child.communicate()
    except TimeoutError:
        return {}
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    pairs = (line.partition("=") for line in output.decode(errors="replace").splitlines())
    return {name: value for name, _, value in pairs if value}
