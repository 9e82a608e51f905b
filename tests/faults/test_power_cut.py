"""Pull the plug: what was acknowledged is there, what had begun is never begun again. DESIGN 1, P1 to P3.

A scheduler is recorded at work, with its nursery and its minders, from its very first start. Then the power is cut at
hundreds of points of the recording: everything that was not synced by then may be lost, torn, reordered or there all
the same, names as well as bytes. On what is left a new engine recovers, under another boot id.

The recording also says what the API had told by then, and which jobs had been exec'd: both are held against what the
new engine finds. Its launcher really looks for attempts, but only notes down which it is asked to launch.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.config import load_config
from pyscheduler.engine import core, machine
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.minding import sight
from pyscheduler.engine.ports import AttemptHandle, AttemptRef, AttemptResult, Found, LaunchSpec
from pyscheduler.model.run import Attempt, Outcome, Run
from pyscheduler.store import RunQuery, Store
from pyscheduler.store.files import StoreFiles
from tests.faults.cutting import trace
from tests.faults.cutting.disk import Disk
from tests.serving import Served, served

CUTS, SOAK_CUTS = 60, 1500
KEPT = (0.0, 0.3, 0.7, 1.0)
NOT_BYTES = ("-shm", "-journal", ".lock", "api.sock")
"""The index, made anew by whoever opens the store; a rollback journal of a database not yet in its place; locks."""
ENDED = re.compile(rb'"r":"ended",[^{}]*?"key":"([^"]+)"')
FINAL = ("succeeded", "failed", "skipped", "cancelled")
TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  kill_grace: 1s
defaults: {schedule: manual, overlap: allow, command: "sh job.sh {run_id} {attempt} {job}"}
jobs:
  quick: {}
  slow: {}
  again: {retries: {count: 2, delay: 1s, backoff: 1}}
  endless: {}
"""
JOB = """
seq=${1##*.}
case $3 in
again) exit $(($2 > seq % 3 ? 0 : 5)) ;;
slow) sleep 1 ;;
endless) sleep 60 ;;
esac
exit $((seq % 4))
"""


def code_of(run_id: str, attempt: int) -> int:
    """Return the exit code that an attempt chooses."""
    job, _, seq = run_id.split(".")
    if job == "again":
        return 0 if attempt > int(seq) % 3 else 5
    return int(seq) % 4


def can_record() -> bool:
    """Whether strace is here and may look at what it starts."""
    try:
        return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not can_record(), reason="strace is not installed, or may not trace here")

# ------------------------------------------------------------------------------- the recording


@dataclass(frozen=True)
class Recording:
    """The scheduler's home, all that was done to its state folder, and when that was over."""

    home: Path
    events: list[trace.Event]
    ended_at: datetime


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A scheduler that has lived twice."""
    home = tmp_path_factory.mktemp("cut")
    (home / "job.sh").write_text(JOB)
    logs = [home / "first.trace", home / "second.trace"]
    with served(home, TEXT, wrapper=trace.command(logs[0])) as service:
        work(service)
        service._wrapper = trace.command(logs[1])
        work_on(service)
    tracer = trace.Tracer(home / "state", NOT_BYTES)
    events = [event for log in logs for event in tracer.read(log)]
    (home / "state").rename(home / "state-as-it-was")
    return Recording(home, events, SystemClock().now())


def work(service: Served) -> None:
    """The first life: everything from the folder's creation on; it is killed with jobs running."""
    service.start()
    for number in range(12):
        run_id = service.trigger(("quick", "again", "slow")[number % 3])
        if number % 4 == 0:
            service.until_state(run_id, "running", "retry_wait", *FINAL)
    endless = service.trigger("endless")
    service.until_state(endless, "running")
    service.post(f"/api/runs/{endless}/kill")
    service.until_state(endless, "failed")
    for _ in range(3):
        service.trigger("slow")
    service.kill()


def work_on(service: Served) -> None:
    """The second life: recovery, some more work, a polite stop while a job runs, whose note nobody reads."""
    service.start()
    for _ in range(3):
        service.trigger("quick")
    service.until(lambda: all(run["state"] in FINAL for run in service.get("/api/runs?limit=100")["runs"]), "all ended")
    service.until_state(service.trigger("slow"), "running", *FINAL)  # on a slow machine it has ended by now
    assert service.stop() == 0
    service.until(lambda: not service.marked(), "minders and recorder have ended")


def test_the_recording_is_whole(recording: Recording) -> None:
    """What the model says the folder held at the end is what it held: no call was overlooked."""
    home, events = recording.home, recording.events
    disk = Disk(home / "state")
    for event in events:
        disk.take(event)
    real = {
        str(home / "state" / path.relative_to(home / "state-as-it-was")): path.read_bytes()
        for path in (home / "state-as-it-was").rglob("*")
        if path.is_file() and not path.name.endswith(NOT_BYTES)
    }
    assert disk.files_now() == real


# ------------------------------------------------------------------------------- what was true at the cut


@dataclass
class Truth:
    """What others could know, and what had begun, by some point of the recording."""

    shown: dict[str, str] = field(default_factory=dict)
    """The state last told of a run."""
    begun: set[tuple[str, int]] = field(default_factory=set)
    noted: set[str] = field(default_factory=set)
    """The keys of attempts whose guardian has said that they ended: it says so once the note is on the disk."""

    def take(self, event: trace.Event) -> None:
        """Take in one event."""
        match event:
            case trace.Told(data):
                self.noted.update(key.decode() for key in ENDED.findall(data))
                for run in _runs_in(data):
                    self.shown[run["run_id"]] = run["state"]
            case trace.Begun(argv) if argv[:2] == ("sh", "job.sh"):
                self.begun.add((argv[2], int(argv[3])))
            case trace.Begun(argv) if len(argv) == 3 and argv[2].startswith("sh job.sh "):
                _, _, run_id, attempt, _ = argv[2].split()
                self.begun.add((run_id, int(attempt)))


def _runs_in(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield every run that an answer of the API names with its state."""
    try:
        found = json.loads(data)
    except ValueError:
        return
    heap = [found]
    while heap:
        one = heap.pop()
        if isinstance(one, dict):
            if {"run_id", "state"} <= one.keys():
                yield one
            heap.extend(one.values())
        elif isinstance(one, list):
            heap.extend(one)


# ------------------------------------------------------------------------------- the engine after the cut


class Endless:
    """An attempt that was launched, and of which nothing more is heard."""

    pid, remark = None, ""

    def watch(self, listener: Callable[[], None]) -> None: ...

    async def wait(self) -> AttemptResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    def terminate(self, by: str, reason: str = "") -> None: ...

    def kill(self) -> None: ...


class Noting:
    """A launcher that finds as the real one does, and notes down what it should launch."""

    def __init__(self) -> None:
        self.real = MinderLauncher()
        self.launched: list[tuple[str, int]] = []

    async def launch(self, spec: LaunchSpec) -> AttemptHandle:
        self.launched.append((spec.run_id, spec.attempt))
        return Endless()

    async def find(self, ref: AttemptRef) -> Found:
        return await self.real.find(ref)

    async def discard(self, refs: Iterable[AttemptRef]) -> None:
        await self.real.discard(refs)

    async def sweep(self, folder: Path, known: Callable[[str], bool | None]) -> tuple[Path, ...]:
        return await self.real.sweep(folder, known)

    async def close(self) -> None:
        await self.real.close()


@dataclass
class After:
    """What the new engine made of it."""

    runs: dict[str, Run]
    attempts: dict[str, list[Attempt]]
    launched: list[tuple[str, int]]


async def recover(home: Path) -> After:
    """Open what is left, let the engine come to rest, and look."""
    config = load_config(home / "pysched.yaml", env={})
    store = Store.open(config.settings.state_dir, sync=False)
    launcher = Noting()
    engine = Engine(config, store, clock=SystemClock(), launcher=launcher, environ={})
    await engine.start()
    await engine.settle()
    assert engine.error is None
    assert engine.catch_up_held is None, "the store is taken for an older copy of itself"
    runs = {run.run_id: run for run in store.runs(RunQuery(limit=1000)).items}
    after = After(runs, store.attempts_of(runs), launcher.launched)
    await engine.stop()
    await launcher.close()
    Store.check(StoreFiles(config.settings.state_dir).database)
    return after


@pytest.fixture
def rebooted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has another boot id than the one the recording was made under."""
    for module in (machine, core):
        monkeypatch.setattr(module, "boot_id", lambda: "00000000-aaaa-bbbb-cccc-000000000000")


def test_nothing_acknowledged_is_lost_and_nothing_runs_twice(
    recording: Recording, rebooted: None, pytestconfig: pytest.Config
) -> None:
    """At every point, whatever the disk made of what was not synced."""
    home, events = recording.home, recording.events
    chance = random.Random("the plug")
    cuts = SOAK_CUTS if pytestconfig.getoption("--soak") else CUTS
    points = sorted(chance.sample(range(len(events)), min(cuts, len(events))))
    disk, truth, at = Disk(home / "state"), Truth(), 0
    for point in points:
        for event in events[at:point]:
            disk.take(event)
            truth.take(event)
        at = point
        kept = chance.choice(KEPT)
        lay_out(home / "state", disk.after_a_cut(chance, kept))
        told = f"cut before event {point} of {len(events)} ({events[point]!r:.200}), kept {kept}"
        check(recording, disk, truth, asyncio.run(recover(home)), told)


def lay_out(state: Path, files: dict[str, bytes | None]) -> None:
    """Make the folder as the cut has left it."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(mode=0o700)
    for name, data in files.items():
        if data is None:
            Path(name).mkdir(mode=0o700)
        else:
            Path(name).write_bytes(data)


def check(recording: Recording, disk: Disk, truth: Truth, after: After, told: str) -> None:
    """Hold what the engine found against what was true."""
    for run_id, state in truth.shown.items():
        assert run_id in after.runs, f"{run_id} was acknowledged and is gone; {told}"
        if state in FINAL:
            assert after.runs[run_id].state.value == state, f"{run_id} was shown {state}: {after.runs[run_id]}; {told}"
    again = truth.begun & set(after.launched)
    assert not again, f"begun before the cut, and launched again: {again}; {told}"
    rows = {(run_id, one.attempt): one for run_id, each in after.attempts.items() for one in each}
    assert truth.begun <= rows.keys(), f"begun, and the store does not know: {truth.begun - rows.keys()}; {told}"
    for (run_id, number), row in rows.items():
        if (run_id, number) not in after.launched:
            noted = row.key in truth.noted or disk.holds_for_certain(row.status_path) is not None
            before_the_cut = row.ended_at is not None and row.ended_at < recording.ended_at
            check_end(run_id, row, told, noted=noted, before_the_cut=before_the_cut)


def check_end(run_id: str, row: Attempt, told: str, *, noted: bool, before_the_cut: bool) -> None:
    """An attempt of the old boot has its true end, or is lost, and then it may have run."""
    told = f"{row}; {told}"
    if row.outcome is Outcome.LOST and before_the_cut:
        assert row.note == sight.NEVER, told  # the second life knew that for certain
    elif row.outcome is Outcome.LOST:
        assert row.note.startswith(("may have run", "exit unknown")), told
        assert not noted, f"its note was on the disk: {told}"
    elif row.outcome is Outcome.KILLED:
        assert run_id.startswith("endless"), told
    else:
        assert row.outcome in (Outcome.SUCCEEDED, Outcome.FAILED), told
        assert row.exit_code == code_of(run_id, row.attempt), told
