"""Where tests run real attempts: a folder of its own, specs that need no boilerplate, and waiting for facts."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pyscheduler import minder
from pyscheduler.engine import machine
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.launcher import MinderLauncher, status_path
from pyscheduler.engine.minding.census import take_census
from pyscheduler.engine.ports import AttemptRef, LaunchSpec
from pyscheduler.minder import claim

PATIENCE_S = 60.0
"""Longer than anything here takes on a busy machine; a test that needs all of it has failed."""
RUN_ID = "nightly.2027-05-20.1"


class Yard:
    """One test's folder and its attempts."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.status = home / "status"
        self.logs = home / "logs"
        self.keys: set[str] = set()

    def spec(self, *argv: str, key: str | None = None, env: Mapping[str, str] | None = None, **more: Any) -> LaunchSpec:
        """Return the order of a fresh attempt; one item is run by the shell, several are exec'd."""
        key = key or secrets.token_hex(8)
        self.keys.add(key)
        command = ("/bin/sh", "-c", argv[0]) if len(argv) == 1 else argv
        fields: dict[str, Any] = {
            "run_id": RUN_ID,
            "attempt": 1,
            "key": key,
            "argv": command,
            "env": {"PATH": os.environ["PATH"], "HOME": str(self.home), **(env or {})},
            "cwd": str(self.home),
            "stdout_path": self.logs / f"{key}.out",
            "stderr_path": self.logs / f"{key}.err",
            "status_path": status_path(self.status, RUN_ID, 1, key),
            "kill_grace_s": 5.0,
        }
        return LaunchSpec(**{**fields, **more})

    def ref(self, spec: LaunchSpec, pid: int | None = None, **more: Any) -> AttemptRef:
        """Return what a store would remember of the attempt."""
        fields: dict[str, Any] = {
            "run_id": spec.run_id,
            "attempt": spec.attempt,
            "key": spec.key,
            "status_path": spec.status_path,
            "boot_id": machine.boot_id(),
            "started_at": SystemClock().now(),
            "pid": pid,
            "timeout_s": spec.timeout_s,
            "kill_grace_s": spec.kill_grace_s,
        }
        return AttemptRef(**{**fields, **more})

    def out(self, spec: LaunchSpec) -> str:
        """Return what the attempt has printed so far."""
        return spec.stdout_path.read_text()

    def file(self, name: str) -> Path:
        """Return a path inside the folder."""
        return self.home / name


@asynccontextmanager
async def minders(home: Path, **options: Any) -> AsyncIterator[tuple[MinderLauncher, Yard]]:
    """Give a launcher and a yard; afterwards nothing that the test started may be left running."""
    yard = Yard(home)
    launcher = MinderLauncher(**options)
    try:
        yield launcher, yard
    finally:
        await launcher.close()
        end = time.monotonic() + 5
        while time.monotonic() < end and (carriers(yard.keys) or guarded(yard)):
            for pid in carriers(yard.keys):
                kill(pid)
            await asyncio.sleep(0.02)


def hurried(home: Path, *extra: str, **constants: float) -> str:
    """Return a `python` for the launcher whose nursery has other constants: `watch__IDLE_S=0.2`.

    So a test sees in a moment what otherwise takes ten seconds. The code that runs is the real one; `extra` lines may
    break it on purpose, with the room's modules at hand as `room("watch")`.
    """
    folder = str(Path(minder.__file__).parent)
    lines = [
        f"#!{sys.executable} -I",
        "import importlib, sys, types",
        "package = types.ModuleType('minder')",
        f"package.__path__ = [{folder!r}]",
        "sys.modules['minder'] = package",
        "nursery = importlib.import_module('minder.nursery')",
        "sys.argv = sys.argv[4:]",
        "def room(name): return importlib.import_module('minder.' + name)",
    ]
    for name, value in constants.items():
        module, _, constant = name.partition("__")
        lines.append(f"room({module!r}).{constant} = {value!r}")
    path = home / "hurried-python"
    path.write_text("\n".join([*lines, *extra, "nursery.main()"]) + "\n")
    path.chmod(0o755)
    return str(path)


def no_timeout_before(path: Path) -> str:
    """Return lines for `hurried`: no timeout strikes before this file is there, however long the job takes to make it.

    So a job has its traps set and its children begun when the time it was given is over.
    """
    return f"""
deadline, guards = room("guard").Guard.deadline, room("guard")
def patient(self):
    due, now = deadline(self), guards.time.monotonic()
    if due is None or self._phase != guards.RUNS or guards.os.path.exists({str(path)!r}): return due
    return max(due, now + 0.02)
room("guard").Guard.deadline = patient
"""


def kill(pid: int, signum: int = signal.SIGKILL) -> None:
    """Signal a process that may have ended by itself."""
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        pass  # which is what was wanted


def guarded(yard: Yard) -> bool:
    """Whether somebody still holds the lock of an attempt of this yard."""
    for path in yard.status.glob("*.pid"):
        if not any(key in path.name for key in yard.keys):
            continue
        with path.open("r+") as file:
            if not claim.try_lock(file.fileno()):
                return True
    return False


def carriers(keys: set[str]) -> list[int]:
    """Return the living processes that carry one of these attempts' keys."""
    return [pid for key in keys for pid in take_census().carriers(key) if alive(pid)]


async def until(fact: Callable[[], Any], what: str = "") -> Any:
    """Wait until a fact holds and return it."""
    end = time.monotonic() + PATIENCE_S
    while not (found := fact()):
        assert time.monotonic() < end, f"still not so after {PATIENCE_S} s: {what or fact}"
        await asyncio.sleep(0.01)
    return found


def alive(pid: int) -> bool:
    """Whether the process runs code: a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def number_in(path: Path) -> int | None:
    """Return the number a job has written there, None as long as it has not."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None
