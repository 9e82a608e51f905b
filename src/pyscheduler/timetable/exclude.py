"""Exclude windows: stretches of wall time in which a schedule's firings are dropped. DESIGN 8 row 14.

Windows are daily (both ends inclusive to the minute, over midnight where the end is earlier) or dated (both ends
inclusive). What counts is the wall time that the schedule names, before a clock change moves it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyscheduler.model.job import Window
from pyscheduler.timetable.mistakes import ScheduleError
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, MINUTE_S, wall_of
from pyscheduler.timetable.times import second_of_day

Span = tuple[int, int]
"""First and last second, both inclusive."""


class Excluded:
    """All exclude windows of one schedule."""

    __slots__ = ("_daily", "_dated", "daily_free")

    def __init__(self, windows: Iterable[Window]) -> None:
        daily: list[Span] = []
        dated: list[Span] = []
        for window in windows:
            if window.start is None and window.end is None:
                daily += _daily_spans(window)
            else:
                dated.append(_dated_span(window))
        self._daily, self._dated = _merged(daily), _merged(dated)
        self.daily_free = _gaps(self._daily)

    def __bool__(self) -> bool:
        return bool(self._daily or self._dated)

    def end_of(self, wall: int) -> int | None:
        """Return the last second of a window that holds this wall second; None where it is free."""
        second = wall % DAY_S
        for first, last in self._daily:
            if first <= second <= last:
                return wall - second + last
        return self.dated_end_of(wall)

    def dated_end_of(self, wall: int) -> int | None:
        """Return the last second of a dated window that holds this wall second; None where there is none."""
        return next((last for first, last in self._dated if first <= wall <= last), None)

    def free(self, day: int) -> tuple[Span, ...]:
        """Return the spans of a day's seconds, 0 to 86,399, that no window covers."""
        midnight = day * DAY_S
        if not self.touches(midnight, midnight + DAY_S - 1):
            return self.daily_free
        touching = [span for span in self._dated if span[0] < midnight + DAY_S and span[1] >= midnight]
        within = [(max(first - midnight, 0), min(last - midnight, DAY_S - 1)) for first, last in touching]
        return _gaps(_merged([*self._daily, *within]))

    def touches(self, first: int, last: int) -> bool:
        """Return whether a dated window reaches into this span of wall seconds, which makes its days unlike others."""
        return any(start <= last and end >= first for start, end in self._dated)


def _daily_spans(window: Window) -> list[Span]:
    if window.start_time is None or window.end_time is None:
        raise ScheduleError("exclude", "an exclude window has only one end", 'write "12:00-13:00", or two dates')
    first, last = second_of_day(window.start_time), second_of_day(window.end_time) + MINUTE_S - 1
    return [(first, last)] if first <= last else [(0, last), (first, DAY_S - 1)]


def _dated_span(window: Window) -> Span:
    if window.start_time is not None or window.end_time is not None:
        raise ScheduleError("exclude", "an exclude window is either daily or dated, not both", "write two windows")
    first = 0 if window.start is None else wall_of(window.start)
    last = LAST_SECOND if window.end is None else wall_of(window.end)
    if last < first:
        raise ScheduleError("exclude", f"the exclude window from {window.start} ends before it starts", "swap the two")
    return first, last


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _gaps(taken: tuple[Span, ...]) -> tuple[Span, ...]:
    gaps, at = [], 0
    for first, last in taken:
        if first > at:
            gaps.append((at, first - 1))
        at = last + 1
    return (*gaps, (at, DAY_S - 1)) if at < DAY_S else tuple(gaps)
