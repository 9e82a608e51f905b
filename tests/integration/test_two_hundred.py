"""Two hundred jobs at once, and never one more than is allowed; docs/concepts/concurrency.md.

Real processes under real minders, started by a real service. That they live at the same instant is seen, not computed:
each waits for a file that is made only after all of them have been seen alive in one look.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pyscheduler.minder import kernel
from tests.serving import Served, served

MANY = 200
CAP = 8
QUEUE = 48

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  max_running: {cap}
defaults: {{schedule: manual, overlap: allow}}
jobs:
  waits: {{command: "echo $$$$ > alive/{{run_id}}; until [ -e go ]; do sleep 1; done"}}
  works: {{command: "sh works.sh"}}
"""
WORKS = """
read -r begun rest </proc/uptime
until [ -e go ]; do sleep 0.1; done
sleep 0.4
read -r ended rest </proc/uptime
echo "$begun $ended" >"ledger/$PYSCHED_RUN_ID"
"""


def ended(service: Served, job: str) -> dict[str, str]:
    """Return the state of each run of a job that has ended."""
    runs = service.get(f"/api/runs?job={job}&limit=1000")["runs"]
    return {run["run_id"]: run["state"] for run in runs if run["state"] in ("succeeded", "failed", "cancelled")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("alive", "ledger"):
        (tmp_path / folder).mkdir()
    (tmp_path / "works.sh").write_text(WORKS)
    return tmp_path


@pytest.mark.alone
def test_two_hundred_jobs_live_at_the_same_instant(home: Path) -> None:
    """Each waits for one file; all are seen alive in one look, then all succeed at their first attempt."""
    with served(home, TEXT.format(cap=MANY)) as service:
        service.start()
        run_ids = {service.trigger("waits") for _ in range(MANY)}
        jobs = service.until(lambda: begun(home / "alive"), "all have begun")
        table = kernel.processes()
        assert jobs.keys() == run_ids
        assert len(set(jobs.values())) == MANY
        assert [run_id for run_id, pid in jobs.items() if pid not in table or not table[pid].alive] == []
        assert service.get("/api/scheduler")["slots"]["in_use"] == MANY
        (home / "go").touch()
        service.until(lambda: len(ended(service, "waits")) == MANY, "all have ended")
        assert set(ended(service, "waits").values()) == {"succeeded"}
        attempts = {run["attempt"] for run in service.get("/api/runs?job=waits&limit=1000")["runs"]}
        assert attempts == {1}
        assert service.stop() == 0


@pytest.mark.alone
def test_never_more_than_eight(home: Path) -> None:
    """Counted from outside while they run, and afterwards from what the jobs themselves wrote down: at most the cap,
    and the cap is used.
    """
    with served(home, TEXT.format(cap=CAP)) as service:
        service.start()
        counts = [0]
        for _ in range(QUEUE):
            service.trigger("works")
            counts.append(living(service))
        service.until(lambda: living(service) == CAP, "the cap is used")
        (home / "go").touch()
        while len(ended(service, "works")) < QUEUE:
            counts.append(living(service))
        assert set(ended(service, "works").values()) == {"succeeded"}
        assert service.stop() == 0
    assert max(counts) <= CAP
    assert most_at_once(home / "ledger") == CAP


def begun(folder: Path) -> dict[str, int]:
    """Return the jobs' pids once all of them have written theirs down."""
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    whole = len(texts) == MANY and all(text.endswith("\n") for text in texts.values())
    return {name: int(text) for name, text in texts.items()} if whole else {}


def living(service: Served) -> int:
    """Return how many jobs run: each leads a session of its own, and so do only nursery and minders beside them."""
    ours = {pid: kernel.stat(pid) for pid in service.marked()}
    return sum(one is not None and one.alive and one.session == pid for pid, one in ours.items())


def most_at_once(ledger: Path) -> int:
    """Return the most intervals that overlap at any instant."""
    pages = [path.read_text().split() for path in ledger.iterdir()]
    assert len(pages) == QUEUE
    steps = sorted([(float(begun), 1) for begun, _ in pages] + [(float(ended), -1) for _, ended in pages])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def test_the_shell_of_these_tests_counts_as_they_think(tmp_path: Path) -> None:
    """/proc/uptime is there and grows: the ledger's intervals mean something."""
    (tmp_path / "ledger").mkdir()
    (tmp_path / "go").touch()
    script = "PYSCHED_RUN_ID=x sh -c '" + WORKS + "'"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    begun, end = map(float, (tmp_path / "ledger" / "x").read_text().split())
    assert end - begun >= 0.39
