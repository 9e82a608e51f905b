"""What a pass has come to: what was started, refused, handed back, and how what ran has ended. claims.md B17, B25."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from pyscheduler.cluster.status import TaskStatus
from pyscheduler.errors import PyschedError, StoreError

MOST_FAILURES: Final = 1000
"""A loop may live for years."""


class TaskFailed(PyschedError):
    """A task's run failed. Raised when the whole pass is over: one run's failure holds nobody else up.

    `ticked` is what the pass has come to. Where the outcome could not be stored either, that error is the context.
    """

    code = "task-failed"

    def __init__(self, task: str, run_id: str, reason: str) -> None:
        super().__init__(f"task {task} failed: {reason}", where=run_id)
        self.task, self.run_id, self.reason = task, run_id, reason
        self.ticked = Ticked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """The numbers of a pass. `started` counts attempts; the others say what became of runs.

    `refused` were claimed and found not to be ours any more when they were to start; `handed_back` were claimed and not
    started, and stay due. `adopted` were a dead scheduler's and are counted by how they ended. `retrying` failed and
    will be tried again. `failures` are the newest MOST_FAILURES at most: the log has them all. `held_off` says why
    nothing could be made of what is due, where another scheduler leads.
    """

    started: int = 0
    refused: int = 0
    handed_back: int = 0
    adopted: int = 0
    done: int = 0
    failed: int = 0
    retrying: int = 0
    skipped: int = 0
    cancelled: int = 0
    failures: tuple[TaskFailed, ...] = ()
    held_off: str = ""


@dataclass(slots=True)
class Tally:
    """Counts while a pass goes on."""

    started: int = 0
    refused: int = 0
    handed_back: int = 0
    adopted: int = 0
    retrying: int = 0
    ends: dict[TaskStatus, int] = field(default_factory=dict)
    failures: deque[TaskFailed] = field(default_factory=lambda: deque(maxlen=MOST_FAILURES))
    held_off: str = ""
    """Why another's lead kept the last look from making anything."""
    trouble: StoreError | None = None
    """Why something could not be begun, the first time: the runs stay due."""

    def end(self, status: TaskStatus) -> None:
        """Count a run's end."""
        self.ends[status] = self.ends.get(status, 0) + 1

    def ticked(self) -> Ticked:
        """Return the numbers as they stand."""
        return Ticked(
            started=self.started,
            refused=self.refused,
            handed_back=self.handed_back,
            adopted=self.adopted,
            done=self.ends.get(TaskStatus.DONE, 0),
            failed=self.ends.get(TaskStatus.FAILED, 0),
            retrying=self.retrying,
            skipped=self.ends.get(TaskStatus.SKIPPED, 0),
            cancelled=self.ends.get(TaskStatus.CANCELLED, 0),
            failures=tuple(self.failures),
            held_off=self.held_off,
        )
