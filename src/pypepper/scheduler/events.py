"""The status machine of a job: six events, seven states, one table.

`TABLE` is plain data: the reference draws from it, and a test walks every pair. A pair that is not in it is illegal and
moves nothing. Spec: pipeline.md 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pypepper.event import event
from pypepper.event.event import Event
from pypepper.fsm import fsm
from pypepper.scheduler.status import Status

INIT: Final = event.new("init")
SCHEDULE: Final = event.new("schedule")
RUN: Final = event.new("run")
COMPLETE: Final = event.new("complete")
FAIL: Final = event.new("fail")
CANCEL: Final = event.new("cancel")

FSM_ID: Final = "scheduler_fsm"

TABLE: Final[Mapping[tuple[str, Status], Status]] = MappingProxyType(
    {
        ("init", Status.UNKNOWN): Status.INITIALIZING,
        ("schedule", Status.INITIALIZING): Status.SCHEDULED,
        ("run", Status.SCHEDULED): Status.IN_PROGRESS,
        ("complete", Status.IN_PROGRESS): Status.COMPLETED,
        ("fail", Status.IN_PROGRESS): Status.FAILED,
        ("cancel", Status.SCHEDULED): Status.CANCELLED,
        ("cancel", Status.IN_PROGRESS): Status.CANCELLED,
    }
)


def _transition(name: str, before: Status, after: Status) -> fsm.Transition:
    return fsm.Transition(event.new(name), [fsm.State(before.value)], fsm.State(after.value))


_INITIAL: Final = fsm.State(Status.UNKNOWN.value)
_COMPILED: Final = MappingProxyType(fsm.compile_table(_transition(name, a, b) for (name, a), b in TABLE.items()))
"""Never handed out: a machine copies each state it takes from it."""


def build_scheduler_fsm() -> fsm.FSM:
    """Return a fresh machine in Unknown; each job has one of its own."""
    return fsm.FSM(FSM_ID, _INITIAL, _COMPILED)


class FSM:
    """A job's machine behind one method."""

    def __init__(self, machine: fsm.FSM | None = None) -> None:
        self._machine = machine if machine is not None else build_scheduler_fsm()

    def on(self, evt: Event) -> fsm.Response:
        """Answer one event; see `pypepper.fsm.fsm.FSM.on`."""
        return self._machine.on(evt)
