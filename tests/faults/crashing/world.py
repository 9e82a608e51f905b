"""The world of the crash test: one scheduler after the other on one state folder, and whoever kills them.

It keeps the book of everything the judge must know: who was killed when, what was acknowledged, which crash points
were met. Processes are known by a mark in their environment, so only this test's own are ever signalled.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.minding import locktest
from pyscheduler.minder import kernel, notes
from tests.faults.crashing import driver, jobs
from tests.serving import MARK, ROOT, Answer, Served

COMM = b"pysched-nursery\n"
OPEN_STATES = ("scheduled", "waiting", "blocked", "queued", "running", "retry_wait", "held")
PAUSE_S = (0.005, 0.04)
"""Between two triggers."""


@dataclass
class Book:
    """What happened, as far as it is not in the store."""

    killed: dict[notes.Proc, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: set[str] = field(default_factory=set)
    ordered_dead: set[str] = field(default_factory=set)
    lives: int = 0
    silent_at: datetime | None = None
    """When the job with a schedule was paused, so that everything could come to its end."""


class World(Served):
    """One home folder, its scheduler's lives, its killers."""

    def __init__(self, home: Path, seed: str, env: Mapping[str, str] | None = None) -> None:
        for folder in ("ledger", "archive", "points"):
            (home / folder).mkdir()
        (home / "job.sh").write_text(jobs.SCRIPT)
        super().__init__(home, jobs.CONFIG, driver=driver.PROGRAM)
        self.chance = random.Random(seed)
        self.book = Book()
        self._extra = dict(env or {})
        self._nurseries: set[notes.Proc] = set()
        self._doomed: list[str] = []

    # ----------------------------------------------------------------- lives

    def begin(self, points: tuple[str, ...] = (), own_point: str = "", commit: str = "") -> bool:
        """Start a scheduler whose nursery and who itself die at these points; False if it died before it was ready."""
        self.book.lives += 1
        once = str(self.home / "points" / f"{self.book.lives}")
        nursery = {MARK: self.mark, **self._extra}
        if points:
            nursery |= {"PYSCHED_CRASH": ",".join(points), "PYSCHED_CRASH_ONCE": once}
        env = {driver.NURSERY: json.dumps(nursery), driver.ARCHIVE: str(self.home / "archive"), **self._extra}
        env["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
        if own_point:
            env |= {"PYSCHED_CRASH": own_point, "PYSCHED_CRASH_ONCE": once}
        if commit:
            env[driver.COMMIT] = commit
        self.start(ready=False, env=env)
        self.until(lambda: not self.up or self._is_ready(), "it is ready, or dead")
        return self.up

    @property
    def up(self) -> bool:
        """Whether the scheduler's process has not ended."""
        return self.process is not None and self.process.poll() is None

    def _is_ready(self) -> bool:
        health = self.try_to("GET", "/api/health")
        return health is not None and health.status == 200

    def try_to(self, method: str, path: str, body: object = None) -> Answer | None:
        """Ask somebody who may be killed in the middle of the answer: None where there is no whole one."""
        try:
            return self.ask(method, path, body)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def met(self) -> set[str]:
        """Return the named points at which somebody has died."""
        return {path.name.split(".", 1)[1] for path in (self.home / "points").iterdir()}

    def deaths(self) -> set[notes.Proc]:
        """Return everybody who was killed, by hand or at a named point."""
        found = set(self.book.killed)
        for path in (self.home / "points").iterdir():
            pid, ticks = path.read_text().split()
            found.add(notes.Proc(int(pid), int(ticks)))
        return found

    # ----------------------------------------------------------------- work

    def load(self, seconds: float) -> None:
        """Trigger runs, and order some of them to end, until the time is over or nobody answers any more."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.up:
            job = self.chance.choices(list(jobs.KINDS), list(jobs.KINDS.values()))[0]
            day = f"2027-05-{self.chance.randrange(10, 14)}"
            answer = self.try_to("POST", f"/api/jobs/{job}/trigger", {"run_date": day})
            if answer is not None and answer.status == 200:
                run_id = answer.body["run"]["run_id"]
                self.book.acknowledged.add(run_id)
                if job == "doomed":
                    self._doomed.append(run_id)
            elif answer is not None:
                assert answer.status == 503, answer
            if self._doomed and self.chance.random() < 0.15:
                self._order_dead(self._doomed.pop(0))
            time.sleep(self.chance.uniform(*PAUSE_S))

    def _order_dead(self, run_id: str) -> None:
        answer = self.try_to("POST", f"/api/runs/{run_id}/kill", {})
        if answer is not None and answer.status == 200:
            self.book.ordered_dead.add(run_id)
        elif answer is not None:
            assert answer.status in (409, 503), answer

    def settle(self) -> None:
        """Let nothing more begin, and wait until every run has ended."""
        self.post("/api/jobs/bell/pause")
        self.book.silent_at = SystemClock().now()
        for run_id in self._doomed:
            self._order_dead(run_id)
        self._doomed.clear()
        self.until(lambda: not self.open_runs(), "every run has ended")

    def open_runs(self) -> list[str]:
        """Return the runs that have not ended."""
        found = [self.get(f"/api/runs?limit=1000&state={state}")["runs"] for state in OPEN_STATES]
        return [run["run_id"] for runs in found for run in runs]

    # ----------------------------------------------------------------- killing

    def guardians(self) -> tuple[list[notes.Proc], list[notes.Proc]]:
        """Return the nurseries and the minders that are alive."""
        found = [one for pid in _named(COMM) if (one := kernel.stat(pid)) is not None and one.alive]
        found = [one for one in found if self._is_ours(one.pid)]
        for one in found:
            if self.process is not None and one.parent == self.process.pid:
                self._nurseries.add(one.proc)
        nurseries = [one for one in found if one.proc in self._nurseries]
        # a minder's child is a job before its exec
        unborn = {one.pid for one in found} - {one.pid for one in nurseries}
        minders = [one for one in found if one not in nurseries and one.parent not in unborn]
        return [one.proc for one in nurseries], [one.proc for one in minders]

    def _is_ours(self, pid: int) -> bool:
        try:
            return f"{MARK}={self.mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def strike(self, victims: str) -> None:
        """Kill −9: `scheduler`, `nursery`, `minder`, `minders` (three), or several of them joined by +."""
        nurseries, minders = self.guardians()
        chosen: list[tuple[str, notes.Proc]] = []
        for word in victims.split("+"):
            group = {"scheduler": self._scheduler(), "nursery": nurseries}.get(word, minders)
            count = min(len(group), 3 if word == "minders" else 1)
            chosen += [(word, proc) for proc in self.chance.sample(group, count)]
        self.chance.shuffle(chosen)
        for word, proc in chosen:
            if kernel.send(proc, signal.SIGKILL):
                self.book.killed[proc] = word
        self.book.kills[victims] += bool(chosen)

    def _scheduler(self) -> list[notes.Proc]:
        if not self.up or self.process is None:
            return []
        return [notes.Proc(self.process.pid, kernel.start_ticks(self.process.pid) or 0)]

    def left_behind(self) -> list[str]:
        """Return what still runs of all that was started here."""
        return [name for pid in self.marked() if kernel.stat(pid) is not None and (name := _name_of(pid))]

    def files_left(self) -> list[Path]:
        """Return what lies in the status folder once the lock test has tidied up behind killed ones of its kind."""
        folder = self.state / "status"
        assert locktest.lock_fault(str(folder)) == ""
        return list(folder.iterdir())


def _name_of(pid: int) -> str:
    """Return what a process calls itself; nothing where it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _named(comm: bytes) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if Path(f"/proc/{name}/comm").read_bytes() == comm:
                    found.append(int(name))
            except OSError:
                continue
    return found


def report(title: str, counts: Mapping[str, int]) -> None:
    """Print one line of the report, where pytest shows it with -s and keeps it with a failure."""
    told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"{title}: {told}", file=sys.stderr)
