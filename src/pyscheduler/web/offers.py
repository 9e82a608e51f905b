"""Which actions a page offers for a run, by its state. Pure. Spec: jobs.md 11 and 15.8.

What is offered is what the engine would accept as things stand; it decides again when asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyscheduler.model.run import RunState


@dataclass(frozen=True, slots=True)
class Offer:
    """One button: the action as the API names it, and its words."""

    action: str
    words: str
    is_grave: bool = False


HOLD: Final = Offer("hold", "Hold")
RELEASE: Final = Offer("release", "Release")
FORCE: Final = Offer("force-start", "Force start")
SKIP: Final = Offer("skip", "Skip", is_grave=True)
CANCEL: Final = Offer("cancel", "Cancel", is_grave=True)
KILL: Final = Offer("kill", "Kill", is_grave=True)
RERUN: Final = Offer("rerun", "Rerun")
MARK_SUCCESS: Final = Offer("mark-success", "Mark succeeded")
MARK_FAILED: Final = Offer("mark-failed", "Mark failed", is_grave=True)

_NOT_STARTED: Final = (HOLD, FORCE, SKIP, CANCEL)
OFFERS: Final[dict[RunState, tuple[Offer, ...]]] = {
    **dict.fromkeys(
        (RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED, RunState.QUEUED, RunState.RETRY_WAIT), _NOT_STARTED
    ),
    RunState.HELD: (RELEASE, FORCE, SKIP, CANCEL),
    RunState.RUNNING: (KILL,),
    RunState.SUCCEEDED: (RERUN, MARK_FAILED),
    RunState.FAILED: (RERUN, MARK_SUCCESS),
    RunState.SKIPPED: (RERUN, MARK_SUCCESS, MARK_FAILED),
    RunState.CANCELLED: (RERUN, MARK_SUCCESS, MARK_FAILED),
}
ALL: Final = (RERUN, HOLD, RELEASE, FORCE, KILL, SKIP, CANCEL, MARK_SUCCESS, MARK_FAILED)
"""Everything that can be done to a selection; each run answers for itself."""
