"""The engine's side of a shared store: what it offers, what it sees of it, and how it takes an offer back. DESIGN 6.

Where the launcher is an `Offering`, a granted run is not started here: its row says `offered_at`, a node claims it,
starts it and writes its end. From the offer's commit to the attempt's end the row may be somebody else's; what must
always hold is that the engine writes it again only after `take_back` said that nobody has it, or after its end was
seen. A write that breaks this is refused by the store (its guard), and the engine stops loudly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyscheduler.engine.ports import AttemptHandle, Offering, Seen
from pyscheduler.model import event as ev
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Run, RunState

if TYPE_CHECKING:
    from pyscheduler.engine.core import Engine


class NodeHandle:
    """An attempt that a node runs. It ends when its row says so; `on_stop` asks its owner to end it."""

    pid: int | None = None
    remark = ""

    def __init__(self, on_stop: Callable[[str, str], None]) -> None:
        self._on_stop = on_stop
        self._ended: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()

    def watch(self, listener: Callable[[], None]) -> None:
        """Nothing here changes: who guards it is its node's business."""

    async def wait(self) -> AttemptResult:
        """Wait for the end."""
        return await asyncio.shield(self._ended)

    def settle(self, result: AttemptResult) -> None:
        """Let it end, once."""
        if not self._ended.done():
            self._ended.set_result(result)

    def terminate(self, by: str, reason: str = "") -> None:
        """Ask its owner to end it. A kill is in the store already; a timeout is its minder's own to keep."""
        if by != "timeout":
            self._on_stop(by, reason)

    def kill(self) -> None:
        """Ask its owner to end it."""
        self._on_stop("kill", "")


class Offers:
    """What one engine has offered. `proceed` carries what was decided; all of it happens on the loop."""

    def __init__(self, engine: Engine, offering: Offering) -> None:
        self._engine, self._offering = engine, offering

    def open(self) -> None:
        """Begin to hear of starts and ends."""
        self._offering.bind(self._saw)

    def close(self) -> None:
        """Hear of nothing any more."""
        self._offering.bind(None)

    def hint(self) -> None:
        """Say that offers were committed."""
        self._offering.hint()

    def handle(self, run: Run) -> NodeHandle:
        """Return the handle of a running run."""

        def stop(by: str, reason: str) -> None:
            current = self._engine.book.get(run.run_id)
            if current is not None and current.state is RunState.RUNNING and self._engine.error is None:
                self._engine.desk.set_kill(current, reason or by, owned=True)
                self._engine.trips.carry(self._engine.desk.tray)

        return NodeHandle(stop)

    async def recall(self) -> None:
        """End every offer of the engine before this one that nobody has claimed. Raises StoreError."""
        await self._offering.take_back(None)

    async def look(self) -> None:
        """Take over all that nodes have written by now. Raises StoreError."""
        await self._offering.look()
        self._engine.check_usable()

    async def take_back(self, run_ids: Collection[str] | None = None) -> set[str]:
        """End offers that nobody has claimed, None for all of them; returns those that stand in line again."""
        engine = self._engine
        await asyncio.shield(engine.trips.carry(engine.desk.tray))  # an offer may lie on the tray still
        taken = await self._offering.take_back(run_ids)
        engine.check_usable()
        for run_id in taken:
            run = engine.book.get(run_id)
            if run is not None and run.offered_at is not None:
                engine.desk.apply(run, ev.OfferWithdrawn())
        return taken

    def _saw(self, seen: Sequence[Seen]) -> None:
        """Take over what nodes have written: what has started, and how what has ended ended."""
        engine = self._engine
        if engine.error is not None or engine.closing:
            return
        changed = False
        for each in seen:
            run = engine.book.get(each.run_id)
            if run is None:
                continue
            if run.state is RunState.QUEUED and each.attempt.attempt > run.attempt:
                run = engine.desk.see(run, ev.AttemptStarted(each.attempt))
                engine.attempts.adopt(run.run_id, run.attempt, self.handle(run), None)
                changed = True
            if each.result is not None and run.state is RunState.RUNNING and run.attempt == each.attempt.attempt:
                self._settle(run, each)
        if changed:
            engine.carry()

    def _settle(self, run: Run, seen: Seen) -> None:
        assert seen.result is not None
        handle: AttemptHandle | None = self._engine.attempts.handle_of(run.run_id)
        if isinstance(handle, NodeHandle):
            asked, row = self._engine.desk.latest_attempt(run.run_id), seen.attempt
            if asked is not None and row.kill_by is None:  # a kill that crossed its end was answered, and so it counts
                row = replace(row, kill_by=asked.kill_by)
            self._engine.desk.keep_attempt(row)
            handle.settle(seen.result)


async def show_news(engine: Engine, job: str) -> None:
    """Have the engine show of a job what nodes have written by now: its pages, read from the store, say so already.

    What was seen a moment ago may still be on its way to being shown. Raises StoreError, Unavailable.
    """
    if not engine.rows_are_owned:
        return
    if any(run.offered_at is not None for run in engine.book.open_for(job)):
        await engine.look_at_offered()
    if any(engine.book.published(run.run_id) != run for run in engine.book.open_for(job)):
        await engine.proceed()
