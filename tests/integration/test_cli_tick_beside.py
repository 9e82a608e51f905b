"""`pysched tick` where `pysched serve` lives on the same SQLite store: nothing is started twice. DESIGN 6."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.store.rows import micros
from tests.serving import ROOT, Served

TEXT = """
scheduler: {state_dir: state}
jobs:
  steady: {command: 'echo x >> ran', schedule: '* * * * * *'}
"""
QUIET = TEXT.replace("* * * * * *", "0 0 1 1 *")


def tick(served: Served, *options: str, file: Path | None = None) -> tuple[int, str, str]:
    """Type the command beside it; returns its exit code, its output, its errors."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    argv = [sys.executable, "-m", "pyscheduler.cli", "tick", str(file or served.file), *options]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=served.home, timeout=90, check=False)
    return done.returncode, done.stdout, done.stderr


def answered(served: Served, code: int, *options: str, file: Path | None = None) -> str:
    """Return what a pass says that serve has answered: on a busy machine it may take longer than a pass waits."""
    said: list[str] = []

    def is_so() -> bool:
        found, out, err = tick(served, *options, file=file)
        assert found in (code, 3), (found, out, err)
        said.append(out or err)
        return found == code

    served.until(is_so, f"exit code {code}")
    return said[-1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, QUIET)
    yield made
    made.clear()


def test_a_pass_beside_serve_leaves_it_all_to_it(served: Served) -> None:
    """Each firing has one run, and it is serve's; the pass says who runs the jobs and how they stand."""
    served.write(TEXT)
    served.start()
    out = answered(served, 0)
    assert f"`pysched serve` (pid {served.pid}) runs these jobs, so this pass has nothing to start: " in out
    told: dict[str, Any] = json.loads(answered(served, 0, "--json"))
    assert (told["started"], told["held_off"], told["served_by"]["pid"]) == (0, None, served.pid)
    assert told["served_by"]["next_firing"]
    served.until(lambda: len(served.get("/api/runs?state=succeeded")["runs"]) >= 2, "serve's own runs")
    instants = [run["scheduled_at"] for run in served.get("/api/runs?limit=200")["runs"]]
    assert len(set(instants)) == len(instants)


def test_where_serve_has_other_jobs_it_is_refused(served: Served) -> None:
    """Nobody would run ours, and an exit code of 0 would say that somebody does."""
    served.start()
    other = served.home / "other.yaml"
    other.write_text(QUIET.replace("steady", "mine"))
    err = answered(served, 1, file=other)
    found = f"`pysched serve` (pid {served.pid}) has this store with another configuration"
    assert f"{other}: {found}, that of {served.file}" in err
    assert "pysched reload" not in err  # that would not read this one
    served.write(TEXT)
    err = answered(served, 1)
    assert f"{served.file}: {found}" in err
    assert "pysched reload" in err


def test_a_serve_that_does_not_answer_is_not_taken_for_one_that_works(served: Served) -> None:
    """The exit code says that nothing was made, as where another scheduler leads."""
    served.start()
    served.signal(signal.SIGSTOP)
    try:
        code, out, _ = tick(served)
        assert code == 3
        assert "nothing was made" in out
    finally:
        served.signal(signal.SIGCONT)


def test_without_serve_the_pass_is_its_own(served: Served) -> None:
    """Also on the store that serve has left."""
    served.start()
    assert served.stop() == 0
    code, out, err = tick(served, "--json")
    assert (code, json.loads(out)["served_by"]) == (0, None), err


def test_what_serve_has_looked_after_is_not_gone_through_again(served: Served) -> None:
    """`overlap: queue` takes one firing a pass: the first that it takes lies behind all that was serve's to run."""
    text = TEXT.replace("* * * * * *'", "* * * * * *', overlap: queue, catch_up: all")
    served.write(text)
    code, out, err = tick(served, "--json")
    assert (code, json.loads(out)["started"]) == (0, 0), err  # the first look only notes the time
    served.start()
    served.until(lambda: len(served.get("/api/runs?state=succeeded")["runs"]) >= 3, "serve's own runs")
    served.write(QUIET)
    served.post("/api/reload")
    served.until(lambda: not served.get("/api/runs?state=queued&state=running")["runs"], "none is under way")
    until = datetime.fromisoformat(served.get("/api/scheduler")["last_tick"])
    assert served.stop() == 0
    before = instants(served)
    served.write(text)
    served.until(lambda: json.loads(tick(served, "--json")[1])["started"], "a pass has made a run")
    assert min(instants(served) - before) > micros(until)


def instants(served: Served) -> set[int]:
    """Return when the runs of the store were due, in microseconds of Unix time."""
    with closing(sqlite3.connect(served.home / "state" / "pysched.db")) as store:
        return {at for (at,) in store.execute("SELECT scheduled_at FROM runs")}
