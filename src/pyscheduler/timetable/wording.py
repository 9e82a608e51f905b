"""Schedules in words, and durations both ways. Spec: jobs.md 1.3, 13.5.

The words are what lists, pages and `pysched diff` show of a schedule; they say all that a schedule says, so two that
read alike fire alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import time
from typing import Final

from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    OnceSpec,
    RebootSpec,
    ScheduleSpec,
    Window,
)

_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_DURATION: Final = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def duration_s(text: str) -> int | None:
    """Return the seconds of a duration such as `1h30m`: units in descending order, each once. None: it is none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    total = sum(int(number or 0) * size for number, (_, size) in zip(match.groups(), _UNITS, strict=True))
    return total or None


def duration_text(seconds: int) -> str:
    """Return a duration the way it is written in a configuration: 5400 is `1h30m`. The inverse of `duration_s`."""
    parts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def schedule_text(spec: ScheduleSpec) -> str:
    """Return a schedule in words, for example `at 07:15 on mon,tue`."""
    text = _form(spec)
    if spec.days:
        text += " on " + ",".join(_WEEKDAYS[day] for day in spec.days)
    if spec.months:
        text += " in months " + ",".join(map(str, spec.months))
    if spec.start is not None:
        text += f" from {spec.start}"
    if spec.end is not None:
        text += f" until {spec.end}"
    text += "".join(f" except {window_text(window)}" for window in spec.exclude)
    return f"{text} jitter {duration_text(spec.jitter_s)}" if spec.jitter_s else text


def window_text(window: Window) -> str:
    """Return an exclude window in words: `12:00-13:00`, or `2027-12-24 00:00 to 2027-12-26 23:59`."""
    if window.start_time is not None and window.end_time is not None:
        return f"{window.start_time:%H:%M}-{window.end_time:%H:%M}"
    start = "" if window.start is None else window.start.isoformat(" ", "minutes")
    end = "" if window.end is None else window.end.isoformat(" ", "minutes")
    if start and end:
        return f"{start} to {end}"
    return f"from {start}" if start else f"until {end}"


def _form(spec: ScheduleSpec) -> str:
    match spec:
        case CronSpec():
            return "cron " + " ".join(spec.text.split())
        case EverySpec(opens=None):
            return f"every {duration_text(spec.every_s)}"
        case EverySpec(opens=time() as opens, closes=time() as closes):
            return f"every {duration_text(spec.every_s)} between {_time_text(opens)}-{_time_text(closes)}"
        case AtSpec():
            return f"at {_times_text(spec.times)}"
        case BusinessDaySpec():
            return f"business day {spec.nth} at {_times_text(spec.times)}"
        case OnceSpec():
            return f"once {spec.at.isoformat(' ', 'minutes' if not spec.at.second else 'seconds')}"
        case RebootSpec():
            return "reboot"
        case _:
            raise AssertionError(f"no words for {type(spec).__name__}")


def _times_text(times: Iterable[time]) -> str:
    return ", ".join(map(_time_text, times))


def _time_text(at: time) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
