"""The generic machine and its events: pipeline.md 6.3, row by row."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pypepper.event import event
from pypepper.exceptions import InternalException
from pypepper.fsm import fsm


def machine(**handlers: Any) -> fsm.FSM:
    """Return a door: open, close, and slam, which is closing with whatever handlers are given."""
    opened, closed = fsm.State("open"), fsm.State("closed")
    return fsm.new(
        fsm.Options(
            "door",
            closed,
            [
                fsm.Transition(event.new("open"), [closed], opened),
                fsm.Transition(event.new("close"), (opened,), closed),
                fsm.Transition(event.new("slam"), {"x": opened}.values(), closed, **handlers),
            ],
        )
    )


def where(door: fsm.FSM) -> str:
    state = door.current()
    assert state is not None
    return state.value


def test_a_legal_event_moves_and_says_so() -> None:
    """pipeline.md 6.3 row 3: the response carries the state, and no error."""
    door = machine()
    response = door.on(event.new("open"))
    assert (where(door), response.error) == ("open", None)
    assert response.state is not None
    assert response.state.value == "open"


def test_an_unknown_transition_is_an_error_in_the_response() -> None:
    """pipeline.md 6.3 row 3: nothing is raised, and nothing moves."""
    door = machine()
    response = door.on(event.new("close"))
    assert isinstance(response.error, InternalException)
    assert str(response.error) == "invalid event"
    assert where(door) == "closed"
    assert response.state is not None
    assert response.state.value == "closed"


def test_events_match_by_flow_and_name_not_by_object() -> None:
    """pipeline.md 6.3 row 3: another object of the same name is the same event, of another flow it is not."""
    door = machine()
    other = event.new("open", src="somebody")
    other.set_flow("another house")
    assert door.on(other).error is not None
    other.set_flow("")
    assert door.on(other).error is None


def test_a_state_is_a_value_that_can_be_written() -> None:
    """pipeline.md 6.3 row 1: `.value` is mutable, and `from_state` any collection."""
    state = fsm.State("a")
    state.value = "b"
    assert fsm.Transition(event.new("x"), frozenset(), state).to_state.value == "b"


def test_a_machine_has_a_table_of_its_own() -> None:
    """pipeline.md 6.3 row 2: what is done to the options or to one machine's state later does not reach another."""
    start, end = fsm.State("start"), fsm.State("end")
    rows = [fsm.Transition(event.new("go"), [start], end)]
    one, other = (fsm.new(fsm.Options("m", start, rows)) for _ in range(2))
    rows.clear()
    state = one.current()
    assert state is not None
    state.value = "elsewhere"
    assert where(other) == "start"
    assert other.on(event.new("go")).error is None
    assert start.value == "start"


def test_of_two_rows_for_one_event_the_first_counts() -> None:
    """pipeline.md 6.3 row 3: the table is read from its top."""
    start = fsm.State("start")
    rows = [fsm.Transition(event.new("go"), [start], fsm.State(to)) for to in ("first", "second")]
    one = fsm.new(fsm.Options("m", start, rows))
    one.on(event.new("go"))
    assert where(one) == "first"


def test_handlers_run_in_order_with_their_contexts() -> None:
    """pipeline.md 6.3 row 4: the transition's first; a truthy context is handed over, a falsy one is not."""
    said: list[object] = []

    def tell(*words: object) -> int:
        said.append(words)
        return len(said)

    door = machine(handler=tell, context={"who": "table"})
    door.on(event.new("open"))
    response = door.on(event.new("slam"), tell, {})
    assert said == [({"who": "table"},), ()]
    assert (response.transition_result, response.event_handler_result) == (1, 2)
    door.on(event.new("open"), tell, "caller")
    assert said[-1] == ("caller",)


@pytest.mark.parametrize("whose", ["transition", "caller"])
def test_a_handler_that_raises_puts_the_state_back(whose: str) -> None:
    """pipeline.md 6.3 row 4: the exception is the answer, and what the first handler did is not undone."""
    said: list[str] = []

    def fail() -> None:
        raise KeyError("stuck")

    door = machine(handler=fail if whose == "transition" else lambda: said.append("slammed"))
    door.on(event.new("open"))
    response = door.on(event.new("slam"), fail if whose == "caller" else None)
    assert isinstance(response.error, KeyError)
    assert where(door) == "open"
    assert response.state is not None
    assert response.state.value == "open"
    assert said == ([] if whose == "transition" else ["slammed"])


def test_restore_jumps_anywhere() -> None:
    """pipeline.md 6.3 row 5: without a transition, and the machine keeps a copy."""
    door, state = machine(), fsm.State("off its hinges")
    door.restore(state)
    state.value = "repaired"
    assert where(door) == "off its hinges"


@pytest.mark.parametrize("how", ["close", "restore"])
def test_a_machine_without_a_state_takes_no_event(how: str) -> None:
    """pipeline.md 6.3 row 5: current is None, `on` raises, and other machines are unaffected."""
    door, other = machine(), machine()
    if how == "close":
        door.close()
    else:
        door.restore(None)
    assert door.current() is None
    with pytest.raises(InternalException):
        door.on(event.new("open"))
    assert other.on(event.new("open")).error is None


def test_restore_unless_looks_and_jumps_in_one_step() -> None:
    """A jump that must not undo a cancel says whether it was made."""
    door = machine()
    assert door.restore_unless("closed", fsm.State("ajar")) is False
    assert where(door) == "closed"
    assert door.restore_unless("open", fsm.State("ajar")) is True
    assert where(door) == "ajar"


def test_of_many_threads_with_one_event_one_wins() -> None:
    """Moves are atomic: the second opener finds the door open."""
    door, start = machine(), threading.Barrier(8)
    errors: list[Exception | None] = []

    def push() -> None:
        start.wait()
        errors.append(door.on(event.new("open")).error)

    threads = [threading.Thread(target=push) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(error is None for error in errors) == 1


def test_an_event_has_setters() -> None:
    """pipeline.md 6.3 row 6: name, src and flow, the flow empty at first."""
    made = event.new()
    assert (made.data.name, made.data.src, made.data.flow) == ("", "", "")
    made.set_name("go")
    made.set_src("me")
    made.set_flow("f")
    assert (made.data.name, made.data.src, made.data.flow) == ("go", "me", "f")
    assert event.new("go", "you").data.src == "you"


@pytest.mark.parametrize(
    "made",
    [
        fsm.State("shut"),
        fsm.Transition(event.new("open"), [fsm.State("shut")], fsm.State("open")),
        fsm.Options("door", fsm.State("shut"), []),
        fsm.Response(fsm.State("shut")),
    ],
    ids=lambda made: type(made).__name__,
)
def test_an_unknown_attribute_is_an_error(made: Any) -> None:
    """They may be changed, but what nobody would ever read is not kept in silence."""
    with pytest.raises(AttributeError):
        made.colour = "red"
