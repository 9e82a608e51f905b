"""A schedule: tasks in their order, with what holds for all of them. Spec: claims.md A1, seed 002.

What must always hold: ids are unique; a schedule is only words, it has no memory, so that the same one may be given to
any number of schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, Self

from pyscheduler.cluster.durations import seconds_of
from pyscheduler.cluster.status import TaskStatus
from pyscheduler.cluster.task import Context, Task
from pyscheduler.errors import BadSchedule

RECLAIM_AFTER_S: Final = 86400.0
"""After a day without a sign of life a scheduler's started runs may be taken from it (DESIGN 6, S7b)."""
RETENTION_S: Final = 90 * 86400.0
"""As `scheduler.retention` has it."""

Before = Callable[[Context], object]
After = Callable[[Context, TaskStatus], object]


class Schedule:
    """Tasks to be run by any number of schedulers. `name` stands in messages.

    `before` is called in the scheduler's process before a run starts: False cancels that run. `after` hears of the
    end of every run that was started.
    """

    def __init__(
        self, *tasks: Task, name: str = "default", before: Before | None = None, after: After | None = None
    ) -> None:
        self.name = name
        self.before, self.after = before, after
        self.reclaim_after_s = RECLAIM_AFTER_S
        self.retention_s = RETENTION_S
        self.latest_only = False
        self._tasks: dict[str, Task] = {}
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> Self:
        """Add a task at the end. Raises BadSchedule where its id is taken."""
        if task.id in self._tasks:
            raise BadSchedule(f"There are two tasks with the id {task.id}.")
        self._tasks[task.id] = task
        return self

    def reclaim_after(self, window: float | timedelta | str) -> Self:
        """Set how long a scheduler must have been silent before its started runs are taken from it without proof.

        Seconds, a timedelta or a text such as `6h`. A scheduler that heartbeats is never robbed, however long its task
        takes; after the window a run may execute twice: docs/concepts/claims.md. Raises BadSchedule.
        """
        self.reclaim_after_s = seconds_of(window, "The reclaim window")
        return self

    def retention(self, length: float | timedelta | str) -> Self:
        """Set how long ended runs are kept in the store, since they last changed: 90 days where this is not called.

        Seconds, a timedelta or a text such as `90d`. Their output is not removed. Raises BadSchedule.
        """
        self.retention_s = seconds_of(length, "The retention")
        return self

    def only_last_missed(self) -> Self:
        """Of several missed runs of a task run the newest only; the others get no run."""
        self.latest_only = True
        return self

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, task: str) -> Task:
        return self._tasks[task]

    def __contains__(self, task: object) -> bool:
        return task in self._tasks
