"""The clock, by what the scheduler has already seen on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyscheduler.cli.checks.finding import Level
from pyscheduler.cli.checks.memory import clock, memory
from pyscheduler.cli.times import Times

NOW = datetime(2027, 5, 20, 12, tzinfo=UTC)
UTC_TIMES = Times.of("UTC")


def test_a_clock_behind_what_was_seen_is_bad() -> None:
    """Instants come again that have their run already: that is why nothing runs."""
    finding = clock(NOW + timedelta(hours=2), UTC_TIMES, NOW)
    assert finding.level is Level.BAD
    assert "2h00m before" in finding.what
    assert "has its run already" in finding.mend


def test_a_clock_ahead_is_fine() -> None:
    """The scheduler may have been stopped for a while."""
    assert clock(NOW - timedelta(days=3), UTC_TIMES, NOW).level is Level.OK
    assert clock(NOW + timedelta(seconds=1), UTC_TIMES, NOW).level is Level.OK


def test_no_store_is_no_fault(tmp_path: Path) -> None:
    """Before the first start there is none."""
    assert {finding.level for finding in memory(tmp_path, UTC_TIMES, NOW)} == {Level.OK}
