"""A named event: what happened, where it came from, and the flow it belongs to.

Machines match on flow and name, never on the object; `src` is decoration. Spec: pipeline.md 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Data:
    """What an event carries."""

    name: str = ""
    src: str = ""
    flow: str = ""


@dataclass(slots=True)
class Event:
    """One thing that can happen to a machine."""

    data: Data = field(default_factory=Data)

    def set_name(self, name: str) -> None:
        """Say what happened."""
        self.data.name = name

    def set_src(self, src: str) -> None:
        """Say who says so; no machine looks at it."""
        self.data.src = src

    def set_flow(self, flow: str) -> None:
        """Say which family of events this one belongs to."""
        self.data.flow = flow


def new(name: str | None = None, src: str | None = None) -> Event:
    """Return a new event of the flow `""`."""
    return Event(Data(name=name or "", src=src or ""))
