"""What is to be done once a decision is on disk, in the imperative.

Any effect but Launch may be performed twice; Launch is guarded by its file. Which effects are still open after a crash
follows from what is remembered, so none of them is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Effect:
    """Something for the shell to do about one run."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Launch(Effect):
    """Start the attempt."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Terminate(Effect):
    """Order the running attempt to end."""

    attempt: int
    by: str
    who: str


@dataclass(frozen=True, slots=True)
class WakeAt(Effect):
    """Look at the run again at this instant: a retry, a jittered start, the end of `max_wait`."""

    when: datetime


@dataclass(frozen=True, slots=True)
class Enqueue(Effect):
    """Put the run into the line of those that may start."""


@dataclass(frozen=True, slots=True)
class Dequeue(Effect):
    """Take the run out of the line."""


@dataclass(frozen=True, slots=True)
class Discard(Effect):
    """Remove the attempt's files: its outcome is remembered and its run is final."""

    attempt: int
