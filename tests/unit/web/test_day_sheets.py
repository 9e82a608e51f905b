"""A sheet's arithmetic: its counts follow every change, whether or not it holds every run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyscheduler.model.run import RunState
from pyscheduler.web.day_sheets import Sheet
from tests.builders import a_run


def test_counts_follow_each_change() -> None:
    """A run counts once, in its newest state."""
    sheet, run = Sheet(0.0), a_run()
    for state in (RunState.SCHEDULED, RunState.RUNNING, RunState.FAILED):
        sheet.take(replace(run, state=state))
    assert +sheet.counts == {RunState.FAILED: 1}
    assert sheet.runs[run.run_id].state is RunState.FAILED
    assert sheet.version == 3


def test_counts_of_what_a_sheet_does_not_hold_stay() -> None:
    """Where the day is larger than the sheet, a run that is new to it adds to what the store has counted."""
    sheet = Sheet(0.0, counts=Counter({RunState.SUCCEEDED: 90_000}), holds_all=False)
    sheet.take(a_run(state=RunState.SUCCEEDED))
    assert sheet.counts[RunState.SUCCEEDED] == 90_001
