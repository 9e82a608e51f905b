"""May this queued run start now? Slots, pools and the line. Spec: jobs.md 5.2 and 5.3, DESIGN 8 row 6.

Every queued run that fits is started, in the order: forced ones, criticality, `scheduled_at`, number. One that does
not fit is passed over; one passed over for longer than `patience_s` reserves what it needs, so that freed slots
gather for it instead of going to those behind. Runs with the same needs stand in the same lane: when the first of a
lane does not fit, none of them does, and the line is searched in time of the lanes, not of the runs.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyscheduler.model.job import Job
from pyscheduler.model.run import Run

Needs = tuple[tuple[str, int], ...]
"""Pool slots, sorted by pool."""

Order = tuple[bool, int, datetime, str, int]
"""A place in line: forced, criticality, instant, job, number; the least is first."""


class Admission:
    """The slots and pools in use. Adoption may push use above the limits: then nothing starts until it falls."""

    def __init__(self, max_running: int, pools: Mapping[str, int]) -> None:
        self.max_running = max_running
        self.pools = dict(pools)
        self.holders: dict[str, Needs] = {}
        self.in_use: dict[str, int] = {}

    @property
    def running(self) -> int:
        """Slots taken of `max_running`."""
        return len(self.holders)

    def set_limits(self, max_running: int, pools: Mapping[str, int]) -> None:
        """Take new limits at once; what runs goes on."""
        self.max_running, self.pools = max_running, dict(pools)

    def free(self, pool: str) -> int:
        """Return the pool's free slots; negative above the limit; a pool that is not configured never fits."""
        return self.pools.get(pool, 0) - self.in_use.get(pool, 0)

    def fits(self, needs: Needs, reserved: Mapping[str, int] | None = None) -> bool:
        """Whether a slot and all needed pool slots are free, beside what is reserved."""
        held_back = reserved or {}
        return self.running < self.max_running and all(
            self.free(pool) - held_back.get(pool, 0) >= n for pool, n in needs
        )

    def acquire(self, run_id: str, needs: Needs) -> None:
        """Take a slot and pools, fitting or not (adoption)."""
        self.release(run_id)
        self.holders[run_id] = needs
        for pool, n in needs:
            self.in_use[pool] = self.in_use.get(pool, 0) + n

    adopt = acquire

    def release(self, run_id: str) -> None:
        """Give back what the run holds; harmless if it holds nothing."""
        for pool, n in self.holders.pop(run_id, ()):
            self.in_use[pool] -= n

    def holders_of(self, pool: str) -> list[str]:
        """Return the run ids that hold slots of the pool."""
        return [run_id for run_id, needs in self.holders.items() if any(name == pool for name, _ in needs)]


def needs_of(job: Job) -> Needs:
    """Return the pool slots the job needs."""
    return tuple(sorted(job.pools.items()))


def order_of(run: Run, job: Job) -> Order:
    """Return the run's place in line; the least starts first."""
    return (not run.forced, -job.criticality, run.scheduled_at, run.job, run.seq)


@dataclass(slots=True)
class _Lane:
    """Queued runs with the same needs: a heap by order, and the order of arrival for patience."""

    heap: list[tuple[Order, str]] = field(default_factory=list)
    waiting: OrderedDict[str, tuple[Order, datetime]] = field(default_factory=OrderedDict)

    def head(self) -> tuple[Order, str] | None:
        while self.heap:
            order, run_id = self.heap[0]
            if run_id in self.waiting and self.waiting[run_id][0] == order:
                return order, run_id
            heapq.heappop(self.heap)
        return None

    def oldest(self) -> datetime:
        return next(iter(self.waiting.values()))[1]


class ReadyQueue:
    """The runs that may start as soon as there is room."""

    def __init__(self) -> None:
        self._lanes: dict[Needs, _Lane] = {}
        self._needs: dict[str, Needs] = {}

    def __len__(self) -> int:
        return len(self._needs)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._needs

    def __iter__(self) -> Iterator[str]:
        return iter(self._needs)

    def push(self, run: Run, job: Job) -> None:
        """Put a run in line, or anew at its present place."""
        needs, order = needs_of(job), order_of(run, job)
        if self._needs.get(run.run_id, needs) != needs:
            self.remove(run.run_id)
        self._needs[run.run_id] = needs
        lane = self._lanes.setdefault(needs, _Lane())
        lane.waiting[run.run_id] = (order, run.queued_at or run.created_at)
        heapq.heappush(lane.heap, (order, run.run_id))

    def remove(self, run_id: str) -> None:
        """Take a run out of the line; harmless if it is not in it."""
        needs = self._needs.pop(run_id, None)
        if needs is None:
            return
        lane = self._lanes[needs]
        del lane.waiting[run_id]
        if not lane.waiting:
            del self._lanes[needs]

    def take_startable(self, admission: Admission, now: datetime, patience_s: float, at_most: int) -> list[str]:
        """Remove and return up to `at_most` run ids that start now, their slots acquired."""
        taken: list[str] = []
        reserved: dict[str, int] = {}
        shut: set[Needs] = set()
        while len(taken) < at_most and admission.running < admission.max_running:
            best = self._first(shut)
            if best is None:
                break
            needs, run_id = best
            if admission.fits(needs, reserved):
                admission.acquire(run_id, needs)
                self.remove(run_id)
                taken.append(run_id)
                continue
            shut.add(needs)
            if (now - self._lanes[needs].oldest()).total_seconds() > patience_s:
                for pool, n in needs:
                    reserved[pool] = reserved.get(pool, 0) + n
        return taken

    def _first(self, shut: set[Needs]) -> tuple[Needs, str] | None:
        """Return the first in line of all lanes that are not shut."""
        heads = ((lane.head(), needs) for needs, lane in self._lanes.items() if needs not in shut)
        standing = [(head, needs) for head, needs in heads if head is not None]
        if not standing:
            return None
        (_, run_id), needs = min(standing)
        return needs, run_id
