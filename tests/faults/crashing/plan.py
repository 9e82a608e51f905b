"""Which lives the schedulers of the crash test lead: every named point is met, and the rest is drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pyscheduler.minder import crash

OWN = tuple(point for point in crash.POINTS if point.split(".")[0] in ("launch", "stop", "find"))
"""The points in the scheduler's own process."""
THEIRS = tuple(point for point in crash.POINTS if point not in OWN)
"""The points in nursery and minders."""
A_LIFE = 4
"""So many of them are armed at once."""
BEFORE = {"find.unlinked": "launch.created"}
"""A point to which only a start comes that finds an unclaimed file, and where a scheduler must die to leave one."""
STRIKES = ("nursery", "minder", "minders", "nursery+minder", "minder+nursery+minder")
ENDS = ("scheduler", "scheduler", "scheduler+nursery", "scheduler+minder", "scheduler+minders", "stop")


@dataclass(frozen=True)
class Life:
    """One scheduler's: where it and its children die, what strikes meanwhile, how it ends if it still lives then."""

    points: tuple[str, ...]
    own_point: str
    commit: str
    seconds: float
    strikes: tuple[str, ...]
    end: str
    down_s: float


class Plan:
    """Gives one life after the other; points that were met are not armed again."""

    def __init__(self, chance: random.Random, *, named_points: bool) -> None:
        self._chance = chance
        self._own = list(OWN) if named_points else []
        self._theirs = chance.sample(THEIRS, len(THEIRS)) if named_points else []
        self._prepared = ""
        """The point which the last life was to make ready for."""

    @property
    def is_complete(self) -> bool:
        """Whether every named point was met."""
        return not self._own and not self._theirs

    def met(self, points: set[str]) -> None:
        """Cross off the points that somebody died at."""
        self._own = [point for point in self._own if point not in points]
        self._theirs = [point for point in self._theirs if point not in points]

    def next(self) -> Life:
        """Return the next life."""
        chance = self._chance
        own = self._own_now()
        at_start = own.startswith("find.")
        commit = (
            "" if own or chance.random() < 0.5 else f"{chance.choice(('before', 'after'))}:{chance.randrange(30, 120)}"
        )
        return Life(
            points=() if at_start else tuple(self._armed(point) for point in self._theirs_now()),
            own_point=own if at_start or not own else f"{own}:{self._nth(own)}",
            commit=commit,
            seconds=chance.uniform(1.0, 2.0),
            strikes=tuple(chance.choices(STRIKES, k=chance.randrange(0, 4))),
            end=chance.choice(ENDS),
            down_s=chance.uniform(0.0, 0.4),
        )

    def _own_now(self) -> str:
        """Return the point at which the scheduler is to die: each in turn, after the life that prepares for it."""
        own = self._own[0] if self._own else ""
        if own in BEFORE and self._prepared != own:
            self._prepared = own
            return BEFORE[own]
        self._prepared = ""
        self._own = [*self._own[1:], own] if own else []
        return own

    def _nth(self, own: str) -> int:
        """Return at which visit the scheduler is to die there; soon, where it is to leave something for the next."""
        if own == "stop.written":
            return 1
        return self._chance.randrange(2, 6) if self._prepared else self._chance.randrange(8, 30)

    def _theirs_now(self) -> list[str]:
        """Return the next points still to be met; a ward's need a minder that dies with its job running."""
        now = self._theirs[:A_LIFE]
        return ["job.named", *now] if any(point.startswith("ward.") for point in now) else now

    def _armed(self, point: str) -> str:
        late = point.startswith("nursery.") and self._chance.random() < 0.5
        return f"{point}:{self._chance.randrange(2, 8)}" if late else point
