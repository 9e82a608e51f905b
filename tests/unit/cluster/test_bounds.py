"""What a scheduler that lives for years keeps in memory has a bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.tally import MOST_FAILURES, Tally, TaskFailed
from pyscheduler.rules.leases import timing


def test_of_failures_the_newest_are_kept() -> None:
    """All of them are counted and logged."""
    tally = Tally()
    for number in range(MOST_FAILURES + 10):
        tally.failures.append(TaskFailed("job", f"job.2027-05-20.{number}", "exit 1"))
    failures = tally.ticked().failures
    assert [failures[0].run_id, failures[-1].run_id] == ["job.2027-05-20.10", f"job.2027-05-20.{MOST_FAILURES + 9}"]


def test_of_others_only_those_that_are_there_are_remembered() -> None:
    """One that comes again is watched anew."""
    times = timing()
    evidence = Evidence(times, lambda: 0.0)
    row = cast("Any", SimpleNamespace(inc_id="a", hb_seq=7))
    looks = [number * times.observe_s / 3 for number in range(5)]
    for asked_at in looks:
        evidence.keep(frozenset({"a"}))
        seen = evidence.saw(row, asked_at)
    assert seen is not None
    evidence.keep(frozenset({"b"}))
    assert evidence.saw(row, looks[-1] + 1) is None
