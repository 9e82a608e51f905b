"""Times for people: in the scheduler's zone and always with the offset; durations in at most two units.

The zone rules are the tzdata package's, as everywhere in the scheduler, but read straight from its files: a thin
command has no firings to compute, and the way through importlib.resources takes longer than all else it does.
Spec: jobs.md 14.1; DESIGN 11.
"""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final

import tzdata  # type: ignore[import-untyped]

from pyscheduler.lengths import length

_WHOLE_HOURS: Final = re.compile(r"([+-]\d{2}):00$")


@dataclass(frozen=True, slots=True)
class Times:
    """Writes instants down as the walls of one zone show them."""

    zone: zoneinfo.ZoneInfo

    @classmethod
    def of(cls, name: str) -> Times:
        """Return the times of a zone by its IANA name, which must be one."""
        return cls(_zone(name))

    def local(self, instant: datetime) -> datetime:
        """Return the instant with the zone's offset."""
        return instant.astimezone(self.zone)

    def midnight(self, day: date) -> datetime:
        """Return the instant at which a day begins; where clocks skip midnight, the end of the gap."""
        return datetime.combine(day, time.min, self.zone).astimezone(UTC)

    def full(self, instant: datetime, *, seconds: bool = True) -> str:
        """Return date, time and offset: `2027-05-20 03:05:12+02:00`."""
        return self.local(instant).isoformat(" ", "seconds" if seconds else "minutes")

    def on(self, day: date, instant: datetime, *, short: bool = False) -> str:
        """Return the time and offset alone where the instant lies on `day`, with month and day where it does not.

        `short` leaves the minutes out of the offset where it has none: `03:05:12+02`.
        """
        local = self.local(instant)
        clock = local.isoformat("T", "seconds").partition("T")[2]
        if short:
            clock = _WHOLE_HOURS.sub(r"\1", clock)
        if local.date() == day:
            return clock
        return f"{local:%m-%d} {clock}" if local.year == day.year else f"{local:%Y-%m-%d} {clock}"


@lru_cache(maxsize=64)
def _zone(name: str) -> zoneinfo.ZoneInfo:
    path = Path(tzdata.__file__).parent / "zoneinfo" / name
    try:
        with path.open("rb") as file:
            return zoneinfo.ZoneInfo.from_file(file, key=name)
    except OSError:  # the package is not a folder of files: in a zip, say
        zoneinfo.reset_tzpath(())
        return zoneinfo.ZoneInfo(name)


def now() -> datetime:
    """Return the present: aware, UTC. The engine's clock would bring asyncio along, too much for a thin command."""
    return datetime.now(UTC)  # noqa: TID251 - see above


def parse_instant(text: str) -> datetime:
    """Return the instant of an answer's ISO 8601 text. ValueError for another."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return instant


def json_instant(instant: datetime) -> str:
    """Return an instant as JSON has it: ISO 8601 in UTC with `Z`. Spec: jobs.md 13.3."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat()
    return text + "Z"


def since(instant: datetime, now: datetime) -> str:
    """Return how long ago an instant lies; nothing is ever ahead of a clock that was set back."""
    return length(max(timedelta(0), now - instant).total_seconds())
