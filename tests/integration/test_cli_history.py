"""What offline commands take from the history: jobs' typical durations."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pyscheduler.cli.main import main
from pyscheduler.cli.session import Session
from pyscheduler.cli.terminal import Terminal
from pyscheduler.model.run import Outcome, RunState, Trigger
from pyscheduler.store import Batch, Store
from tests.builders import a_run, ended_attempt

TEXT = """
jobs:
  extract: {command: "true", schedule: "0 3 * * *"}
  load: {command: "true", depends_on: [extract]}
"""
NOW = datetime(2027, 5, 20, 12, tzinfo=UTC)


def test_a_forecast_knows_how_long_jobs_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The median of what has succeeded; what never ran counts as nothing. Spec: jobs.md 12.1."""
    (tmp_path / "pysched.yaml").write_text(TEXT)
    store = Store.open(tmp_path / "state", sync=False)
    for number, minutes in enumerate((10, 20, 60), start=1):
        due = NOW - timedelta(days=number)
        run = a_run("extract", due.date(), scheduled_at=due, state=RunState.SUCCEEDED, attempt=1)
        attempt = ended_attempt(run, Outcome.SUCCEEDED, started_at=due, key=f"k{number}")
        store.apply(Batch(runs=(run,), attempts=(replace(attempt, ended_at=due + timedelta(minutes=minutes)),)))
    store.close()
    session = Session(environ={}, folder=tmp_path, now=lambda: NOW, shown_on=Terminal())
    assert main(["forecast", "--json"], session) == 0
    found = {entry["job"]: entry for entry in json.loads(capsys.readouterr().out)["entries"]}
    assert found["extract"]["expected_duration_seconds"] == 20 * 60
    assert found["load"]["expected_start"] == "2027-05-21T03:20:00Z"
    assert found["load"]["expected_duration_seconds"] is None


@pytest.mark.parametrize("command", [["forecast", "--json"], ["next", "load"]])
def test_what_the_history_says_has_begun_is_not_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """Tomorrow's load ran already, behind an extract that somebody triggered: neither command expects it again."""
    (tmp_path / "pysched.yaml").write_text(TEXT)
    tomorrow = (NOW + timedelta(days=1)).date()
    store = Store.open(tmp_path / "state", sync=False)
    ran = a_run("load", tomorrow, scheduled_at=NOW, trigger=Trigger.DEPENDENCY, state=RunState.SUCCEEDED, attempt=1)
    store.apply(Batch(runs=(ran,)))
    store.close()
    session = Session(environ={}, folder=tmp_path, now=lambda: NOW, shown_on=Terminal())
    assert main(command, session) == 0
    out = capsys.readouterr().out
    if "--json" in command:
        assert [entry["job"] for entry in json.loads(out)["entries"]] == ["extract"]
    else:
        assert str(tomorrow) not in out
        assert str(tomorrow + timedelta(days=1)) in out
