"""What has happened to a run, past tense and finer than it was reported.

A guard is never an `if` in the state machine: whoever sees an attempt end first says whether it succeeded, failed with
tries left or spent the last one, and only then the table in `rules/lifecycle.py` is asked. `by` is an operator's name,
`why` the reason they gave, if any.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyscheduler.model.run import Attempt, Cause


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened to one run."""


# --------------------------------------------------------------------------- by itself


@dataclass(frozen=True, slots=True)
class MustWait(Event):
    """A dependency is undecided, or another run of the job still goes."""

    reason: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class MustNotStart(Event):
    """An upstream ended badly, or the job itself needs something that is not there."""

    reason: str
    cause: Cause = Cause.DEPENDENCY


@dataclass(frozen=True, slots=True)
class NotNeeded(Event):
    """An `on: failure` dependency did not fail: this branch is not taken."""

    reason: str


@dataclass(frozen=True, slots=True)
class OverlapRefused(Event):
    """`overlap: skip` and another run of the job is active."""


@dataclass(frozen=True, slots=True)
class Superseded(Event):
    """A newer run of the same run date waits in its place."""


@dataclass(frozen=True, slots=True)
class BecameReady(Event):
    """Dependencies are met and overlap allows it: it may stand in line."""


@dataclass(frozen=True, slots=True)
class WaitExpired(Event):
    """`max_wait` is over and its upstream still has not come."""

    reason: str


@dataclass(frozen=True, slots=True)
class SlotGranted(Event):
    """A slot and all its pools are taken for it; `attempt` is the row of the attempt about to start."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Offered(Event):
    """A slot and all its pools are taken for it; a node of the cluster may claim it."""


@dataclass(frozen=True, slots=True)
class OfferWithdrawn(Event):
    """No node had claimed it, and none can any more: it stands in line again."""


@dataclass(frozen=True, slots=True)
class AttemptStarted(Event):
    """A node has claimed it and written the start of `attempt` down."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptSucceeded(Event):
    """The attempt ended well."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """The attempt ended badly and another try is due at `retry_at`."""

    attempt: Attempt
    retry_at: datetime
    tries_allowed: int


@dataclass(frozen=True, slots=True)
class TriesSpent(Event):
    """The attempt ended badly and nothing more is tried."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class RetryDue(Event):
    """The wait before the next try is over and nothing else of the job is active."""


@dataclass(frozen=True, slots=True)
class RetryHeldUp(Event):
    """The wait before the next try is over, but another run of the job is active."""

    reason: str


@dataclass(frozen=True, slots=True)
class UpstreamReopened(Event):
    """A run it was decided by is open again: decide anew, with its patience counted from now."""

    wait_until: datetime | None = None


# --------------------------------------------------------------------------- by hand


@dataclass(frozen=True, slots=True)
class Held(Event):
    """An operator holds it."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Released(Event):
    """An operator lets it go; its patience counts from now."""

    by: str
    wait_until: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ForceStarted(Event):
    """An operator puts it at the head of the line, whatever it waits for."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class SkippedByHand(Event):
    """An operator skips it; that satisfies its dependants."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class CancelledByHand(Event):
    """An operator calls it off; that does not satisfy its dependants."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MarkedSuccess(Event):
    """An operator vouches for it."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MarkedFailed(Event):
    """An operator declares it failed."""

    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rerun(Event):
    """An operator reopens an ended run with a fresh retry budget."""

    by: str
    wait_until: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class KillAsked(Event):
    """An operator wants the running attempt ended. It ends when its guardian says so.

    `attempt` is its row with `kill_by` set: the order outlives a restart.
    """

    by: str
    attempt: Attempt


# --------------------------------------------------------------------------- by a new configuration


@dataclass(frozen=True, slots=True)
class Redefined(Event):
    """Its job has a new definition: decide anew under it."""

    config_version: int
    wait_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeptInLine(Event):
    """Its job has a new definition, but an operator has forced it: it keeps its place."""

    config_version: int


@dataclass(frozen=True, slots=True)
class JobWithdrawn(Event):
    """Its job is removed, disabled, or gone when the scheduler came back; `reason` says which."""

    reason: str


@dataclass(frozen=True, slots=True)
class Adopted(Event):
    """Found running after a restart: it goes on under its guardian."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class GuardChanged(Event):
    """Who guards the running attempt has changed; `remark` is what an operator should know, or empty."""

    remark: str
    attempt: Attempt


BY_HAND = (
    Held,
    Released,
    ForceStarted,
    SkippedByHand,
    CancelledByHand,
    MarkedSuccess,
    MarkedFailed,
    Rerun,
    KillAsked,
)
"""What only an operator's hand can cause."""
