"""Shown and done in the order decided, whatever the writer does; a failure takes all that follow with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from pyscheduler.engine.tray import Load, Tray
from pyscheduler.engine.trips import Trips
from pyscheduler.model.batch import Batch
from pyscheduler.rules.lifecycle import Decision
from tests.builders import a_run


@dataclass
class HandWriter:
    """A writer whose saves a test lets through one by one."""

    saves: list[tuple[Batch, asyncio.Future[None]]] = field(default_factory=list)

    def post(self, batch: Batch) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.saves.append((batch, future))
        return future


class Journey:
    """Trips under test, and what arrived."""

    def __init__(self) -> None:
        self.writer = HandWriter()
        self.arrived: list[int] = []
        self.failed: list[BaseException] = []
        self.trips = Trips(self.writer, self._arrive, self.failed.append)  # type: ignore[arg-type]
        self.tray = Tray()

    def _arrive(self, load: Load) -> None:
        self.arrived += [run.seq for run in load.runs]

    async def send(self, seq: int) -> asyncio.Future[None]:
        self.tray.add(Decision(a_run(seq=seq)))
        future = self.trips.carry(self.tray)
        await asyncio.sleep(0)
        return future


async def test_trips_arrive_in_the_order_they_set_out() -> None:
    """The second is on disk first; it is shown second."""
    journey = Journey()
    first, second = await journey.send(1), await journey.send(2)
    journey.writer.saves[1][1].set_result(None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (journey.arrived, second.done()) == ([], False)
    journey.writer.saves[0][1].set_result(None)
    await second
    assert first.done()
    assert journey.arrived == [1, 2]
    assert journey.trips.idle


async def test_an_empty_tray_waits_for_what_is_under_way() -> None:
    """Somebody else has carried my decision: I return when it has arrived."""
    journey = Journey()
    first = await journey.send(1)
    assert journey.trips.carry(journey.tray) is first
    journey.writer.saves[0][1].set_result(None)
    await first
    await asyncio.wait_for(journey.trips.carry(journey.tray), 60)


async def test_a_failure_takes_all_that_follow_with_it() -> None:
    """A later decision may rest on the lost one: nothing after it is shown, and everybody hears."""
    journey = Journey()
    first, second, third = [await journey.send(n) for n in (1, 2, 3)]
    journey.writer.saves[0][1].set_result(None)
    await first
    error = OSError("disk full")
    journey.writer.saves[1][1].set_exception(error)
    for future in (second, third):
        with pytest.raises(OSError, match="disk full"):
            await future
    assert journey.arrived == [1]
    assert journey.failed == [error]
    journey.writer.saves[2][1].set_result(None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert journey.arrived == [1]


async def test_a_writer_that_has_stopped_fails_the_trip() -> None:
    """It raises instead of taking the batch: the trip fails all the same, and so the engine hears of it."""
    journey = Journey()
    error = OSError("closed")

    def refuse(_batch: Batch) -> asyncio.Future[None]:
        raise error

    journey.writer.post = refuse  # type: ignore[method-assign, assignment]
    with pytest.raises(OSError, match="closed"):
        await (await journey.send(1))
    assert journey.failed == [error]


async def test_what_cannot_be_shown_stops_the_engine() -> None:
    """An error while showing or beginning is a failure like any other."""
    journey = Journey()
    bad = ValueError("cannot begin")

    def arrive(_load: Load) -> None:
        raise bad

    journey.trips = Trips(journey.writer, arrive, journey.failed.append)  # type: ignore[arg-type]
    future = await journey.send(1)
    journey.writer.saves[0][1].set_result(None)
    with pytest.raises(ValueError, match="cannot begin"):
        await future
    assert journey.failed == [bad]


def test_the_tray_merges_and_empties() -> None:
    """Later copies win, lines keep their order, and what was taken is gone from it."""
    tray = Tray()
    assert tray.is_empty
    first, second = a_run(reason="one"), a_run(reason="two")
    tray.add(Decision(first))
    tray.add(Decision(second))
    tray.engine["last_tick"] = "x"
    load = tray.take()
    assert load.batch.runs == load.runs == (second,)
    assert load.batch.engine == {"last_tick": "x"}
    assert tray.is_empty
    assert tray.take().runs == ()
