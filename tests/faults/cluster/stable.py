"""The other side of `driver.py`: start schedulers, hear of their ends, signal them and what they have started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.faults.cluster.driver import PROGRAM

NURSERY: Final = "minder/nursery.py"
START_S: Final = 60


@dataclass
class Life:
    """One scheduler process, from its start to its end."""

    name: str
    pid: int = 0
    code: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def lives(self) -> bool:
        return not self.ended.is_set()

    def signal(self, what: signal.Signals) -> None:
        """Send a signal; nothing where it has ended."""
        if self.lives:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)


class Stable:
    """All schedulers of one test. `where` are the words before the driver's command: a network namespace's, or none."""

    def __init__(self, where: Sequence[str] = ()) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        self._driver = subprocess.Popen(
            [*where, sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._lives: dict[str, Life] = {}
        self._lock = threading.Lock()
        self._ears = threading.Thread(target=self._listen, name="stable", daemon=True)
        self._ears.start()

    def start(self, name: str, argv: Sequence[str], *, env: dict[str, str], log: Path, cwd: Path) -> Life:
        """Start a scheduler under a name that is used once, and wait until it has a pid."""
        life = Life(name)
        with self._lock:
            assert name not in self._lives
            self._lives[name] = life
        order = {"name": name, "argv": list(argv), "env": env, "log": str(log), "cwd": str(cwd)}
        assert self._driver.stdin is not None
        self._driver.stdin.write(json.dumps(order).encode() + b"\n")
        self._driver.stdin.flush()
        assert life.started.wait(START_S), f"{name} was not started: the driver ended with {self._driver.poll()}"
        return life

    def _listen(self) -> None:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            said = json.loads(line)
            life = self._lives[said["name"]]
            if "code" in said:
                life.code = said["code"]
                life.ended.set()
            else:
                life.pid = said["pid"]
                life.started.set()

    def close(self) -> None:
        """Kill every scheduler that still lives, and the driver."""
        for life in self._lives.values():
            if life.started.is_set():
                life.signal(signal.SIGCONT)
                life.signal(signal.SIGKILL)
                life.ended.wait(10)
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.close()
        self._driver.wait(10)
        self._ears.join(10)
        self._driver.stdout.close()


@contextmanager
def stable(where: Sequence[str] = ()) -> Iterator[Stable]:
    made = Stable(where)
    try:
        yield made
    finally:
        made.close()


def descendants(pid: int) -> list[int]:
    """Return what a process has started and what that has started, as far as it still hangs together."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                after = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(after[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def minders(pid: int) -> list[int]:
    """Return the nursery and the minders of a scheduler."""
    return [child for child in descendants(pid) if NURSERY in command_line(child)]


def command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def of_folder(folder: Path) -> list[int]:
    """Return the processes that work in a test's folder or were given a path in it: what a test may leave behind."""
    found, words = [], os.fsencode(str(folder))
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError):
                at = Path("/proc", name)
                told = (at / "cmdline").read_bytes() + b"\0" + (at / "environ").read_bytes()
                if words in told or os.fsencode(os.readlink(at / "cwd")).startswith(words):
                    found.append(int(name))
    return found


def end_all(folder: Path) -> None:
    """Kill what a test has left behind, until nothing is."""
    for _ in range(400):  # twenty seconds: what is killed dies when it gets the processor
        left = of_folder(folder)
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        threading.Event().wait(0.05)
    raise AssertionError(f"these do not die: {[(pid, command_line(pid)) for pid in of_folder(folder)]}")
