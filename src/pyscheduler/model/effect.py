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
    """Order the running attempt to end. `by` is `kill` or `timeout`, `who` the operator's name."""

    attempt: int
    by: str
    who: str


@dataclass(frozen=True, slots=True)
class WakeAt(Effect):
    """Look at the run again at this instant; None calls an earlier WakeAt off.

    A retry is due, a jittered start may go, `max_wait` is over. The shell counts on the monotonic clock from when it
    performs this, so a step of the wall clock in between moves nothing.
    """

    when: datetime | None


@dataclass(frozen=True, slots=True)
class Discard(Effect):
    """Remove the files of the run's attempts: their outcomes are remembered and the run is final."""
