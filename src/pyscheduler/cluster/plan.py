"""Which runs a pass makes of what is due, pure: watermark, firings, what of the task still goes. claims.md A2, C8.

What must always hold: up to the new watermark every firing has its run, or is counted as dropped; the first look at a
task makes nothing due; runs come in due order; a task that must not overlap never gets two at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.cluster.triggers import Trigger
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Overlap

MOST_MISSED: Final = 1000
"""So many of a task's newest missed firings get a run; seed 004's bound for `catch_up: all`."""


@dataclass(frozen=True, slots=True)
class Due:
    """What one pass makes of one task: these firings become runs (`skipped` ones final), and time is settled so far.

    `dropped` firings got none, `first` and `last` of them.
    """

    run: tuple[Firing, ...]
    skipped: tuple[Firing, ...]
    watermark: datetime
    dropped: int = 0
    first: Firing | None = None
    last: Firing | None = None


def due_of(
    trigger: Trigger, watermark: datetime | None, now: datetime, *, overlap: Overlap, latest_only: bool, busy: bool
) -> Due | None:
    """Return what is due in (watermark, now], None where nothing changes. `busy`: an earlier run still goes.

    Overlap `skip`: firings that come while an earlier pass's run still goes are skipped; those of one pass may run
    together. `queue`: the oldest one at a time, the watermark stays behind until it is its turn. Raises BadSchedule.
    """
    if watermark is None:
        return Due((), (), now)
    if now <= watermark or (busy and overlap is Overlap.QUEUE):
        return None
    found = trigger.missed(watermark, now, 1 if latest_only else MOST_MISSED)
    if not found.count:
        return Due((), (), now)
    dropped = found.count - len(found.newest)
    if busy and overlap is Overlap.SKIP:
        return Due((), found.newest, now, dropped, found.first, found.newest[0])
    if overlap is Overlap.QUEUE:
        first = found.newest[0]
        rest_is_settled = len(found.newest) == 1
        return Due((first,), (), now if rest_is_settled else first.scheduled_at, dropped, found.first, first)
    return Due(found.newest, (), now, dropped, found.first, found.newest[0])
