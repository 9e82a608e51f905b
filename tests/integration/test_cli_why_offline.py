"""`why` while no scheduler runs, on stores made by hand: no process, no waiting for a clock."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.cli.main import main
from pyscheduler.cli.session import Session
from pyscheduler.cli.terminal import Terminal
from pyscheduler.engine.clock import SystemClock
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import Cause, Run, RunState
from pyscheduler.store import Batch, Store
from tests.builders import a_run

now = SystemClock().now
TEXT = """
jobs:
  daily: {command: "true", schedule: "0 0 * * *", catch_up: all}
  follows: {command: "true", depends_on: [daily]}
"""


class Folder:
    """A configuration and a store that nobody serves."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self._capture = home, capture
        (home / "pysched.yaml").write_text(TEXT)

    def remember(self, *runs: Run, known_for_days: int = 3, idle_for_days: float = 2, **engine: str) -> None:
        """Make a store that has known the configuration for a while and was last at work some days ago."""
        at = now()
        record = ConfigRecord(
            version=1,
            loaded_at=at - timedelta(days=known_for_days),
            digest="d",
            sources=(ConfigSource(path="pysched.yaml", text=TEXT),),
        )
        values = {"last_tick": (at - timedelta(days=idle_for_days)).isoformat(), **engine}
        store = Store.open(self.home / "state", sync=False)
        store.apply(Batch(runs=runs, configs=(record,), engine=values))
        store.close()

    def why(self, *words: str) -> dict[str, Any]:
        """Ask, and return the answer for programs."""
        session = Session(environ={}, folder=self.home, shown_on=Terminal())
        self._capture.readouterr()
        assert main(["why", *words, "--json"], session) == 0, self._capture.readouterr().err
        found: dict[str, Any] = json.loads(self._capture.readouterr().out)
        return found


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)


def test_a_firing_that_came_due_meanwhile_is_not_lost_yet(folder: Folder) -> None:
    """The next start decides about it, by the job's rule."""
    folder.remember()
    answer = folder.why("daily", now().date().isoformat())
    assert answer["scheduler"]["error"] == "no scheduler is running"
    assert "no scheduler has been at work since" in answer["why"]["text"]
    assert answer["why"]["release"] == "the next start applies catch_up: all"
    assert answer["next_firing"].endswith("T00:00:00Z")


def test_a_firing_before_that_is_missed_for_good(folder: Folder) -> None:
    """While a scheduler was at work it would have got its run."""
    folder.remember(known_for_days=9)
    day = now().date() - timedelta(days=4)
    text = folder.why("daily", day.isoformat())["why"]["text"]
    assert "no scheduler has been at work since" not in text


def test_a_waiting_run_and_the_chain_to_its_root(folder: Folder) -> None:
    """By the engine's own rules, from the store's runs."""
    day = now().date() - timedelta(days=3)
    failed = a_run("daily", day, state=RunState.FAILED, reason="exit 3", attempt=1)
    blocked = a_run(
        "follows", day, state=RunState.BLOCKED, cause=Cause.DEPENDENCY, reason=f"blocked: daily ({day}) failed"
    )
    folder.remember(failed, blocked)
    why = folder.why("follows")["why"]
    assert (why["culprit"], why["run"]["run_id"]) == ("dependency", blocked.run_id)
    assert why["because"]["run"]["run_id"] == failed.run_id
    assert why["because"]["culprit"] == "ended"


def test_a_pause_outlives_the_scheduler(folder: Folder) -> None:
    """What was paused stays paused, and is said."""
    since = now().isoformat()
    folder.remember(paused=json.dumps({"daily": {"by": "ann", "since": since, "reason": "upgrade"}}))
    day = now().date() + timedelta(days=1)
    why = folder.why("daily", day.isoformat())["why"]
    assert why["culprit"] == "paused"
    assert "paused by ann" in why["text"]


def test_a_held_catch_up_is_told(folder: Folder) -> None:
    """A store that was put back waits for a word."""
    folder.remember(catch_up_held=(now() - timedelta(days=2)).isoformat())
    why = folder.why("daily", now().date().isoformat())["why"]
    assert "catch-up" in why["text"] + why["release"]
