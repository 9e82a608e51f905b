"""Eight operators at once, for as long as it takes: no error but the documented refusals, and all counts agree. FC-054.

They trigger, hold, release, kill, rerun and mark whatever they see, through the API of a real service, while its jobs
run and end, others read lists, logs and explanations, and somebody keeps a reading transaction open on the store.
Afterwards the logbook holds exactly one line for each answer 200 and none for a refusal; every run has ended.
"""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from pyscheduler.model.run import Outcome
from pyscheduler.store import LineQuery, Store
from tests.faults.crashing.judge import all_runs
from tests.serving import Served, served

OPERATORS = 8
SECONDS, SOAK_SECONDS = 8.0, 60.0
RECENT = 40
TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  max_running: 8
  kill_grace: 1s
pools: {narrow: 2}
jobs:
  quick: {command: "true", overlap: allow, schedule: manual}
  slow: {command: "sleep 0.4", overlap: allow, pools: {narrow: 1}, schedule: manual}
  lined-up: {command: "sleep 0.1", schedule: manual}
  fails: {command: "exit 3", overlap: allow, retries: {count: 1, delay: 1s}, schedule: manual}
  upstream: {command: "sleep 0.1", overlap: allow, schedule: manual}
  downstream: {command: "true", depends_on: [upstream]}
  once: {command: "true", overlap: skip, schedule: manual}
"""
TRIGGERED = ("quick", "quick", "slow", "lined-up", "fails", "upstream", "once")
DEEDS = ("hold", "release", "kill", "rerun", "force-start", "skip", "cancel", "mark-success", "mark-failed")
ENDED = ("succeeded", "failed", "skipped", "cancelled")
OPEN = ("scheduled", "waiting", "blocked", "queued", "running", "retry_wait", "held")


class Operator(threading.Thread):
    """One of them: asks, and keeps count of what was answered."""

    def __init__(self, service: Served, number: int, runs: list[str], until: float) -> None:
        super().__init__(name=f"operator {number}")
        self._service, self._runs, self._until = service, runs, until
        self._chance = random.Random(f"operator {number}")
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.wrong: list[object] = []
        self._held: list[str] = []

    def run(self) -> None:
        while time.monotonic() < self._until and not self.wrong:
            try:
                self._act()
            except OSError as error:
                self.wrong.append(error)

    def _act(self) -> None:
        chance = self._chance.random()
        if chance < 0.35 or not self._runs:
            self._trigger()
        elif chance < 0.42 and self._held:
            self._do("release", self._held.pop())
        elif chance < 0.8:
            self._do(self._chance.choice(DEEDS), self._chance.choice(self._runs[-RECENT:]))
        else:
            self._look(self._chance.choice(self._runs[-RECENT:]))

    def _trigger(self) -> None:
        day = f"2027-05-{self._chance.randrange(10, 14)}"
        job = self._chance.choice(TRIGGERED)
        answer = self._service.ask("POST", f"/api/jobs/{job}/trigger", {"run_date": day})
        if answer.status != 200:
            self.wrong.append((job, answer))
            return
        self.done["trigger"] += 1
        self._runs.append(answer.body["run"]["run_id"])

    def _do(self, deed: str, run_id: str) -> None:
        answer = self._service.ask("POST", f"/api/runs/{run_id}/{deed}", {})
        if answer.status == 200:
            self.done[deed.replace("-", "_")] += 1
            if deed == "hold":
                self._held.append(run_id)
        elif answer.status == 409 and answer.body["error"]:
            self.refused[deed] += 1
        else:
            self.wrong.append((deed, run_id, answer))

    def _look(self, run_id: str) -> None:
        job = run_id.split(".")[0]
        paths = (f"/api/runs/{run_id}", f"/api/why?job={job}", "/api/runs?limit=200", f"/api/runs/{run_id}/log")
        path = self._chance.choice(paths)
        answer = self._service.ask("GET", path)
        nothing_there_yet = answer.status == 404 and path.endswith("/log")
        if answer.status != 200 and not nothing_there_yet:
            self.wrong.append((path, answer))


def let_all_end(service: Served) -> int:
    """Cancel what waits for somebody, and wait for the rest; returns how many were cancelled."""
    cancelled = 0

    def open_runs() -> list[dict[str, str]]:
        return [run for state in OPEN for run in service.get(f"/api/runs?limit=1000&state={state}")["runs"]]

    def settled() -> bool:
        nonlocal cancelled
        for run in open_runs():
            if run["state"] in ("held", "blocked", "waiting"):
                cancelled += service.ask("POST", f"/api/runs/{run['run_id']}/cancel", {}).status == 200
        return not open_runs()

    service.until(settled, "every run has ended")
    return cancelled


@pytest.mark.alone
@pytest.mark.timeout(300)
def test_eight_operators_at_once(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Every answer is 200 or a documented 409; what was answered is what the logbook says, once each."""
    seconds = SOAK_SECONDS if pytestconfig.getoption("--soak") else SECONDS
    runs: list[str] = []
    with served(tmp_path, TEXT) as service:
        service.start()
        with closing(sqlite3.connect(f"file:{service.state}/pysched.db?mode=ro", uri=True)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM runs").fetchone()
            until = time.monotonic() + seconds
            operators = [Operator(service, number, runs, until) for number in range(OPERATORS)]
            for operator in operators:
                operator.start()
            for operator in operators:
                operator.join()
        assert [operator.wrong for operator in operators if operator.wrong] == []
        done = sum((operator.done for operator in operators), Counter[str]())
        done["cancel"] += let_all_end(service)
        assert service.stop() == 0
        assert "Traceback" not in service.said()
        assert " ERROR " not in service.said()
    check_history(tmp_path, done, runs)
    refused = sum((operator.refused for operator in operators), Counter[str]())
    print(f"done {dict(done)}, refused {dict(refused)}")
    assert all(done[deed.replace("-", "_")] for deed in DEEDS), f"some deed was never possible: {done}"


def check_history(home: Path, done: Counter[str], triggered: list[str]) -> None:
    """One line a deed, one run a trigger, one row and two lines an attempt, every run ended."""
    store = Store.open(home / "state", sync=False)
    runs = all_runs(store)
    attempts = store.attempts_of(runs)
    lines = Counter(line.action for run_id in runs for line in store.lines(LineQuery(run_id=run_id, limit=1000)).items)
    store.close()
    assert {deed: lines[deed] for deed in done} == dict(done)
    assert len(triggered) == len(set(triggered)) == done["trigger"]
    assert set(triggered) <= runs.keys()
    assert {run.state.value for run in runs.values()} <= set(ENDED)
    for run_id, run in runs.items():
        numbers = [one.attempt for one in attempts.get(run_id, [])]
        assert numbers == list(range(1, run.attempt + 1))
        assert all(one.outcome is not None for one in attempts.get(run_id, []))
    count = sum(map(len, attempts.values()))
    assert (lines["attempt_started"], lines["attempt_ended"]) == (count, count)
    killed = sum(one.outcome is Outcome.KILLED for each in attempts.values() for one in each)
    assert killed == done["kill"]
