"""The audit log over the ends of engines: what could not be written is written by the next, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from pyscheduler.api import ledger as ledger_module
from pyscheduler.api.callers import Caller
from pyscheduler.api.host import Host
from pyscheduler.api.ledger import ANNOUNCED, Ledger
from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.core import Engine
from pyscheduler.errors import Conflict, Unavailable
from pyscheduler.store import AuditQuery, Batch, Store, StoreWriter
from tests.contract.store_kit import NOON

ANN = Caller("ann")


@dataclass
class Fake:
    """A host whose engine is a store with its writer, or nothing."""

    present: Any = None

    def engine(self) -> Engine:
        if self.present is None:
            raise Unavailable("scheduler failed")
        return cast("Engine", self.present)


@dataclass
class FakeEngine:
    store: Store
    writer: StoreWriter
    clock: FakeClock


@asynccontextmanager
async def opened(state_dir: Path, host: Fake) -> AsyncIterator[FakeEngine]:
    """Give the host an engine, and take it away at the end."""
    store = Store.open(state_dir, sync=False)
    engine = FakeEngine(store, StoreWriter(store), FakeClock(NOON))
    engine.writer.start()
    host.present = engine
    try:
        yield engine
    finally:
        host.present = None
        await engine.writer.close()
        store.close()


def a_ledger(host: Fake) -> Ledger:
    return Ledger(cast("Host", host))


def results(engine: FakeEngine) -> list[tuple[str, str]]:
    rows = engine.store.audit_entries(AuditQuery(newest_first=False)).items
    return sorted((row.action, row.result) for row in rows)


def announced(engine: FakeEngine) -> int:
    return sum(key.startswith(ANNOUNCED) for key in engine.store.engine_values())


async def test_a_deed_is_one_row_and_nothing_else(tmp_path: Path) -> None:
    """Done or refused; its announcement is gone with the row, and the refusal goes on."""
    host = Fake()
    ledger = a_ledger(host)
    async with opened(tmp_path, host) as engine:
        async with ledger.deed(ANN, "reload"):
            await engine.writer.save(Batch(engine={"changed": "1"}))
            assert announced(engine) == 1
        with pytest.raises(Conflict):
            async with ledger.deed(ANN, "hold", "x"):
                raise Conflict("it has ended")
        assert results(engine) == [("hold", "refused 409 it has ended"), ("reload", "done")]
        assert announced(engine) == 0


async def test_what_was_interrupted_is_written_down_by_the_next_process(tmp_path: Path) -> None:
    """Once, with who asked and why; what this process is still about is left alone."""
    host = Fake()
    dead, alive = a_ledger(host), a_ledger(host)
    async with opened(tmp_path, host) as engine:
        dead.announce(dead.entry(ANN, "kill", "load.2027-05-20.1", reason="hangs"))
        key = alive.announce(alive.entry(ANN, "hold"))
        await engine.writer.save(Batch(engine={"changed": "1", f"{ANNOUNCED}broken": "no json"}))
    async with opened(tmp_path, host) as engine:
        await alive.opened(cast("Engine", engine))
        assert results(engine) == [("kill", "interrupted")]
        (row,) = engine.store.audit_entries(AuditQuery()).items
        assert (row.actor, row.subject, row.reason, row.at) == ("ann", "load.2027-05-20.1", "hangs", NOON)
        await alive.opened(cast("Engine", engine))
        await alive.record(alive.entry(ANN, "hold"), key=key)
        assert results(engine) == [("hold", "done"), ("kill", "interrupted")]
        assert announced(engine) == 0
        assert engine.store.verify_audit().broken is None


async def test_a_deed_that_ends_while_an_engine_opens_is_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its announcement was read before its row came, and it is no interrupted deed for that."""
    host = Fake()
    ledger = a_ledger(host)
    async with opened(tmp_path, host) as engine:
        key = ledger.announce(ledger.entry(ANN, "hold"))
        await engine.writer.save(Batch(engine={"changed": "1"}))
        values, loop = engine.store.engine_values, asyncio.get_running_loop()

        def late() -> dict[str, str]:
            found = values()
            monkeypatch.undo()
            asyncio.run_coroutine_threadsafe(ledger.record(ledger.entry(ANN, "hold"), key=key), loop).result()
            return found

        monkeypatch.setattr(engine.store, "engine_values", late)
        await ledger.opened(cast("Engine", engine))
        assert results(engine) == [("hold", "done")]
        assert announced(engine) == 0


async def test_what_happens_while_no_engine_is_open_waits_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many rows; how many more there were is a row of its own."""
    monkeypatch.setattr(ledger_module, "BACKLOG", 3)
    host = Fake()
    ledger = a_ledger(host)
    for number in range(5):
        await ledger.record(ledger.entry(ANN, "hold", str(number), result="failed 503 scheduler failed"))
    async with opened(tmp_path, host) as engine:
        await ledger.opened(cast("Engine", engine))
        rows = engine.store.audit_entries(AuditQuery(newest_first=False)).items
        held = sorted(row.subject for row in rows if row.action == "hold")
        assert held == ["0", "1", "2"]
        assert [dict(row.detail) for row in rows if row.action == "audit_lost"] == [{"rows": 2}]
        await ledger.opened(cast("Engine", engine))
        assert len(engine.store.audit_entries(AuditQuery()).items) == 4


async def test_what_an_engine_cannot_write_any_more_the_next_one_does(tmp_path: Path) -> None:
    """Its end is no end of the row, nor of the request that it is about."""
    host = Fake()
    ledger = a_ledger(host)
    async with opened(tmp_path, host) as engine:
        key = ledger.announce(ledger.entry(ANN, "hold"))
        await engine.writer.save(Batch(engine={"changed": "1"}))
        engine.store.close()
        await ledger.record(ledger.entry(ANN, "hold"), key=key)
    async with opened(tmp_path, host) as engine:
        assert announced(engine) == 1
        await ledger.opened(cast("Engine", engine))
        assert results(engine) == [("hold", "done")]
        assert announced(engine) == 0


async def test_a_failed_sign_in_names_who_was_typed(tmp_path: Path) -> None:
    """Nobody is the actor."""
    host = Fake()
    ledger = a_ledger(host)
    async with opened(tmp_path, host) as engine:
        await ledger.sign_in_failed("mallory", "192.0.2.7", "401 wrong")
        (row,) = engine.store.audit_entries(AuditQuery()).items
    assert (row.actor, row.subject, row.address, row.result) == ("", "mallory", "192.0.2.7", "refused 401 wrong")
