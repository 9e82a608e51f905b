"""How values are said on pages: states by shape, word and tone; times with their offset; durations and sizes. Pure.

Every state has a shape and a word of its own, and colour only repeats them (WCAG 1.4.1). A time always carries the
zone's offset (DESIGN 11). What is typed by people may hold control characters; they are shown as what they are.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from pyscheduler.lengths import length
from pyscheduler.model.run import Outcome, RunState


@dataclass(frozen=True, slots=True)
class Look:
    """How a state is shown: its word, the shape beside it (a symbol of `_marks.svg.html`), and a tone."""

    word: str
    mark: str
    tone: str


LOOKS: Final[dict[RunState, Look]] = {
    RunState.FAILED: Look("failed", "failed", "bad"),
    RunState.BLOCKED: Look("blocked", "blocked", "warn"),
    RunState.RETRY_WAIT: Look("retry wait", "retry", "warn"),
    RunState.HELD: Look("held", "held", "hand"),
    RunState.WAITING: Look("waiting", "waiting", "calm"),
    RunState.QUEUED: Look("queued", "queued", "calm"),
    RunState.SCHEDULED: Look("scheduled", "scheduled", "calm"),
    RunState.RUNNING: Look("running", "running", "live"),
    RunState.SUCCEEDED: Look("succeeded", "succeeded", "good"),
    RunState.SKIPPED: Look("skipped", "skipped", "off"),
    RunState.CANCELLED: Look("cancelled", "cancelled", "off"),
}

OUTCOMES: Final[dict[Outcome, Look]] = {
    Outcome.SUCCEEDED: Look("succeeded", "succeeded", "good"),
    Outcome.FAILED: Look("failed", "failed", "bad"),
    Outcome.TIMEOUT: Look("timed out", "scheduled", "bad"),
    Outcome.KILLED: Look("killed", "cancelled", "bad"),
    Outcome.LOST: Look("lost", "lost", "bad"),
    Outcome.START_ERROR: Look("start error", "failed", "bad"),
}

_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def look_of(state: RunState | str) -> Look:
    """Return how a state is shown, given itself or its word in the API."""
    return LOOKS[RunState(state)]


def outcome_look(outcome: Outcome | str) -> Look:
    """Return how an attempt's outcome is shown."""
    return OUTCOMES[Outcome(outcome)]


def duration(seconds: float | None) -> str:
    """Return seconds in at most two units; empty where unknown."""
    return "" if seconds is None else length(seconds)


def size(count: int | None) -> str:
    """Return bytes in powers of 1,024: `812 B`, `4.2 MiB`; empty where unknown."""
    if count is None:
        return ""
    value = float(count)
    for unit in _SIZES[:-1]:
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_SIZES[-1]}"


def plain(text: str) -> str:
    r"""Return text in which nothing is invisible or turns the line around: such characters become `\xNN`, `\uNNNN`.

    Newlines and tabs stay. A right-to-left override in a reason must not make another name of a job's (FC-068).
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def sentence(text: str) -> str:
    """Return words as a sentence: a capital in front, a full stop behind. A name in front keeps its letters."""
    first = text.split(" ", 1)[0].rstrip("?!.,:;")
    front = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return front if not front or front[-1] in ".!?" else f"{front}."


def reason_beside(state: str, reason: str) -> str:
    """Return a reason as it is said beside its state: `blocked: a (D) failed` needs no second `blocked`."""
    return reason.removeprefix(f"{state}: ")


def _is_harmless(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Moment(NamedTuple):
    """An instant as pages write it: for machines, in full, alone where it lies on the day seen from, and its offset."""

    utc: str
    full: str
    clock: str
    offset: str


@dataclass(frozen=True, slots=True)
class Times:
    """Writes instants down as the walls of one zone show them, seen from a day."""

    zone: ZoneInfo
    today: date

    def local(self, instant: datetime) -> datetime:
        """Return the instant with the zone's offset."""
        return instant.astimezone(self.zone)

    def moment(self, instant: datetime) -> Moment:
        """Return the four in one: a page of two hundred rows has five hundred of them."""
        full = self.full(instant)
        clock, day = full[11:19], self.today.isoformat()
        if full[:10] != day:
            clock = f"{full[5:10] if full[:4] == day[:4] else full[:10]} {clock}"
        return Moment(self.utc(instant), full, clock, full[19:].removesuffix(":00"))

    def utc(self, instant: datetime) -> str:
        """Return what a machine reads: ISO 8601 in UTC."""
        return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def full(self, instant: datetime) -> str:
        """Return date, time and offset: `2027-05-20 03:05:12+02:00`."""
        return self.local(instant).isoformat(" ", "seconds")

    def clock(self, instant: datetime) -> str:
        """Return the time alone where the instant lies on the day seen from, with the date in front where not."""
        return self.moment(instant).clock

    def offset(self, instant: datetime) -> str:
        """Return the zone's offset at an instant: `+02`, `+05:30`."""
        return self.moment(instant).offset

    def seen_from(self, day: date) -> Times:
        """Return the same, seen from another day."""
        return Times(self.zone, day)


def since(instant: datetime, now: datetime) -> str:
    """Return how long ago an instant lies; nothing is ever ahead of a clock that was set back."""
    return duration(max(timedelta(0), now - instant).total_seconds())


def weekday(day: date) -> str:
    """Return a date with its weekday: `Thu 2027-05-20`."""
    return f"{day:%a} {day.isoformat()}"
