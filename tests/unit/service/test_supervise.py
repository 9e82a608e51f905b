"""How long to wait after a failure, and what made an engine fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.cli.faults import BETWEEN
from pyscheduler.engine.clock import FakeClock
from pyscheduler.errors import EngineFailedError, StoreDamaged, StoreUnavailable, Unavailable
from pyscheduler.service.supervise import STEADY_S, Patience, Supervisor, root_of
from tests.builders import NOON

FULL = StoreUnavailable("the disk is full")


def wrapped(error: Exception) -> EngineFailedError:
    found = EngineFailedError("the engine failed while starting")
    found.__cause__ = error
    return found


def test_waits_double_from_one_second_to_thirty() -> None:
    """DESIGN 3: 1 s, doubling to 30 s, for as long as the cause lasts."""
    patience = Patience()
    assert [patience.after(RuntimeError(), 0.1) for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_store_out_of_reach_is_tried_every_five_seconds() -> None:
    """DESIGN 3: to 5 s where the store is out of reach, whoever wraps the error."""
    patience = Patience()
    assert [patience.after(wrapped(FULL), 0.1) for _ in range(6)] == [1, 2, 4, 5, 5, 5]


def test_an_engine_that_has_run_well_begins_anew() -> None:
    """A new trouble after a good while waits one second again."""
    patience = Patience()
    for _ in range(5):
        patience.after(RuntimeError(), 0.1)
    assert patience.after(RuntimeError(), STEADY_S) == 1


def test_the_root_is_the_first_error_that_is_not_the_engines() -> None:
    """An engine's failure names its cause; a store's error stands for itself, whatever the driver said under it."""
    damaged = StoreDamaged("damaged")
    damaged.__cause__ = OSError("disk I/O error")
    assert root_of(wrapped(wrapped(damaged))) is damaged
    assert root_of(damaged) is damaged
    assert isinstance(root_of(EngineFailedError("alone")), EngineFailedError)


async def test_a_standby_says_who_leads_or_that_its_store_is_gone() -> None:
    """The two are not mended by the same people; and an outage is over when somebody is seen to lead again."""
    gone = StoreUnavailable("the server cannot be reached", where="db.example:5432/night")
    supervisor = Supervisor(
        cast("Any", SimpleNamespace(settings=SimpleNamespace(state_dir=Path("state")))),
        clock=FakeClock(NOON),
        ways=cast("Any", None),
        environ={},
        leaving=asyncio.Event(),
        stop=asyncio.Event(),
        hurry=asyncio.Event(),
        exit_on_failure=False,
        on_open=lambda _engine: None,
        on_change=lambda _standing: None,
    )
    supervisor.stand_by("", gone)
    with pytest.raises(Unavailable, match=r"store is out of reach: db\.example:5432/night") as refused:
        supervisor.engine()
    assert not refused.value.what.startswith(BETWEEN)
    supervisor.stand_by("a")
    with pytest.raises(Unavailable, match="this scheduler stands by: a leads") as refused:
        supervisor.engine()
    assert refused.value.what.startswith(BETWEEN)
