"""The runs of one day in the board's order, kept from one look to the next.

Placing ten thousand runs anew for every look would cost tens of milliseconds; from one look to the next a few change.
So each run keeps its place until it is another value, until it becomes late, or until what runs takes long; a new
configuration or a clock that went back places all of them anew. `order` is for helper threads, which it lets in one at
a time. It is given frozen values only, and what it returns is never changed afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from threading import Lock
from typing import Final

from pyscheduler.model.job import Job
from pyscheduler.model.run import Run
from pyscheduler.web.worst_first import UNKNOWN, Group, Key, Pace, criticality_of, group_of, late_from, order_key

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_KEY: Final = attrgetter("key")


@dataclass(frozen=True, slots=True)
class Facts:
    """What surrounds the runs of a day. `paces` are those of running attempts, by run id."""

    jobs: Mapping[str, Job]
    now: datetime
    paces: Mapping[str, Pace]


@dataclass(frozen=True, slots=True)
class Place:
    """One run with its group and what it is sorted by. After `until` it stands elsewhere."""

    run: Run
    group: Group
    key: Key
    until: datetime


def place_of(run: Run, facts: Facts) -> Place:
    """Return where a run stands now."""
    job = facts.jobs.get(run.job)
    group = group_of(run, job, facts.now, facts.paces.get(run.run_id, UNKNOWN))
    turns = None if group is Group.LATE else late_from(run, job)
    return Place(run, group, order_key(run, group, criticality_of(job)), turns or _NEVER)


def late_among(places: Sequence[Place]) -> int:
    """Return how many of these, which are in order, are late."""
    first, beyond = (Group.LATE,), (Group.LATE + 1,)
    return bisect_left(places, beyond, key=_KEY) - bisect_left(places, first, key=_KEY)


class Ranking:
    """The places of one day's runs, worst first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._order: list[Place] = []
        self._places: dict[str, Place] = {}
        self._jobs: Mapping[str, Job] | None = None
        self._version, self._now, self._until = -1, _NEVER, _NEVER

    def order(self, runs: Collection[Run], version: int, facts: Facts) -> Sequence[Place]:
        """Return the places of all these runs. `version` is another one whenever the runs are others."""
        with self._lock:
            if facts.jobs is not self._jobs or facts.now < self._now:
                self._order, self._places, self._version = [], {}, -1
            if version != self._version or facts.now > self._until or self._paces_matter(facts):
                self._place(runs, facts)
            self._version, self._jobs, self._now = version, facts.jobs, facts.now
            return self._order

    def _paces_matter(self, facts: Facts) -> bool:
        """Whether what runs has come to take long, or does so no more."""
        placed = ((self._places.get(run_id), facts.jobs, pace) for run_id, pace in facts.paces.items())
        return any(
            place is None or group_of(place.run, jobs.get(place.run.job), facts.now, pace) is not place.group
            for place, jobs, pace in placed
        )

    def _place(self, runs: Collection[Run], facts: Facts) -> None:
        """Give those a new place that need one; the others keep theirs, and their order, which makes sorting quick."""
        kept, now, paces = self._places, facts.now, facts.paces
        fresh = []
        for run in runs:
            place = kept.get(run.run_id)
            if place is None or place.run is not run or now > place.until or run.run_id in paces:
                fresh.append(place_of(run, facts))
        kept |= {place.run.run_id: place for place in fresh}
        order = [place for place in self._order if kept[place.run.run_id] is place]
        order += fresh
        order.sort(key=_KEY)
        self._order, self._until = order, min((place.until for place in order), default=_NEVER)
