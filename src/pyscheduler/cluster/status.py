"""What became of a run, in the words of the claim (DESIGN 6, "Words").

The store's own words are those of every run (`model/run.py`); these five are what a task's author sees. `done` stands
for `succeeded`. A run that waits is none of them: it is due, or will be.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pyscheduler.model.run import RunState


class TaskStatus(StrEnum):
    """What became of a run."""

    CLAIMED = "claimed"
    """Handed out, and the outcome is not known. A claim that was abandoned is handed out again: see the promises in
    docs/concepts/claims.md."""
    DONE = "done"
    """It ran and succeeded."""
    FAILED = "failed"
    """It ran and did not: an exit code other than its success codes, a signal, a timeout, or a start that failed."""
    SKIPPED = "skipped"
    """It did not run, because an earlier run of the task was still going."""
    CANCELLED = "cancelled"
    """It did not run, or not to its end, because a before-run hook or an operator refused it."""


_OF_STATE: Final = {
    RunState.RUNNING: TaskStatus.CLAIMED,
    RunState.SUCCEEDED: TaskStatus.DONE,
    RunState.FAILED: TaskStatus.FAILED,
    RunState.SKIPPED: TaskStatus.SKIPPED,
    RunState.CANCELLED: TaskStatus.CANCELLED,
}


def status_of(state: RunState, *, is_owned: bool) -> TaskStatus | None:
    """Return the word for a run in a state, None where nobody has it and it has not ended."""
    return TaskStatus.CLAIMED if is_owned else _OF_STATE.get(state)
