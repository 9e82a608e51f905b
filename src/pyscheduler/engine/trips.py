"""From decided to done: each tray's load goes to the store, and only when it is on disk is it shown and acted upon.

Trips arrive in the order they set out, whatever the writer merges and whichever waiter wakes first. When one fails,
it and all after it fail, since a decision may rest on an earlier one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from pyscheduler.engine.tray import Load, Tray
from pyscheduler.store import StoreWriter


class _Trip:
    __slots__ = ("arrived", "load", "saved")

    def __init__(self, load: Load, arrived: asyncio.Future[None]) -> None:
        self.load, self.arrived, self.saved = load, arrived, False


class Trips:
    """The loads under way. `on_arrival` shows and performs one; `on_failure` hears of the first that failed."""

    def __init__(
        self, writer: StoreWriter, on_arrival: Callable[[Load], None], on_failure: Callable[[BaseException], None]
    ) -> None:
        self._writer, self._on_arrival, self._on_failure = writer, on_arrival, on_failure
        self._under_way: deque[_Trip] = deque()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way

    def last(self) -> asyncio.Future[None]:
        """Return the future of the last trip under way."""
        return self._under_way[-1].arrived if self._under_way else _done(asyncio.get_running_loop())

    def carry(self, tray: Tray) -> asyncio.Future[None]:
        """Send off what is on the tray; the future is done once it, and all sent before it, is shown and performed."""
        loop = asyncio.get_running_loop()
        if tray.is_empty:
            return self.last()
        trip = _Trip(tray.take(), loop.create_future())
        self._under_way.append(trip)
        try:
            saving = self._writer.post(trip.load.batch)
        except Exception as error:  # noqa: BLE001 - whatever stopped the writer fails this trip and all before it
            saving = loop.create_future()
            saving.set_exception(error)
        saving.add_done_callback(lambda saved: self._saved(trip, saved))
        return trip.arrived

    def _saved(self, trip: _Trip, saved: asyncio.Future[None]) -> None:
        error = asyncio.CancelledError("the engine is closing") if saved.cancelled() else saved.exception()
        if error is not None:
            self.fail(error)
            return
        trip.saved = True
        while self._under_way and self._under_way[0].saved:
            arrived = self._under_way.popleft()
            try:
                self._on_arrival(arrived.load)
            except Exception as failure:  # noqa: BLE001 - what cannot be shown or begun stops the engine
                self._under_way.appendleft(arrived)
                self.fail(failure)
                return
            if not arrived.arrived.done():
                arrived.arrived.set_result(None)

    def fail(self, error: BaseException) -> None:
        """Let every trip under way fail, then tell."""
        lost, self._under_way = self._under_way, deque()
        self._on_failure(error)
        for trip in lost:
            if not trip.arrived.done():
                trip.arrived.set_exception(error)
                trip.arrived.exception()  # those who wait still see it; nobody has to


def _done(loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
    future: asyncio.Future[None] = loop.create_future()
    future.set_result(None)
    return future
