"""When `work` makes runs: at the instant when something is due, and not before; one statement a sweep while nothing is.

What must always hold: nothing rests on what is remembered here but when we try. Each sweep asks the store for its clock
and for retries whose wait is over; once in REMAKE_S everything is looked through, whatever is believed to be due.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Final

from pyscheduler.cluster.making import ASK_S, Made, Maker
from pyscheduler.cluster.shift import Shift
from pyscheduler.cluster.status import TaskStatus

REMAKE_S: Final = 60.0
AFTER_END_S: Final = 1.0
"""How soon after an end it is asked whether its run is to be tried again."""


class Agenda:
    """What is to be made, and when. `now` stands in for the store's clock; `again_s` bounds a pause."""

    def __init__(self, shift: Shift, maker: Maker, now: Callable[[], datetime] | None, again_s: float) -> None:
        self._shift, self._maker, self._now, self._again_s = shift, maker, now, again_s
        self._coming: dict[str, datetime | None] = {}
        self._look_at, self._made_at = 0.0, -math.inf
        self._made = Made()

    @property
    def left_s(self) -> float:
        """How long from now until the next look."""
        return max(0.0, self._look_at - self._boot)

    def ended(self) -> None:
        """A run has ended: what waited for it may be due, and it may be one that is tried again."""
        is_due = self._made.waits or (self._now is not None and self._is_due(self._now()))
        self._look_at = min(self._look_at, self._boot + (0.0 if is_due else AFTER_END_S))

    def freed(self) -> None:
        """Another let go of the lead: now it can be had."""
        if self._made.held_off:
            self._look_at = 0.0

    async def look(self) -> None:
        """Make what is due, if it is time to look. Raises StoreError, Conflict, BadSchedule."""
        boot = self._boot
        if boot < self._look_at:
            return
        self._look_at, wait_s = math.inf, 0.0  # what is heard while we look brings it forward again
        try:
            wait_s = await self._looked(boot)
        finally:
            self._look_at = min(self._look_at, boot + wait_s)

    async def _looked(self, boot: float) -> float:
        """Look; returns how long after `boot` the next look is due."""
        at, ripe_at = await self._shift.call(self._shift.claims.ripe_at)
        now = self._now() if self._now is not None else at
        ripe_s = math.inf if ripe_at is None else (ripe_at - at).total_seconds()
        if self._is_due(now) or self._made.waits or ripe_s <= 0 or boot - self._made_at >= REMAKE_S:
            await self._make(now)
            if self._made.held_off:
                return min(ASK_S * 4, self._again_s)
            self._made_at = boot
        due_s = (self._soonest - now).total_seconds() if self._soonest is not None else math.inf
        sweep_s = self._shift.claims.timing.sweep_s
        return min(sweep_s, max(0.0, due_s), ripe_s if ripe_s > 0 else sweep_s)

    async def _make(self, now: datetime) -> None:
        made = self._made = await self._shift.call(lambda: self._maker.make(now))
        for _ in range(made.skipped):
            self._shift.tally.end(TaskStatus.SKIPPED)
        if not made.held_off:
            self._foresee(now)

    def _foresee(self, now: datetime) -> None:
        for name, work in self._shift.works.items():
            known = self._coming.get(name, now)
            if known is not None and known <= now:
                firing = work.trigger.next(now)
                self._coming[name] = None if firing is None else firing.scheduled_at

    def _is_due(self, now: datetime) -> bool:
        return not self._coming or (self._soonest is not None and self._soonest <= now)

    @property
    def _soonest(self) -> datetime | None:
        return min((at for at in self._coming.values() if at is not None), default=None)

    @property
    def _boot(self) -> float:
        return self._shift.clock.boottime()
