"""Lengths of time as people write them in Python, and what does not hold together said as a fault of the schedule."""

from __future__ import annotations

from pyscheduler.errors import BadSchedule
from pyscheduler.rules.leases import seconds


def seconds_of(length: object, what: str) -> float:
    """Return a length in seconds: a number, a timedelta, a text (`rules.leases.seconds`). Raises BadSchedule.

    `what` begins the sentence of a refusal: `The reclaim window`.
    """
    try:
        return seconds(length, what)
    except ValueError as error:
        raise BadSchedule(str(error)) from None
