"""Ends that wait for the store: they are told until it answers, and it learns when they were."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pyscheduler.cluster.outbox import Outbox
from pyscheduler.errors import StoreError
from pyscheduler.model.run import Outcome
from pyscheduler.store.claims import Applied, Report

OUTAGE_S = 30.0


async def test_an_end_that_waited_for_the_store_keeps_its_instant() -> None:
    """Half a minute without a store is not half a minute more of the attempt."""
    clock = [1000.0]
    told: list[float] = []

    async def tell(reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        told.extend(report.ended_ago_s for report in reports)
        if len(told) == 1:
            clock[0] += OUTAGE_S
            raise StoreError("the server cannot be reached")
        return {(report.run_id, report.token): Applied.YES for report in reports}

    outbox = Outbox(tell, lambda: clock[0])
    report = Report(run_id="load.2026-11-30.1", token=1, outcome=Outcome.SUCCEEDED, ended_ago_s=2.0)
    assert await outbox.report(report) is Applied.YES
    assert told == [2.0, 2.0 + OUTAGE_S]


async def test_ends_are_told_whatever_has_gone_wrong(caplog: pytest.LogCaptureFixture) -> None:
    """A bug on the way costs a line of the log, and not every end from then on."""
    faults: list[Exception] = [AssertionError("a bug"), StoreError("away")]

    async def tell(reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        if faults:
            raise faults.pop(0)
        return {(report.run_id, report.token): Applied.YES for report in reports}

    outbox = Outbox(tell, lambda: 0.0)
    report = Report(run_id="load.2026-11-30.1", token=1, outcome=Outcome.SUCCEEDED)
    async with asyncio.timeout(10):
        assert await outbox.report(report) is Applied.YES
    assert "1 end(s) cannot be stored now: a bug" in caplog.text
