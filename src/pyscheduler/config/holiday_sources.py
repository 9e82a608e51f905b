"""Holidays from elsewhere: a country's, by the `holidays` library, and an iCalendar file's. DESIGN 8 row 15, 9.

Both libraries are imported only when a calendar asks for them. What comes back is plain dates for the years around
today: a snapshot, because the library's data changes from release to release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, Final

from pyscheduler.config.source import check_text, read_bytes
from pyscheduler.config.tree import TreeError
from pyscheduler.config.values import BadValue

YEARS_BACK: Final = 2
YEARS_AHEAD: Final = 6
MAX_ICS_BYTES: Final = 2 << 20
MAX_DAYS: Final = 20_000
_FREQUENCIES: Final = frozenset({"YEARLY", "MONTHLY", "WEEKLY", "DAILY"})


@dataclass(slots=True)
class Dates:
    """Holidays, the last day for which their source speaks (None: for ever), and what people should know of it.

    `texts` holds the files that were read, by path: they are sources of the configuration like its own.
    """

    days: set[date] = field(default_factory=set)
    ends: date | None = None
    remarks: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, other: Dates) -> None:
        """Take in another source: all its days, and its end where that comes first."""
        self.days |= other.days
        if other.ends is not None:
            self.ends = other.ends if self.ends is None else min(self.ends, other.ends)


def years_around(today: date) -> range:
    """Return the years for which sources are asked."""
    return range(today.year - YEARS_BACK, today.year + YEARS_AHEAD + 1)


def of_country(country: str, subdiv: str | None, today: date) -> Dates:
    """Return a country's public holidays. Raises BadValue for a country or subdivision the library does not know."""
    import holidays

    known = holidays.list_supported_countries()
    if country not in known:
        raise BadValue("is no country the holidays library knows", "write an ISO 3166 code, as in GB")
    if subdiv is not None and subdiv not in known[country]:
        listed = ", ".join(known[country][:12]) or "none at all"
        raise BadValue(f"has no subdivision {subdiv}", f"it has {listed}")
    years = years_around(today)
    found: Any = holidays.country_holidays(country, subdiv=subdiv, years=years, expand=False)
    last = min(years[-1], int(getattr(found, "end_year", years[-1])))
    return Dates(set(found), date(last, 12, 31))


def of_file(path: str, folder: str, today: date) -> Dates:
    """Return the all-day events of an iCalendar file as holidays, repeating ones for the years around today.

    Events with a clock time and cancelled ones are left out. It ends with its last day; that of an event which
    repeats for ever lies years ahead. Raises BadValue where it cannot be read.
    """
    file = os.path.normpath(os.path.join(folder, path))
    data = read_bytes(file, MAX_ICS_BYTES)
    try:
        check_text(data)
    except TreeError as error:
        raise BadValue(error.what, error.mend) from None
    text = data.decode("utf-8")
    dates, timed = Dates(texts={file: text}), 0
    span = years_around(today)
    for event in _events(text):
        days = list(_days(event, date(span[0], 1, 1), date(span[-1], 12, 31)))
        timed += not days and _is_timed(event)
        dates.days.update(days)
        if len(dates.days) > MAX_DAYS:
            raise BadValue(f"has more than {MAX_DAYS:,} days")
    if not dates.days:
        raise BadValue("holds no all-day event around this year")
    dates.ends = max(dates.days)
    if timed:
        dates.remarks.append(f"{timed} events with a clock time are no holidays and were left out")
    return dates


# --------------------------------------------------------------------------- iCalendar

_UNREADABLE: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
"""What the library raises for texts that are no iCalendar; it has no error of its own for all of them."""


def _events(text: str) -> list[Any]:
    from icalendar import Calendar

    try:
        calendar = Calendar.from_ical(text)
        events = [event for event in calendar.walk("VEVENT") if str(event.get("STATUS", "")).upper() != "CANCELLED"]
    except _UNREADABLE as error:
        raise BadValue(f"is no iCalendar file ({str(error)[:80]})") from None
    if len(events) > MAX_DAYS:
        raise BadValue(f"has more than {MAX_DAYS:,} events")
    return events


def _is_timed(event: Any) -> bool:
    start = event.get("DTSTART")
    return isinstance(getattr(start, "dt", None), datetime)


def _days(event: Any, first: date, last: date) -> Iterator[date]:
    """Yield the days from `first` to `last` that an all-day event covers."""
    try:
        if _is_timed(event) or event.get("DTSTART") is None:
            return
        start: date = event["DTSTART"].dt
        length = _length(event, start)
        left_out = set(_dates_of(event, "EXDATE"))
        for begin in _occurrences(event, start, first - timedelta(days=length), last):
            for number in range(length):
                day = begin + timedelta(days=number)
                if first <= day <= last and begin not in left_out:
                    yield day
    except _UNREADABLE as error:
        raise BadValue(f"holds an event that cannot be read ({str(error)[:80]})") from None


def _length(event: Any, start: date) -> int:
    """Return how many days the event covers: its end is the day after, and without one it covers a day."""
    if event.get("DTEND") is not None:
        length = int((event["DTEND"].dt - start).days)
    elif event.get("DURATION") is not None:
        length = event["DURATION"].dt.days
    else:
        length = 1
    return min(max(length, 1), 366)


def _occurrences(event: Any, start: date, first: date, last: date) -> Iterator[date]:
    yield start
    yield from _dates_of(event, "RDATE")
    rules = event.get("RRULE")
    for rule in rules if isinstance(rules, list) else [rules] if rules is not None else []:
        yield from (day for day in _repeated(rule, start, last) if day >= first)


def _repeated(rule: Any, start: date, last: date) -> Iterator[date]:
    """Yield the occurrences of a rule up to `last`. It is made to end there, so that asking it always ends too."""
    from dateutil.rrule import rrulestr

    if start.year < 1900:
        raise ValueError("an event repeats from before 1900")
    if rule["FREQ"][0].upper() not in _FREQUENCIES:
        raise ValueError("an all-day event repeats within the day")
    parts = {key: value for key, value in rule.items() if key not in ("COUNT", "UNTIL")}
    until = min(last, *(_day(each) for each in rule.get("UNTIL", ())), last)
    text = f"{type(rule)(parts).to_ical().decode()};UNTIL={until:%Y%m%d}T000000"
    found = rrulestr(text, dtstart=datetime.combine(start, datetime.min.time()), ignoretz=True)
    yield from (at.date() for at in islice(found, rule.get("COUNT", [None])[0]))


def _day(at: date) -> date:
    return at.date() if isinstance(at, datetime) else at


def _dates_of(event: Any, key: str) -> Iterator[date]:
    lists = event.get(key)
    for each in lists if isinstance(lists, list) else [lists] if lists is not None else []:
        for item in each.dts:
            yield _day(item.dt)
