"""The status machine: pipeline.md 6.1, every pair of state and event."""

from __future__ import annotations

import pytest

from pypepper.exceptions import InternalException
from pypepper.fsm.fsm import State
from pypepper.scheduler import events
from pypepper.scheduler.job import Job
from pypepper.scheduler.status import Status

EVENTS = {
    "init": events.INIT,
    "schedule": events.SCHEDULE,
    "run": events.RUN,
    "complete": events.COMPLETE,
    "fail": events.FAIL,
    "cancel": events.CANCEL,
}
LEGAL = {
    ("init", "Unknown"): "Initializing",
    ("schedule", "Initializing"): "Scheduled",
    ("run", "Scheduled"): "InProgress",
    ("complete", "InProgress"): "Completed",
    ("fail", "InProgress"): "Failed",
    ("cancel", "Scheduled"): "Cancelled",
    ("cancel", "InProgress"): "Cancelled",
}
PAIRS = [(name, status.value) for name in EVENTS for status in Status]


@pytest.mark.parametrize(("name", "before"), PAIRS)
def test_each_pair_moves_as_the_table_says_or_not_at_all(name: str, before: str) -> None:
    """pipeline.md 6.1, every row, and every pair that is in none: illegal, and the job stays where it is."""
    job = Job()
    job.restore_lifecycle(State(before), before)
    after = LEGAL.get((name, before))
    if after is None:
        with pytest.raises(InternalException, match="invalid event"):
            job.apply_event(EVENTS[name])
    else:
        job.apply_event(EVENTS[name])
    machine = job._fsm.current()
    assert machine is not None
    assert (machine.value, job.status) == (after or before, after or before)
    assert type(job.status) is str


def test_the_table_is_the_one_of_the_manual() -> None:
    """pipeline.md 6.1: no row more, no row less."""
    assert {(name, str(before)): str(after) for (name, before), after in events.TABLE.items()} == LEGAL


def test_each_event_bears_its_name() -> None:
    """pipeline.md 6.1: `.data.name`."""
    assert {name: event.data.name for name, event in EVENTS.items()} == {name: name for name in EVENTS}


def test_each_machine_is_its_own() -> None:
    """pipeline.md 6.1: fresh, id `scheduler_fsm`, starts in Unknown, shares nothing, not even a state object."""
    one, other = events.build_scheduler_fsm(), events.build_scheduler_fsm()
    assert one.fsm_id == "scheduler_fsm"
    first = one.current()
    assert first is not None
    assert first.value == "Unknown"
    first.value = "Broken"
    one.on(events.INIT)
    untouched = other.current()
    assert untouched is not None
    assert untouched.value == "Unknown"
    assert other.on(events.INIT).error is None


def test_the_thin_wrapper_has_one_method() -> None:
    """pipeline.md 1.2: `events.FSM` answers `on`, over a machine of its own or a given one."""
    machine = events.build_scheduler_fsm()
    assert events.FSM(machine).on(events.INIT).error is None
    state = machine.current()
    assert state is not None
    assert state.value == "Initializing"
    assert events.FSM().on(events.RUN).error is not None
