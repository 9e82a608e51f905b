"""Proving the audit log takes its time, and takes nobody else's."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from pyscheduler.api.desk import WALKS_WAIT
from pyscheduler.store import Store, Verified
from pyscheduler.store.chain import START
from tests.office import Desk
from tests.yard import until


async def test_a_long_walk_leaves_everybody_elses_threads_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One walk at a time, a few that wait, and beyond that a refusal; lists are answered all the while."""
    held, walking = threading.Event(), list[int]()

    def walk(_store: Store, _known: object = None) -> Verified:
        walking.append(1)
        held.wait(60)
        return Verified(0, START, START, None)

    monkeypatch.setattr(Store, "verify_audit", walk)
    async with Desk(tmp_path, "jobs: {a: {command: x, schedule: manual}}\n") as office:
        asking = [asyncio.create_task(office.ask("GET", "/api/audit/verify")) for _ in range(1 + WALKS_WAIT)]
        await until(lambda: walking and office.desk.walks._under_way == 1 + WALKS_WAIT)
        assert (await office.ask("GET", "/api/audit/verify")).status_code == 503
        for _ in range(5):
            assert (await office.ask("GET", "/api/runs")).status_code == 200
        assert len(walking) == 1
        held.set()
        assert [(await each).status_code for each in asking] == [200] * (1 + WALKS_WAIT)
