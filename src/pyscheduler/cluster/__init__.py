"""MANY: one schedule, any number of schedulers on one store. DESIGN 6, claims.md.

`Schedule` and `Task` say what is to run and when, `Scheduler` runs it (`tick`, `work`, `stop`), `TaskStatus` says what
became of a run. What is promised stands in docs/concepts/claims.md and nowhere else.

*Invariant:* memory is never evidence of ownership; whatever is decided about a run is decided by one guarded statement
in the store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyscheduler.cluster.schedule import Schedule
    from pyscheduler.cluster.scheduler import Scheduler
    from pyscheduler.cluster.status import TaskStatus
    from pyscheduler.cluster.tally import TaskFailed, Ticked
    from pyscheduler.cluster.task import Context, Task
    from pyscheduler.cluster.triggers import callback, cron, every

__all__ = [
    "Context",
    "Schedule",
    "Scheduler",
    "Task",
    "TaskFailed",
    "TaskStatus",
    "Ticked",
    "callback",
    "cron",
    "every",
]

_HOMES: Final = {
    "Context": "task",
    "Schedule": "schedule",
    "Scheduler": "scheduler",
    "Task": "task",
    "TaskFailed": "tally",
    "TaskStatus": "status",
    "Ticked": "tally",
    "callback": "triggers",
    "cron": "triggers",
    "every": "triggers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
