"""One world for a B test: a store, a clock that a test moves, tasks that write down what they do, schedulers.

Schedulers in this process are `World.scheduler()`; those that are to be killed or stopped are hands (`hand.py`), real
processes that do what is written to their standard input. A world may have several hosts: each has a host id and a
state folder of its own, which needs a store on a server.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from pyscheduler.cluster import Schedule, Scheduler, Task, TaskFailed, Ticked
from pyscheduler.cluster.identity import HOST_VARIABLE
from pyscheduler.store.claims import Door
from pyscheduler.store.claims.opening import open_door
from tests.conformance.cluster.rows import RunRow, lines_of, run_rows

T = TypeVar("T")

SHORT: Final = {
    "heartbeat": 0.2,
    "lease": 2.0,
    "kill_grace": 0.3,
    "margin": 1.4,
    "observe": 0.6,
    "sweep": 0.2,
    "authority_lease": 1.0,
    "authority_heartbeat": 0.2,
    "authority_observe": 0.6,
    "authority_margin": 0.3,
}
"""claims.md C14's short timing, in seconds."""
LEASE_S: Final = SHORT["lease"]
MIDNIGHT: Final = datetime(2027, 5, 20, tzinfo=UTC)
DEADLINE_S: Final = 60.0
SOURCE: Final = Path(__file__).parents[3]


def until(fact: Callable[[], T], what: str = "", within_s: float = DEADLINE_S) -> T:
    """Wait for a fact, and return it."""
    deadline = time.monotonic() + within_s
    while True:
        if found := fact():
            return found
        assert time.monotonic() < deadline, f"it never came to be: {what or fact}"
        time.sleep(0.02)


@dataclass
class Host:
    """One machine, as far as schedulers can tell: its id, and its folder."""

    name: str
    state_dir: Path


@dataclass
class World:
    """See above. `store` None: SQLite in the host's folder."""

    folder: Path
    store: str | None
    hosts: dict[str, Host] = field(default_factory=dict)
    hands: list[Hand] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    # ------------------------------------------------------------------ time

    @property
    def clock(self) -> Path:
        """The file that holds what the schedulers take for the present."""
        return self.folder / "now"

    def at(self, minutes: float) -> None:
        """Let it be so many minutes past midnight."""
        part = self.folder / "now.part"
        part.write_text((MIDNIGHT + timedelta(minutes=minutes)).isoformat())
        part.replace(self.clock)

    def now(self) -> datetime:
        """Return the present that the test has set."""
        return datetime.fromisoformat(self.clock.read_text())

    # ------------------------------------------------------------------ tasks

    def command(self, then: str = "true", *, gated: bool = False) -> str:
        """Return a command that writes down its begin and its end; `gated` waits for `open_gate` in between."""
        note = f'echo "$PYSCHED_RUN_ID $PYSCHED_RUN_TOKEN $$ {{}}" >> {self.folder}/effects'
        wait = f'until [ -e {self.folder}/gate-"$PYSCHED_RUN_ID" ]; do sleep 0.02; done' if gated else "true"
        return f"{note.format('begin')}; {wait}; ({then}); code=$?; {note.format('end')}; exit $code"

    def open_gate(self, run_id: str) -> None:
        """Let a gated run go on."""
        (self.folder / f"gate-{run_id}").touch()

    def effects(self, what: str = "begin") -> list[str]:
        """Return the run ids of what has begun (or ended), in that order."""
        return [run_id for run_id, _, _, word in self._effects() if word == what]

    def tokens(self) -> list[tuple[str, int]]:
        """Return the (run id, token) of each execution."""
        return [(run_id, int(token)) for run_id, token, _, word in self._effects() if word == "begin"]

    def pids(self) -> list[int]:
        """Return the process of each execution."""
        return [int(pid) for _, _, pid, word in self._effects() if word == "begin"]

    def _effects(self) -> list[list[str]]:
        with suppress(FileNotFoundError):
            return [line.split() for line in (self.folder / "effects").read_text().splitlines()]
        return []

    def minutely(self, *, gated: bool = False, then: str = "true", **more: Any) -> Task:
        """Return the task `job`, due each minute."""
        return Task("job", "* * * * *", self.command(then, gated=gated), **more)

    # ------------------------------------------------------------------ schedulers

    def host(self, name: str = "here") -> Host:
        """Return a host, made when it is first asked for."""
        if name not in self.hosts:
            assert self.store is not None or not self.hosts, "a SQLite store is on one host"
            self.hosts[name] = Host(name, self.folder / name)
        return self.hosts[name]

    def place(self, host: str = "here") -> dict[str, str]:
        """Return where the store is, in a scheduler's words, for a host."""
        folder = self.host(host).state_dir
        return {"store": self.store or str(folder), "state_dir": str(folder)}

    def scheduler(self, *tasks: Task, schedule: Schedule | None = None, by: str = "", **more: Any) -> Scheduler:
        """Return a scheduler in this process; `by` is the store's address, where it goes by another way."""
        given: dict[str, Any] = {"timing": SHORT, "now": self.now, "node": "here"} | more
        place: dict[str, Any] = {**self.place(), **({"store": by} if by else {})}
        return Scheduler(schedule or Schedule(*tasks), **place, **given)

    def hand(self, *tasks: dict[str, Any], host: str = "here", **more: Any) -> Hand:
        """Return a scheduler in a process of its own; tasks are the arguments of Task by name."""
        given = {"tasks": tasks, "clock": str(self.clock), "timing": SHORT, "node": host, **self.place(host), **more}
        hand = Hand(json.dumps(given), host)
        self.hands.append(hand)
        return hand

    # ------------------------------------------------------------------ the store

    @contextmanager
    def door(self) -> Iterator[Door]:
        """Give the store to a test that looks, or forges."""
        place = self.place(next(iter(self.hosts), "here"))
        door = open_door(place["store"], Path(place["state_dir"]))
        try:
            yield door
        finally:
            door.close()

    def runs(self) -> list[RunRow]:
        """Return the rows of all runs, in due order."""
        with self.door() as door:
            return run_rows(door)

    def states(self) -> list[str]:
        """Return the state of each run, in due order."""
        return [row.state for row in self.runs()]

    def lines(self, action: str) -> list[str]:
        """Return the run ids of which the logbook says this."""
        with self.door() as door:
            return lines_of(door, action)

    @contextmanager
    def file_locked(self) -> Iterator[None]:
        """Hold the lock of a store in a file, so that nobody is in the middle of a write meanwhile."""
        descriptor = os.open(self.host().state_dir / "store.lock", os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def stop(self, hand: Hand) -> None:
        """Let a hand stand still, and not with the lock of a store in a file, for which everybody else would wait."""
        with self.file_locked() if self.store is None else nullcontext():
            hand.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, hand.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def close(self) -> None:
        """End every hand, and what is left of the tasks."""
        for hand in self.hands:
            hand.kill()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), signal.SIGKILL)


class Hand:
    """A scheduler in a process of its own: see `hand.py`."""

    def __init__(self, given: str, host: str) -> None:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCE / "src"), str(SOURCE))), HOST_VARIABLE: host}
        argv = [sys.executable, "-m", "tests.conformance.cluster.hand", given]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env, cwd=SOURCE)
        self.said: list[str] = []
        self.answers: list[dict[str, Any]] = []
        self._readers = [
            threading.Thread(target=self._hear, daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        until(lambda: self.answers, "the hand is there")
        self.answers.clear()

    def do(self, what: str, **more: Any) -> None:
        """Tell it to do something, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()

    def answer(self, within_s: float = DEADLINE_S) -> dict[str, Any]:
        """Wait for its next answer."""
        until(lambda: self.answers, "the hand answers", within_s)
        return self.answers.pop(0)

    def ask(self, what: str, **more: Any) -> dict[str, Any]:
        """Tell it to do something and wait for the answer."""
        self.do(what, **more)
        return self.answer()

    def log(self) -> str:
        """Return what it has logged."""
        return "".join(self.said)

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin,):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        for reader in self._readers:
            reader.join()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self.answers.append(json.loads(line))

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.said.append(line)


class Ticking:
    """A tick in a thread of this process."""

    def __init__(self, scheduler: Scheduler, **more: Any) -> None:
        self.ticked: Ticked | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(scheduler, more), daemon=True)
        self._thread.start()

    def end(self) -> Ticked:
        """Wait for it, and return its numbers."""
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        if self.error is not None and not isinstance(self.error, TaskFailed):
            raise self.error
        assert self.ticked is not None
        return self.ticked

    def _run(self, scheduler: Scheduler, more: dict[str, Any]) -> None:
        try:
            self.ticked = scheduler.tick(**more)
        except TaskFailed as failure:
            self.error, self.ticked = failure, failure.ticked
        except BaseException as error:  # raised again by whoever waits
            self.error = error


def task(id: str, command: str, **more: Any) -> dict[str, Any]:  # noqa: A002
    """Return the arguments of a task for a hand: each minute unless `trigger` says otherwise."""
    return {"id": id, "trigger": "* * * * *", "command": command, **more}


def numbers(ticked: Ticked) -> tuple[int, int, int]:
    """Return how many were started, refused and handed back (B17)."""
    return ticked.started, ticked.refused, ticked.handed_back


def sequence(given: Sequence[str]) -> list[str]:
    """Return run ids by their number alone."""
    return [run_id.rpartition(".")[2] for run_id in given]
