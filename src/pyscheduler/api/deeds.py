"""What may be done to a run, by the word that requests use: the one way from a request to an engine's action.

One run or a thousand, done or rehearsed: what is asked of the caller and of the job first (`FrontDesk.admit`), and
which method of the engine's `Actions` it is, stands here once. Spec: jobs.md 11.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from pyscheduler.api.callers import Caller
from pyscheduler.api.desk import FrontDesk
from pyscheduler.engine.actions import Actions
from pyscheduler.errors import NotFound
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.run import Run

RERUN: Final = "rerun"
_Method = Callable[..., Coroutine[Any, Any, Run]]

METHODS: Final[Mapping[str, Callable[[Actions], _Method]]] = {
    "hold": lambda actions: actions.hold,
    "release": lambda actions: actions.release,
    "kill": lambda actions: actions.kill,
    "force-start": lambda actions: actions.force_start,
    "skip": lambda actions: actions.skip,
    "cancel": lambda actions: actions.cancel,
    "mark-success": lambda actions: actions.mark_success,
    "mark-failed": lambda actions: actions.mark_failed,
}


async def act(
    actions: Actions, action: str, run_id: str, *, actor: str, reason: str, downstream: bool = False
) -> list[Run]:
    """Do it; returns the runs it was done to, the named one first. Raises ActionError."""
    if action == RERUN:
        return await actions.rerun(run_id, actor=actor, downstream=downstream, reason=reason)
    return [await METHODS[action](actions)(run_id, actor=actor, reason=reason)]


async def perform(
    desk: FrontDesk, caller: Caller, action: str, run_id: str, *, reason: str, downstream: bool = False
) -> list[Run]:
    """Do it where the caller and the job allow it. Raises ActionError."""
    desk.admit(caller, job_of(run_id), reason)
    if downstream:
        desk.may_run(caller, run_id, downstream=True)
    return await act(desk.engine, action, run_id, actor=caller.name, reason=reason, downstream=downstream)


def job_of(run_id: str) -> str:
    """Return the name of the job that a run id is of. Raises NotFound where it can be no run's."""
    try:
        return parse_run_id(run_id)[0]
    except ValueError as error:
        raise NotFound(str(error), mend="`pysched runs` lists them") from None
