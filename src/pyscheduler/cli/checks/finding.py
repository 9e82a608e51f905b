"""One thing that was looked at, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: `bad` keeps the scheduler from keeping its promises, `warn` may one day."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it stands, what was seen, and how to mend it where it is not ok."""

    about: str
    level: Level
    what: str
    mend: str = ""


def ok(about: str, what: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(about, Level.OK, what)


def warn(about: str, what: str, mend: str) -> Finding:
    """Return a finding that leaves something to chance."""
    return Finding(about, Level.WARN, what, mend)


def bad(about: str, what: str, mend: str) -> Finding:
    """Return a finding that must be mended."""
    return Finding(about, Level.BAD, what, mend)
