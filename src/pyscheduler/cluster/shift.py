"""One incarnation at work: from S0 to S16, one loop, any number of passes. Spec: claims.md C5, C6; DESIGN 6.

What must always hold: nothing is executed before S3 has said that it may be; a claim that is not started is given back;
heartbeats go on until the last outcome is stored, or in the journal. Attempts run under minders, so whatever happens
here happens to nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from pyscheduler.cluster.grants import Grants
from pyscheduler.cluster.heart import Heart
from pyscheduler.cluster.making import job_tag
from pyscheduler.cluster.orders import Work
from pyscheduler.cluster.tally import Tally
from pyscheduler.cluster.vouching import LeaseFile
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import Conflict, StoreError, StoreUnavailable
from pyscheduler.store.claims import Beat, Claim, Claims, OnLost, Owned

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_CLAIMED: Final = 1000
"""Runs claimed in one statement."""
RECONCILE_BEATS: Final = 12
PATIENCE_S: Final = 10.0
"""For so long at least a lease in doubt may be renewed before a pass gives up: as a store in a file is waited for."""
WAITING: Final = "Stopping when %d running attempt(s) have ended; a second stop leaves them to their minders."
STOPPING: Final = "Stopping, {count} due task(s) of this tick are not started."


@dataclass(slots=True)
class Wishes:
    """What the outside wants: `stop` starts nothing more and waits for what runs, `leave` does not wait either."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    leave: asyncio.Event = field(default_factory=asyncio.Event)


class Shift:
    """See above. `slots` bounds how many attempts run at once, None does not."""

    def __init__(
        self, works: Mapping[str, Work], claims: Claims, clock: Clock, wishes: Wishes, *, slots: int | None
    ) -> None:
        self.works, self.claims, self.clock, self.wishes = works, claims, clock, wishes
        self.tally = Tally()
        self.fenced = asyncio.Event()
        self.changed = asyncio.Event()
        """Set whenever something may have become possible: an end, a beat that brought news, a wish."""
        self.has_ended = False
        """Whether a run has ended since somebody last looked."""
        self._beaten = asyncio.Event()
        """Set at each beat's answer, and at a wish."""
        self.word = LeaseFile.of(claims)
        self.heart = Heart(claims, clock.boottime, self._on_beat, self._on_error, self.word.say)
        self.grants = Grants(claims, self.heart, clock.boottime)
        self._slots = slots
        self._places = {name: place for place, name in enumerate(works)}
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting: set[str] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    # ----------------------------------------------------------------------- begin and end

    async def open(self) -> None:
        """S0, and heartbeats from here on. Raises StoreError."""
        sent_at = self.clock.boottime()
        await self.call(self.claims.register)
        self.heart.begin(sent_at)
        await self.call(self.heart.say)
        self.chore(self._say_alive())
        self.chore(self._hear_wishes())

    async def close(self, *, is_told: bool) -> None:
        """End, with S16 where everything is told (`is_told`); else our row stays until its lease is over."""
        if self.grants.doubt and not self.fenced.is_set():
            await self.grants.reconcile()
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.call(self.heart.end)
        if self.heart.fenced or self.grants.going or not is_told:
            return
        try:
            await self.call(self.claims.unregister)
        except StoreError as error:
            log.warning("this scheduler's row stays until its lease is over: %s", error)

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be begun."""
        return self.wishes.stop.is_set() or self.fenced.is_set()

    @property
    def free(self) -> int:
        """How many more runs may be claimed for the slots there are."""
        if self._slots is None:
            return MOST_CLAIMED
        return max(0, self._slots - len(self.grants.going) - len(self.grants.claimed))

    async def call(self, work: Callable[[], T]) -> T:
        """Do something blocking on a helper thread."""
        return await asyncio.to_thread(work)

    # ----------------------------------------------------------------------- claiming, and minding to the end

    async def claim(self, count: int) -> list[Claim]:
        """S2, for runs of our works, in the order in which they are to start. Raises StoreError, Conflict."""
        if count <= 0 or self.is_over:
            return []
        found = await self.grants.claim(count, map(job_tag, self.works), self.works)
        if any(claim.on_lost is OnLost.ENGINE for claim in found):
            await self.grants.hand_back(found)
            what = "this store has runs that `pysched serve` has made"
            raise Conflict(what, mend="let it run these jobs, or give tick and work a store of their own")
        return sorted(found, key=self.turn_of)

    async def vouched_for(self) -> None:
        """Wait until our lease certainly holds or nothing may be begun any more: what is due is due in doubt as well.

        Raises StoreUnavailable where it is not renewed for as long as a lease lasts, and PATIENCE_S at least.
        """
        patience_s = max(self.claims.timing.lease_s, PATIENCE_S)
        over_at = self._loop.time() + patience_s
        while not (self.heart.trusted or self.is_over):
            left_s = over_at - self._loop.time()
            if left_s <= 0:
                what = f"this scheduler could not renew its lease for {patience_s:g} s"
                raise StoreUnavailable(what, mend="what is due is left to the next pass")
            self._beaten.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._beaten.wait(), left_s)

    def decides(self, each: Owned) -> bool:
        """Whether what becomes of that run is ours to say: its job is, and `serve` has not made it."""
        return each.job in self.works and each.on_lost is not OnLost.ENGINE

    def turn_of(self, claim: Claim) -> tuple[int, datetime, int]:
        """Return a claim's place in the line: the critical first, then the older, then as the tasks were declared."""
        return -self.works[claim.job].job.criticality, claim.scheduled_at, self._places[claim.job]

    async def run(self, claims: list[Claim], one: Callable[[Claim], Coroutine[object, object, None]]) -> None:
        """Start claimed runs in their order as slots allow, and wait for all ends; a stop hands the rest back."""
        left = list(claims)
        while left and not self.is_over:
            if self._slots is not None and len(self.grants.going) + len(self._starting) >= self._slots:
                self.changed.clear()
                await self.changed.wait()
                continue
            self.begin(left.pop(0), one)
        await self.give_back(left)
        await self.settle()

    def begin(self, claim: Claim, one: Callable[[Claim], Coroutine[object, object, None]]) -> None:
        """Take a claimed run to its end, as a task of its own."""
        self._starting.add(claim.run_id)

        async def to_its_end() -> None:
            try:
                await one(claim)
            finally:
                self._starting.discard(claim.run_id)

        self.mind(to_its_end())

    def started(self, claim: Claim) -> None:
        """Its start is decided: it counts as going from now on, or not at all."""
        self._starting.discard(claim.run_id)

    def mind(self, work: Coroutine[object, object, None]) -> None:
        """Mind something to its end that `settle` waits for."""
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def chore(self, work: Coroutine[object, object, None]) -> None:
        """Do something beside, which nobody waits for."""
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    async def give_back(self, claims: list[Claim], offered: int = 0) -> None:
        """S5: give back what was not started; `offered` more were due and are nobody's."""
        left = [claim for claim in claims if claim.run_id in self.grants.claimed]
        if self.wishes.stop.is_set() and len(left) + offered:
            log.warning(STOPPING.format(count=len(left) + offered))
        self.tally.handed_back += await self.grants.hand_back(left)

    async def settle(self) -> None:
        """Wait until everything that was begun has ended, or we are to leave it to its minders."""
        leaving = self._loop.create_task(self.wishes.leave.wait())
        try:
            while self._tasks and not leaving.done():
                await asyncio.wait({*self._tasks, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ----------------------------------------------------------------------- staying in step

    def _on_beat(self, beat: Beat | None) -> None:
        self._loop.call_soon_threadsafe(self._hear, beat)

    def _on_error(self, error: StoreError) -> None:
        log.warning("a heartbeat was not acknowledged: %s", error)
        self._loop.call_soon_threadsafe(setattr, self.grants, "doubt", True)

    def _hear(self, beat: Beat | None) -> None:
        self._beaten.set()
        if beat is None:
            log.error("this scheduler was fenced: what it runs was taken from it")
            self.fenced.set()
            self.changed.set()
            self.grants.lose_all()
            return
        for run_id in beat.cancel_requested & self.grants.going.keys():
            self.grants.going[run_id].cancel()
        if self.heart.lapsed:
            self.heart.lapsed, self.grants.doubt = False, True
        if self.grants.doubt or self.heart.beats % RECONCILE_BEATS == 0:
            self.chore(self.grants.reconcile())

    async def _say_alive(self) -> None:
        while True:
            self.heart.alive()
            await asyncio.sleep(min(1.0, self.claims.timing.wedge_s / 4))

    async def _hear_wishes(self) -> None:
        await self.wishes.stop.wait()
        self.changed.set()
        self._beaten.set()
        if self.grants.going:
            log.warning(WAITING, len(self.grants.going))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.has_ended = True
        self.changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, StoreError):
                self.tally.trouble = self.tally.trouble or error
            else:
                log.error("a run could not be brought to its end: %s", error, exc_info=error)
