"""How one value is spelt: durations, times, dates, sizes, names. Pure text in, plain values out. Spec: jobs.md 1.3.

Every reader takes the text of one YAML scalar and returns a value or raises BadValue, whose `what` goes on from the
quoted text ("is no duration") and whose `mend` is the next step. No reader shows the text itself: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Final

from pyscheduler.model.ids import NAME

if TYPE_CHECKING:
    from pyscheduler.model.job import Window


class BadValue(ValueError):
    """A text that cannot be read. `what` goes on from the text ("is no duration"), `mend` says how to write it.

    `word` is what was perhaps meant as one of `among`: whoever complains looks for the nearest.
    """

    def __init__(self, what: str, mend: str = "", *, word: str = "", among: Collection[str] = ()) -> None:
        self.what, self.mend, self.word, self.among = what, mend, word, among
        super().__init__(f"{what}; {mend}" if mend else what)


# --------------------------------------------------------------------------- durations and sizes

_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_ZERO: Final = re.compile(r"0+[dhms]?", re.ASCII)
_UNITS: Final = (86400, 3600, 60, 1)
MAX_DURATION_S: Final = 36_500 * 86_400
"""A hundred years: longer is a slip of the hand, and date arithmetic stays far from its edge."""

_SIZE: Final = re.compile(r"(\d{1,19})(?:([KMGT])(?:iB)?)?", re.ASCII)
_FACTORS: Final = {None: 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MAX_SIZE: Final = (1 << 63) - 1


def parse_duration(text: str) -> int:
    """Return the seconds of a text such as `1d2h3m4s`: one part or more, from large to small, above zero in all."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise BadValue("is no duration", _duration_mend(text))
    # Thirteen digits are too long already, and int() refuses a text of thousands: no text may cost time or raise.
    counts = (int(part.lstrip("0")[:13] or "0") if part else 0 for part in match.groups())
    seconds = sum(count * unit for count, unit in zip(counts, _UNITS, strict=True))
    if seconds == 0:
        raise BadValue("is no time at all, and this must be longer than zero")
    if seconds > MAX_DURATION_S:
        raise BadValue("is longer than a hundred years")
    return seconds


def parse_duration_or_zero(text: str) -> int:
    """Return the seconds of a duration, `0` and `0s` included."""
    return 0 if _ZERO.fullmatch(text) else parse_duration(text)


def _duration_mend(text: str) -> str:
    if re.fullmatch(r"[0-9]+:[0-9]+(:[0-9]+)?", text):
        return "hours and minutes look the same there: write 1h30m or 1m30s"
    if re.fullmatch(r"[0-9]+", text):
        return "add the unit: d, h, m or s, as in 90s"
    if re.fullmatch(r"[0-9]+\.[0-9]+[dhms]", text):
        return "use whole numbers and a smaller unit, as in 1h30m"
    if re.fullmatch(r"([0-9]+[dhms])+", text):
        return "each unit stands once, from days down to seconds, as in 1d12h"
    return "write days, hours, minutes, seconds in this order, as in 1d12h, 90m or 30s"


def format_duration(seconds: float) -> str:
    """Return the shortest spelling that parse_duration reads back; parts of a second are dropped, zero is `0s`."""
    left, parts = int(seconds), []
    for unit, letter in zip(_UNITS, "dhms", strict=True):
        count, left = divmod(left, unit)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"


def parse_size(text: str) -> int:
    """Return the bytes of `512`, `64K`, `512M`, `2G`, `1T`: powers of 1024, `512MiB` is the same as `512M`."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadValue("is no size", "write a number of bytes, or with K, M, G or T (powers of 1024), as in 512M")
    size = int(match[1]) * _FACTORS[match[2]]
    if size > MAX_SIZE:
        raise BadValue("is larger than any file or memory")
    return size


# --------------------------------------------------------------------------- clock times and dates

_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_LOOSE_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(:\d{2})?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::[0-5]\d)?)", re.ASCII)


def parse_time(text: str) -> time:
    """Return the clock time of `HH:MM`, 00:00 to 23:59, two digits each."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadValue("is no clock time", _time_mend(text))
    return time(int(match[1]), int(match[2]))


def _time_mend(text: str) -> str:
    loose = _LOOSE_TIME.fullmatch(text)
    if text == "24:00":
        return "a day ends at 23:59 and the next begins at 00:00"
    if loose and loose[3]:
        return "seconds stand only in a cron expression of six fields, as in '59 59 23 * * *'"
    if loose and int(loose[1]) < 24 and int(loose[2]) < 60:
        return f"write {int(loose[1]):02d}:{loose[2]}"
    return "write HH:MM from 00:00 to 23:59"


def parse_date(text: str) -> date:
    """Return the date of `YYYY-MM-DD`."""
    if not _DATE.fullmatch(text):
        raise BadValue("is no date", "write YYYY-MM-DD, as in 2027-05-20")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadValue("is no day of the calendar", "write YYYY-MM-DD, as in 2027-05-20") from None


def parse_moment(text: str) -> datetime:
    """Return the naive local instant of `YYYY-MM-DD HH:MM`, seconds and a `T` in the middle allowed."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise BadValue("is no date with a clock time", "write YYYY-MM-DD HH:MM, as in 2027-01-04 06:00")
    try:
        return datetime.combine(parse_date(match[1]), time.fromisoformat(match[2]))
    except BadValue:
        raise
    except ValueError:
        raise BadValue("is no clock time", "write HH:MM from 00:00 to 23:59") from None


def parse_between(text: str) -> tuple[time, time]:
    """Return opening and closing of `HH:MM-HH:MM`; an earlier closing means over midnight."""
    opens, dash, closes = text.partition("-")
    if not dash:
        raise BadValue("is no stretch of time", "write HH:MM-HH:MM, as in 07:00-19:00")
    return parse_time(opens.strip()), parse_time(closes.strip())


def parse_window(text: str) -> Window:
    """Return the exclusion window of `22:00-02:00` (daily), a date, or `A..B` with dates or dates and clock times.

    A date alone as the end means that whole day.
    """
    from pyscheduler.model.job import Window  # `glance` need not wait for all the nouns of a job

    if ".." in text:
        first, _, last = text.partition("..")
        window = Window(start=_edge(first.strip(), time.min), end=_edge(last.strip(), time.max))
    elif _DATE.fullmatch(text):
        day = parse_date(text)
        window = Window(start=datetime.combine(day, time.min), end=datetime.combine(day, time.max))
    elif ":" in text:
        opens, closes = parse_between(text)
        return Window(start_time=opens, end_time=closes)
    else:
        raise BadValue("is no window", "write 22:00-02:00, 2027-12-24, or 2027-12-24..2027-12-26")
    if window.start is not None and window.end is not None and window.start > window.end:
        raise BadValue("ends before it starts")
    return window


def _edge(text: str, rest_of_day: time) -> datetime:
    if _DATE.fullmatch(text):
        return datetime.combine(parse_date(text), rest_of_day)
    return parse_moment(text)


# --------------------------------------------------------------------------- numbers, words, names

_INT: Final = re.compile(r"[-+]?\d+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?\d+(\.\d+)?", re.ASCII)
_UMASK: Final = re.compile(r"0?[0-7]{3}", re.ASCII)
_HOST_PORT: Final = re.compile(r"(\S+):(\d{1,5})", re.ASCII)
MAX_NUMBER_LENGTH: Final = 20


def parse_bool(text: str) -> bool:
    """Return True or False for exactly `true` or `false`."""
    if text not in ("true", "false"):
        words = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
        lowered = text.lower()
        right = lowered if lowered in ("true", "false") else words.get(lowered)
        raise BadValue("is neither true nor false", f"write {right}" if right else "")
    return text == "true"


def parse_int(text: str) -> int:
    """Return the whole number of at most twenty characters; `08` is 8."""
    if len(text) > MAX_NUMBER_LENGTH or not _INT.fullmatch(text):
        raise BadValue("is no whole number")
    return int(text)


def parse_float(text: str) -> float:
    """Return the number: digits, perhaps a fraction, no exponent."""
    if len(text) > MAX_NUMBER_LENGTH or not _FLOAT.fullmatch(text):
        raise BadValue("is no number", "write digits, with a fraction if need be, as in 1.5")
    return float(text)


def parse_umask(text: str) -> int:
    """Return the umask of three octal digits, or four that begin with 0: `027` and `0027` are the same."""
    if not _UMASK.fullmatch(text):
        mend = f"write 0{text}" if re.fullmatch(r"[0-7]{2}", text) else "write three octal digits, as in 027"
        raise BadValue("is no umask", mend)
    return int(text, 8)


def parse_host_port(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, split at the last colon; port 0 means any free one."""
    match = _HOST_PORT.fullmatch(text)
    if match is None or int(match[2]) > 65535:
        raise BadValue("is no host and port", "write HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:8470")
    return match[1], int(match[2])


def parse_node_address(text: str) -> str:
    """Return `HOST:PORT` or `https://HOST:PORT` as it is, where it is one."""
    place = text.removeprefix("https://").removesuffix("/")
    try:
        parse_host_port(place if "/" not in place else "")
    except BadValue as error:
        raise BadValue(error.what, f"{error.mend}; https:// before it where TLS is spoken there") from None
    return text.removesuffix("/")


def parse_listen(text: str) -> tuple[str, int] | None:
    """Return host and port to listen at, None for `off` or `none`. A host in brackets is an IPv6 address."""
    if text in ("off", "none"):
        return None
    try:
        host, port = parse_host_port(text)
    except BadValue as error:
        raise BadValue(error.what, f"{error.mend}; or write off") from None
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise BadValue("is no host and port", f"write an IPv6 address in brackets, as in [::1]:{port}")
    return host, port


def check_name(text: str) -> str:
    """Return `text` if it is a name: 1 to 64 letters, digits, `_` and `-`; else raise BadValue."""
    if not NAME.fullmatch(text):
        raise BadValue("is no name", "use 1 to 64 letters (a to z), digits, _ and -")
    return text
