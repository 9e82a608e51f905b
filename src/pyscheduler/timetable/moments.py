"""Whole seconds and whole days: the numbers that this room counts in, and the way from and to datetimes.

An *instant* is a whole number of seconds since 1970-01-01T00:00Z. A *wall second* is what a clock on the wall shows,
counted the same way as if the wall were in UTC. A *day* is a number of days since 1970-01-01; it names a local date.
Plain numbers neither overflow nor depend on a process's zone, and the arithmetic on them is exact.

What always holds: nothing before 1970 or after 9999 ever leaves this room, and a naive datetime never enters it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from pyscheduler.errors import NaiveTime

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall time has no zone
_EPOCH_ORDINAL: Final = EPOCH.toordinal()

LAST_DAY: Final = date.max.toordinal() - _EPOCH_ORDINAL
LAST_SECOND: Final = (LAST_DAY + 1) * DAY_S - 1

HORIZON_DAYS: Final = 50 * 366
"""A search that finds nothing for so long says "never". 29 February on one weekday comes after 40 years at the latest
(2072 to 2112), so fifty years miss nothing that a calendar year can name."""


def second_of(instant: datetime) -> int:
    """Return the whole second `instant` (aware) lies in, rounded down. Raises NaiveTime."""
    if instant.tzinfo is None:
        raise NaiveTime(f"{instant.isoformat()} has no time zone", mend="give an aware datetime")
    since = instant - EPOCH
    return since.days * DAY_S + since.seconds


def instant_of(second: int) -> datetime:
    """Return the aware UTC datetime of an instant."""
    return datetime.fromtimestamp(second, UTC)


def wall_of(naive: datetime) -> int:
    """Return the wall second of a naive local datetime, rounded down. ValueError for an aware one."""
    if naive.tzinfo is not None:
        raise ValueError(f"{naive.isoformat()} has a time zone where a local time is meant")
    since = naive - _NAIVE_EPOCH
    return since.days * DAY_S + since.seconds


def local_of(wall: int) -> datetime:
    """Return the naive local datetime of a wall second."""
    return _NAIVE_EPOCH + timedelta(seconds=wall)


def day_of(day: date) -> int:
    """Return the number of a date."""
    return day.toordinal() - _EPOCH_ORDINAL


def date_of(day: int) -> date:
    """Return the date of a number."""
    return date.fromordinal(day + _EPOCH_ORDINAL)
