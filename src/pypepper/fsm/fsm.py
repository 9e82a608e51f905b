"""A small state machine: one table, one `on`.

What must always hold: a machine moves only along its table or by `restore`; a refused event leaves the state as it
was; and what one machine does, no other machine sees. A move is atomic: of two threads that bring an event each, the
second meets the state that the first has made. Spec: pipeline.md 6.3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pypepper.errors import ERROR_INVALID_EVENT
from pypepper.event.event import Event
from pypepper.exceptions import InternalException

Handler = Callable[..., Any]
Key = tuple[str, str, str]
"""(flow, event name, value of the state it is met in)."""


@dataclass(slots=True)
class State:
    """Where a machine is."""

    value: str


@dataclass(slots=True)
class Transition:
    """One event, the states in which it is legal, the state it leads to, and what else is to be done."""

    event: Event
    from_state: Collection[State]
    to_state: State
    handler: Handler | None = None
    context: Any = None


@dataclass(slots=True)
class Options:
    """What a machine is made from."""

    fsm_id: str
    initial: State
    transitions: Iterable[Transition]


@dataclass(slots=True)
class Response:
    """The answer to one event. `error` is None exactly when the machine has moved."""

    state: State | None
    error: Exception | None = None
    event_handler_result: Any = None
    transition_result: Any = None


def compile_table(transitions: Iterable[Transition]) -> Mapping[Key, Transition]:
    """Return the table by (flow, event, state); of two rows for one key the first counts."""
    table: dict[Key, Transition] = {}
    for row in transitions:
        for state in row.from_state:
            table.setdefault((row.event.data.flow, row.event.data.name, state.value), row)
    return table


class FSM:
    """A machine of its own: shares its table with nobody who could change it, and its state with nobody at all."""

    __slots__ = ("_current", "_lock", "_table", "fsm_id")

    def __init__(self, fsm_id: str, initial: State, table: Mapping[Key, Transition]) -> None:
        self.fsm_id = fsm_id
        self._current: State | None = State(initial.value)
        self._table = table
        self._lock = threading.RLock()

    def current(self) -> State | None:
        """Return the present state; None after `close` or `restore(None)`."""
        return self._current

    def on(self, event: Event, handler: Handler | None = None, context: Any = None) -> Response:
        """Answer one event; an illegal one is told in `Response.error` and moves nothing.

        The transition's handler runs first, then the caller's; each gets its context if that is truthy. If one of them
        raises, the state is put back and the exception is the error. Raises InternalException without a state.
        """
        with self._lock:
            before = self._current
            if before is None:
                raise InternalException(f"{ERROR_INVALID_EVENT}: the machine {self.fsm_id} is closed")
            row = self._table.get((event.data.flow, event.data.name, before.value))
            if row is None:
                return Response(before, InternalException(ERROR_INVALID_EVENT))
            self._current = State(row.to_state.value)
            if row.handler is None and handler is None:
                return Response(self._current)
            return self._handle(before, row, handler, context)

    def _handle(self, before: State, row: Transition, handler: Handler | None, context: Any) -> Response:
        response = Response(self._current)
        try:
            response.transition_result = _call(row.handler, row.context)
            response.event_handler_result = _call(handler, context)
        except Exception as error:  # noqa: BLE001 — a handler is somebody else's code, and its error is the answer
            self._current = before
            return Response(before, error, response.event_handler_result, response.transition_result)
        return response

    def restore(self, state: State | None) -> None:
        """Jump to a state without a transition; None takes the state away."""
        with self._lock:
            self._current = None if state is None else State(state.value)

    def restore_unless(self, value: str, state: State) -> bool:
        """Jump to a state unless the machine is in `value`; False when it is. One step, whoever else moves it."""
        with self._lock:
            if self._current is not None and self._current.value == value:
                return False
            self.restore(state)
            return True

    def close(self) -> None:
        """End the machine: it has no state, and takes no event."""
        self.restore(None)


def _call(handler: Handler | None, context: Any) -> Any:
    if handler is None:
        return None
    return handler(context) if context else handler()


def new(options: Options) -> FSM:
    """Return a machine with a table of its own."""
    return FSM(options.fsm_id, options.initial, compile_table(options.transitions))
