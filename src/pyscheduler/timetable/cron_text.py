"""Cron text, checked field by field and put into the plain words that cronsim reads.

The library says "Bad hour" and no more, knows no `nameL`, `15W`, `L-3` or macros, and reads `5-5/2` as `5/2`. So each
term is looked at here first: what is wrong is said with its field, its value and a way out, and what is right is
written in numbers. Nothing is expanded here; that stays cronsim's work (`cron_days.py`, `times.py`).

What always holds: a text that passes is read by cronsim without complaint, and a range that runs past the end of its
field is refused, never read as empty (field case FC-004). Spec: jobs.md 2.1, DESIGN 8 row 14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from pyscheduler.timetable.mistakes import ScheduleError

MACROS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    }
)

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class Field:
    """One field: what it is called, its bounds, and the names its numbers have."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def bounds(self) -> str:
        """The bounds as a clause: `hours run from 0 to 23`."""
        return f"{_PLURALS[self.name]} run from {self.lowest} to {self.highest}"

    def word(self, number: int, like: str) -> str:
        """Return `number` the way `like` was written: as a name or as a number."""
        if like.isdigit():
            return str(number)
        number = 0 if self.highest == number == 7 else number
        return next((word for word, value in self.names.items() if value == number), str(number))


_PLURALS: Final = {
    "second": "seconds",
    "minute": "minutes",
    "hour": "hours",
    "day-of-month": "days of a month",
    "month": "months",
    "day-of-week": "days of the week",
}

SECOND: Final = Field("second", 0, 59)
MINUTE: Final = Field("minute", 0, 59)
HOUR: Final = Field("hour", 0, 23)
DAY: Final = Field("day-of-month", 1, 31)
MONTH: Final = Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
WEEKDAY: Final = Field("day-of-week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)})

_TERM: Final = re.compile(r"(?P<start>\*|[0-9]{1,9}|[a-z]+)(?:-(?P<end>[0-9]{1,9}|[a-z]+))?(?:/(?P<step>[0-9]{1,9}))?")
_NTH: Final = re.compile(r"(?P<day>[0-9]{1,9}|[a-z]+)#(?P<nth>[0-9]{1,9})")
_LAST_OF: Final = re.compile(r"(?P<day>[0-7]|sun|mon|tue|wed|thu|fri|sat)l")
_NEAREST: Final = re.compile(r"(?P<day>[0-9]{1,9})w")
_FROM_END: Final = re.compile(r"l-(?P<back>[0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class CronText:
    """A checked cron expression; each text is one field in cronsim's words.

    `days_from_end` are the n of `L-n`, `nearest_weekdays` the n of `nW`; both beside what `days` says, which is empty
    where the field says nothing else. `day_fields` are day-of-month and day-of-week as typed: which of them counts as
    a star hangs on the text, and is lost in the sets (field case FC-002).
    """

    seconds: str
    minutes: str
    hours: str
    days: str
    months: str
    weekdays: str
    days_from_end: frozenset[int]
    nearest_weekdays: frozenset[int]
    day_fields: tuple[str, str]

    @property
    def keeps_real_time(self) -> bool:
        """Whether a clock change leaves its steps alone: Debian's rule, the minute or the hour begins with `*`."""
        return self.minutes.startswith("*") or self.hours.startswith("*")

    @property
    def hangs_on_star(self) -> bool:
        """Whether the two rules of `cron_star` read it differently: both fields say something, one begins with `*`."""
        return "*" not in self.day_fields and any(field.startswith("*") for field in self.day_fields)


@lru_cache(maxsize=16384)
def read_cron(text: str) -> CronText:
    """Return the checked fields of five, or of six with seconds first, or of a macro. Raises ScheduleError."""
    if text.strip().startswith("@"):
        text = _macro(text.strip())
    parts = text.lower().split()
    if len(parts) not in (5, 6):
        raise ScheduleError(
            "fields",
            f"a cron expression has 5 fields, or 6 with seconds first, and this one has {len(parts)}",
            "write minute hour day-of-month month day-of-week, for example 0 9 * * 1-5",
        )
    seconds, minutes, hours, days, months, weekdays = ["0", *parts] if len(parts) == 5 else parts
    special = _SpecialDays()
    return CronText(
        seconds=_plain(SECOND, seconds),
        minutes=_plain(MINUTE, minutes),
        hours=_plain(HOUR, hours),
        days=",".join(filter(None, (special.read(term) for term in _terms(DAY, days)))),
        months=_plain(MONTH, months),
        weekdays=",".join(_weekday(term) for term in _terms(WEEKDAY, weekdays)),
        days_from_end=frozenset(special.from_end),
        nearest_weekdays=frozenset(special.nearest),
        day_fields=(days, weekdays),
    )


def _macro(text: str) -> str:
    if text in MACROS:
        return MACROS[text]
    known = ", ".join(MACROS)
    if text.lower() in MACROS:
        raise ScheduleError(
            "macro", f"macros are written in lower case, and this one is {text}", f"write {text.lower()}"
        )
    raise ScheduleError("macro", f"there is no macro {text}", f"the macros are {known}, @every DURATION and @reboot")


def _terms(field: Field, text: str) -> list[str]:
    terms = text.split(",")
    if "" in terms:
        raise ScheduleError(field.name, f"the {field.name} field {text} has an empty entry", "write a,b without gaps")
    return terms


def _plain(field: Field, text: str) -> str:
    return ",".join(_term(field, term) for term in _terms(field, text))


def _term(field: Field, text: str) -> str:
    """Check `*`, `a`, `a-b`, each with or without `/n`, and return it in numbers."""
    match = _TERM.fullmatch(text)
    if match is None or (match["start"] == "*" and match["end"]):
        raise _not_understood(field, text)
    step = f"/{_step(field, text, match['step'])}" if match["step"] else ""
    if match["start"] == "*":
        return f"*{step}"
    start = _number(field, match["start"])
    if not match["end"]:
        return f"{start}{step}"
    end = _range_end(field, match["start"], match["end"])
    # One day is one day: cronsim would read 5-5/2 as 5/2, which runs to the end of the field.
    return f"{start}-{end}{step}" if end > start else str(start)


def _step(field: Field, text: str, step: str) -> int:
    if int(step) == 0:
        raise ScheduleError(field.name, f"the {field.name} field has {text}, and a step is 1 or more")
    return int(step)


def _number(field: Field, text: str) -> int:
    if not text.isdigit():
        if text in field.names:
            return field.names[text]
        known = f"; its names are {', '.join(field.names)}" if field.names else ", and it takes numbers"
        raise ScheduleError(field.name, f"the {field.name} field does not know {text}{known}")
    number = int(text)
    if field.lowest <= number <= field.highest:
        return number
    mend = f"write {field.lowest} for it" if number == field.highest + 1 and field in (SECOND, MINUTE) else ""
    mend = "write 0 for midnight" if field is HOUR and number == 24 else mend
    raise ScheduleError(field.name, f"the {field.name} field is {text}, and {field.bounds}", mend)


def _range_end(field: Field, first: str, last: str) -> int:
    """Return the end of a range that runs forwards. Sunday is 7 at the end of a range and 0 elsewhere."""
    start, end = _number(field, first), _number(field, last)
    if field is WEEKDAY and end == 0 and start > 0:
        return 7
    if start <= end:
        return end
    if field is WEEKDAY and start == 7:
        mend = f"write {field.word(0, first)}-{last}"
    else:
        highest = field.word(field.highest, first)
        lowest = field.word(1 if field is WEEKDAY else field.lowest, first)
        mend = f"write {_range(first, highest)},{_range(lowest, last)}"
    raise ScheduleError(field.name, f"the {field.name} field has the range {first}-{last}, which runs backwards", mend)


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}-{last}"


def _weekday(text: str) -> str:
    """Check one entry of the day-of-week field: a plain term, `name#n` or `nameL`."""
    if match := _NTH.fullmatch(text):
        if not 1 <= int(match["nth"]) <= 5:
            raise ScheduleError(WEEKDAY.name, f"the day-of-week field has {text}, and #n runs from 1 to 5")
        return f"{_number(WEEKDAY, match['day'])}#{int(match['nth'])}"
    if match := _LAST_OF.fullmatch(text):
        return f"{_number(WEEKDAY, match['day'])}L"
    if text == "l":
        raise ScheduleError(WEEKDAY.name, "L alone says no weekday", "write friL, or L in the day-of-month field")
    return _term(WEEKDAY, text)


class _SpecialDays:
    """The day-of-month field: what cronsim knows is handed on, the n of `nW` and `L-n` are kept."""

    def __init__(self) -> None:
        self.from_end: list[int] = []
        self.nearest: list[int] = []

    def read(self, text: str) -> str:
        if text in ("l", "lw"):
            return text.upper()
        if match := _NEAREST.fullmatch(text):
            self.nearest.append(_number(DAY, match["day"]))
            return ""
        if match := _FROM_END.fullmatch(text):
            back = int(match["back"])
            if not 1 <= back <= 30:
                raise ScheduleError(DAY.name, f"the day-of-month field has {text.upper()}, and L-n runs from 1 to 30")
            self.from_end.append(back)
            return ""
        return _term(DAY, text)


def _not_understood(field: Field, text: str) -> ScheduleError:
    if text == "?":
        return ScheduleError(field.name, f"the {field.name} field is ?, which is not in use here", "write *")
    if "#" in text and field is not WEEKDAY:
        return ScheduleError(field.name, f"the {field.name} field has {text}; # belongs in the day-of-week field")
    return ScheduleError(
        field.name,
        f"the {field.name} field has {text}, which is no number, range or step",
        f"write a number, a-b, */n or a list of them; {field.bounds}",
    )
