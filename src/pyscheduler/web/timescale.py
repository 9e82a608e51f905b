"""Stretches of time as people read them: an hour, a local day, a week of local days; and where on a line an instant is.

Lengths are real time: a local day has 23 hours where the clocks are put forward and 25 where they are put back, and a
bar is as long as what it stands for took. Ticks stand where the wall shows a round time: one that is missing has none,
one that comes twice has two, told apart by their offset from UTC. Pure; what the clocks do is `timetable.zone`'s.

What always holds: the days of a zone follow each other without a hole; ticks ascend, and each lies in its stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Final

from pyscheduler.timetable.moments import DAY_S, HOUR_S, MINUTE_S, instant_of, second_of
from pyscheduler.timetable.zone import Stretch, Zone

A_DAY: Final = timedelta(days=1)
FIRST_DAY: Final = date(1970, 1, 8)
LAST_DAY: Final = date(2999, 12, 31)
"""What can be asked for; beyond it no zone data speaks. Spec: jobs.md 15.8."""


class Zoom(StrEnum):
    """How much is on one line."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"


TICK_S: Final = {Zoom.HOUR: 5 * MINUTE_S, Zoom.DAY: HOUR_S, Zoom.WEEK: 6 * HOUR_S}
MAJOR_S: Final = {Zoom.HOUR: 15 * MINUTE_S, Zoom.DAY: 3 * HOUR_S, Zoom.WEEK: DAY_S}


@dataclass(frozen=True, slots=True)
class Span:
    """Instants from `start` up to `end`, aware UTC; `day` is the local date it begins on."""

    zoom: Zoom
    day: date
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return (self.end - self.start).total_seconds()

    def fraction(self, instant: datetime) -> float:
        """Return where an instant is, 0 at the start and 1 at the end; what lies outside is at the nearer edge."""
        return min(max((instant - self.start).total_seconds() / self.seconds, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Tick:
    """A round wall time. `offset` is its offset from UTC as text; `is_major` where it deserves a label."""

    at: datetime
    label: str
    offset: str
    is_major: bool


@dataclass(frozen=True, slots=True)
class Change:
    """Where the clocks are put forward (`seconds` > 0) or back."""

    at: datetime
    seconds: int

    @property
    def text(self) -> str:
        """What happens, in words."""
        return f"clocks go {'forward' if self.seconds > 0 else 'back'} {length_text(abs(self.seconds))}"


def day_start(zone: Zone, day: date) -> datetime:
    """Return the instant at which a local day begins; of one that a zone leaves out, the next one's."""
    return zone.resolve(datetime.combine(day, time())).instant


def span_of(zone: Zone, zoom: Zoom, day: date, hour_at: datetime | None = None) -> Span:
    """Return the stretch that begins on a local day, the week's Monday, or with the wall's hour around `hour_at`.

    A day that the zone leaves out (Apia, 30 December 2011) stands for the next one. ValueError outside the years that
    can be asked for.
    """
    if not FIRST_DAY <= day <= LAST_DAY:
        raise ValueError(f"{day} is not between {FIRST_DAY} and {LAST_DAY}")
    if zoom is Zoom.HOUR:
        return _hour(zone, hour_at or day_start(zone, day))
    first = day - timedelta(days=day.weekday()) if zoom is Zoom.WEEK else day
    start, after = day_start(zone, first), first + (7 * A_DAY if zoom is Zoom.WEEK else A_DAY)
    while (end := day_start(zone, after)) <= start:
        after += A_DAY
    return Span(zoom, zone.today(start), start, end)


def _hour(zone: Zone, around: datetime) -> Span:
    """Return the part of one wall hour that is shown without a clock change: an hour, or less of it next to one."""
    second = second_of(around)
    stretch = zone.stretch_at(second)
    wall = (second + stretch.offset) // HOUR_S * HOUR_S
    start, end = wall - stretch.offset, wall + HOUR_S - stretch.offset
    if zone.offset_at(start) != stretch.offset:
        start = stretch.start
    if zone.offset_at(end - 1) != stretch.offset:
        end = stretch.end
    return Span(Zoom.HOUR, zone.today(instant_of(start)), instant_of(start), instant_of(end))


def before(zone: Zone, span: Span) -> tuple[date, datetime]:
    """Return the day, and the instant, of the stretch in front of this one."""
    last = span.start - timedelta(seconds=1)
    return zone.today(last), last


def after(zone: Zone, span: Span) -> tuple[date, datetime]:
    """Return the day, and the instant, of the stretch behind this one."""
    return zone.today(span.end), span.end


def ticks(zone: Zone, span: Span) -> list[Tick]:
    """Return the round wall times of a stretch, in order."""
    step, major = TICK_S[span.zoom], MAJOR_S[span.zoom]
    found = []
    for stretch, start, end in _stretches(zone, span):
        first = -(-(start + stretch.offset) // step) * step
        for wall in range(first, end + stretch.offset, step):
            at = instant_of(wall - stretch.offset)
            found.append(Tick(at, _label(span.zoom, wall), offset_text(stretch.offset), wall % major == 0))
    return found


def changes(zone: Zone, span: Span) -> list[Change]:
    """Return where the clocks are changed within a stretch, its very start left out."""
    stretches = list(_stretches(zone, span))
    return [
        Change(instant_of(start), after.offset - before.offset)
        for (before, _, _), (after, start, _) in pairwise(stretches)
        if after.offset != before.offset
    ]


def _stretches(zone: Zone, span: Span) -> Iterator[tuple[Stretch, int, int]]:
    """Yield the parts of a span that have one offset, with their first second and the one behind their last."""
    second, end = second_of(span.start), second_of(span.end)
    while second < end:
        stretch = zone.stretch_at(second)
        yield stretch, second, min(stretch.end, end)
        second = stretch.end


def _label(zoom: Zoom, wall: int) -> str:
    minutes = wall % DAY_S // MINUTE_S
    if zoom is Zoom.WEEK and minutes == 0:
        return instant_of(wall).strftime("%a %d %b")
    return f"{minutes // 60:02}:{minutes % 60:02}"


def offset_text(offset: int) -> str:
    """Return an offset from UTC as +hh:mm, with seconds where it has any."""
    minutes, seconds = divmod(abs(offset), MINUTE_S)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def length_text(seconds: int) -> str:
    """Return a length in hours, minutes and seconds, without what is nought: `1 h 30 min`."""
    hours, rest = divmod(seconds, HOUR_S)
    minutes, left = divmod(rest, MINUTE_S)
    parts = ((hours, "h"), (minutes, "min"), (left, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
