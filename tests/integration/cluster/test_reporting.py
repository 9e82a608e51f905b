"""Ends of `tick` and `work` on their way to the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from pyscheduler.cluster.journal import Journal
from pyscheduler.cluster.reporting import Reporter
from pyscheduler.errors import StoreError
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.claims import Applied, Report


class Store:
    """Fails in the ways that it is given, and then takes what it is told."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)

    def outcomes(self, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        if self.faults:
            raise self.faults.pop(0)
        return {(report.run_id, report.token): Applied.YES for report in reports}


async def test_an_end_is_told_whatever_has_gone_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As long as this scheduler lives nobody else tells of it, and its run would go on for ever."""
    journal = Journal.begin(tmp_path, "inc", "boot-1")
    reporter = Reporter(cast("Any", Store(StoreError("away"), AssertionError("a bug"))), journal, lambda: 100.0)
    report = Report(run_id="load.2026-11-30.1", token=1, outcome=Outcome.SUCCEEDED, to=RunState.SUCCEEDED)
    assert await reporter.report(report) is Applied.YES
    assert "the end of load.2026-11-30.1 could not be told; it is tried again" in caplog.text
    assert journal.pending(100.0) == []
    journal.close()
