"""What an operator has paused: single jobs, or everything.

While a job is paused its firings are dropped and none of its queued runs starts; what runs goes on, and a forced
start goes through. A pause outlives restarts: it is one value in the store. `since` is the instant from which dropped
firings count when the pause ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final

EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class Pause:
    """Who paused it, when, why."""

    by: str
    since: datetime
    reason: str = ""


class Pauses:
    """The pauses in force, by job name or EVERYTHING."""

    def __init__(self, pauses: Mapping[str, Pause] | None = None) -> None:
        self._pauses = dict(pauses or {})

    def covers(self, job: str) -> Pause | None:
        """Return the pause that keeps a job from starting, if any; the job's own first."""
        return self._pauses.get(job) or self._pauses.get(EVERYTHING)

    def get(self, what: str) -> Pause | None:
        """Return the pause of a job itself, or of everything."""
        return self._pauses.get(what)

    def __iter__(self) -> object:
        return iter(self._pauses)

    def items(self) -> list[tuple[str, Pause]]:
        """Return all pauses, by name."""
        return sorted(self._pauses.items())

    def add(self, what: str, pause: Pause) -> None:
        """Pause a job or everything."""
        self._pauses[what] = pause

    def end(self, what: str) -> Pause:
        """End a pause and return it; what everything's pause kept of single paused jobs passes on to theirs."""
        ended = self._pauses.pop(what)
        if what == EVERYTHING:
            for name, pause in self._pauses.items():
                self._pauses[name] = replace(pause, since=min(pause.since, ended.since))
        return ended

    def to_text(self) -> str:
        """Return the value the store keeps."""
        return json.dumps({name: asdict(pause) | {"since": pause.since.isoformat()} for name, pause in self.items()})

    @classmethod
    def from_text(cls, text: str | None) -> Pauses:
        """Read the value the store kept."""
        kept = json.loads(text or "{}")
        return cls(
            {name: Pause(**(value | {"since": datetime.fromisoformat(value["since"])})) for name, value in kept.items()}
        )
