"""Local time: the only module that knows about gaps and folds.

A zone is a row of *stretches*, each with one constant offset from UTC. Where the clocks are put forward, wall times are
missing between two stretches (a gap); where they are put back, some come twice (a fold). Nothing here asks whether a
change is "summer time": only the order of instants counts, so half-hour and two-hour changes, negative summer time
(Casablanca, Dublin) and a whole missing day (Apia, 30 December 2011) are all one case.

What always holds: wall times are dealt out to stretches without overlap. A wall second belongs to the stretch in which
it is shown for the first time; one that is never shown belongs to the stretch after the gap and stands for that
stretch's first instant. So `first_pass` never goes back when the wall time goes on, and one `max` is all it takes.

The rules come from the `tzdata` package alone, whatever the host has installed, so every host fires at the same
instants (field case FC-020). The search for changes looks once a day and then halves: zone data since 1970 has no two
changes of one zone within three days (a test holds it to that).
"""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

import tzdata  # type: ignore[import-untyped]

from pyscheduler.timetable.mistakes import UnknownZone
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, instant_of, local_of, second_of, wall_of

zoneinfo.reset_tzpath(())

TZDATA_VERSION: Final[str] = tzdata.IANA_VERSION
"""The release of the zone data in use, such as `2026f`. Firings move when it changes: show it, recompute then."""

_BLOCK_S: Final = 400 * DAY_S
"""Stretches are worked out a block at a time, when first asked for. A block's edge is no clock change: the stretches on
both sides of it have one offset, and nothing is missing or doubled between them."""

_LAST_PROBE: Final = LAST_SECOND - 2 * DAY_S
"""Later instants have local times that datetime cannot hold; the offset of that day is taken for them."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Instants `start` to `end` (excluded) of one `offset` from UTC, in seconds.

    `begins` and `closes` are what the wall shows at `start` and would show at `end`; `opens` is the `closes` of the
    stretch before. `opens` < `begins`: a gap in front of it. `begins` < `opens`: a fold, its first wall times are shown
    the second time.
    """

    start: int
    end: int
    offset: int
    opens: int

    @property
    def begins(self) -> int:
        return self.start + self.offset

    @property
    def closes(self) -> int:
        return self.end + self.offset


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a local time falls: `instant` (aware UTC), and `rule`, what the clock change did to it.

    `gap`: it does not exist that day, and the instant is the end of the gap. `fold`: it comes twice, and the instant is
    the first of the two. Empty: nothing.
    """

    instant: datetime
    rule: str


class Zone:
    """One time zone. Instants and wall times are whole numbers inside this room, datetimes at its doors."""

    __slots__ = ("_rules", "name")

    def __init__(self, name: str, rules: zoneinfo.ZoneInfo) -> None:
        self.name = name
        self._rules = rules

    def __repr__(self) -> str:
        return f"zone({self.name!r})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return zone, (self.name,)

    # ----------------------------------------------------------------------- doors

    def local(self, instant: datetime) -> datetime:
        """Return what the wall shows at `instant` (aware), naive, to the second. Raises NaiveTime."""
        second = second_of(instant)
        return local_of(min(second + self.offset_at(second), LAST_SECOND))

    def today(self, instant: datetime) -> date:
        """Return the local date at `instant` (aware). Raises NaiveTime."""
        return self.local(instant).date()

    def resolve(self, naive: datetime) -> Resolved:
        """Return the instant of a local time (naive) and the rule that had to be applied. Spec: jobs.md 2.4."""
        wall = wall_of(naive)
        stretch = self.stretch_of(wall)
        rule = ""
        if wall < stretch.begins:
            rule = "gap"
        elif self.stretch_at(stretch.end).begins <= wall:
            rule = "fold"
        return Resolved(instant_of(min(max(wall - stretch.offset, stretch.start), LAST_SECOND)), rule)

    # ----------------------------------------------------------------------- numbers

    def stretch_at(self, second: int) -> Stretch:
        """Return the stretch that holds an instant; before 1970 the first one."""
        second = max(second, 0)
        for stretch in _stretches(self, second // _BLOCK_S):
            if second < stretch.end:
                return stretch
        raise AssertionError("a block's stretches reach its end")

    def stretch_of(self, wall: int) -> Stretch:
        """Return the stretch a wall second belongs to (see the module's head)."""
        stretch = self.stretch_at(wall)
        while wall >= stretch.closes:
            stretch = self.stretch_at(stretch.end)
        while wall < stretch.opens and stretch.start > 0:
            stretch = self.stretch_at(stretch.start - 1)
        return stretch

    def first_pass(self, wall: int) -> int:
        """Return the instant at which a wall second is shown first, or the end of the gap that swallows it."""
        stretch = self.stretch_of(wall)
        return max(wall - stretch.offset, stretch.start)

    def wall_from(self, second: int) -> int:
        """Return the first wall second whose `first_pass` is at `second` or later."""
        stretch = self.stretch_at(second)
        return stretch.opens if second <= stretch.start else max(second + stretch.offset, stretch.opens)

    def offset_at(self, second: int) -> int:
        """Return the offset from UTC at an instant, in seconds."""
        return self.stretch_at(second).offset

    def day_at(self, second: int) -> int:
        """Return the local date at an instant, as a day number."""
        return (second + self.stretch_at(second).offset) // DAY_S

    def probe(self, second: int) -> int:
        """Ask the zone data itself for the offset at an instant; slow."""
        offset = instant_of(min(max(second, 0), _LAST_PROBE)).astimezone(self._rules).utcoffset()
        assert offset is not None
        return offset.days * DAY_S + offset.seconds


@lru_cache(maxsize=4096)
def _stretches(zone: Zone, block: int) -> tuple[Stretch, ...]:
    start, stop = block * _BLOCK_S, (block + 1) * _BLOCK_S
    offset = zone.probe(start)
    opens = start + zone.probe(start - 1)
    known, found = start, []
    for look in range(start + DAY_S - 1, stop, DAY_S):
        if zone.probe(look) != offset:
            change = _first_change(zone, known, look)
            found.append(Stretch(start, change, offset, opens))
            opens = change + offset
            start, offset = change, zone.probe(change)
        known = look
    return (*found, Stretch(start, stop, offset, opens))


def _first_change(zone: Zone, before: int, after: int) -> int:
    """Return the first instant after `before` with the offset of `after`, given that the two differ."""
    old = zone.probe(before)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if zone.probe(middle) == old else (before, middle)
    return after


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return every name the zone data knows."""
    return frozenset(zoneinfo.available_timezones())


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """Return the zone of an IANA name, always the same object. Raises UnknownZone with near names."""
    if name not in zone_names():
        raise UnknownZone(name, _near(name))
    return Zone(name, zoneinfo.ZoneInfo.no_cache(name))


def _near(name: str) -> tuple[str, ...]:
    folded = {known.casefold(): known for known in sorted(zone_names())}
    return tuple(folded[near] for near in get_close_matches(name.casefold(), folded, n=2, cutoff=0.75))
