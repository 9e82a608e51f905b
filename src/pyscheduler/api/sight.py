"""What a question is answered by: the engine that runs here, or, on a standby, a glance at the store.

Who leads sees with its engine (`Led`). A standby has the same store and the same configuration, and answers by those
what they alone can tell (`service/relay.py` says which questions, and passes the others on). What must always hold: a
glance is taken anew for each request, and its configuration is the one that was in force then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.pauses import Pauses
from pyscheduler.engine.ports import Clock
from pyscheduler.engine.waiting import shown_reason
from pyscheduler.model.run import Run
from pyscheduler.store import Store


class Sight(Protocol):
    """What handlers that only look may ask."""

    @property
    def config(self) -> Config:
        """The configuration in force."""
        ...

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def pauses(self) -> Pauses: ...

    def next_firings(self) -> Callable[[str], datetime | None]:
        """Return what tells when a job fires next; None where it is disabled or paused, or has no schedule."""
        ...

    def reason_of(self, run: Run, say: Callable[[datetime], str]) -> str:
        """Return the reason that people are shown of a run."""
        ...


@dataclass(frozen=True, slots=True)
class Led:
    """As the engine sees it."""

    engine: Engine

    @property
    def config(self) -> Config:
        return self.engine.config

    @property
    def store(self) -> Store:
        return self.engine.store

    @property
    def clock(self) -> Clock:
        return self.engine.clock

    @property
    def pauses(self) -> Pauses:
        return self.engine.desk.pauses

    def next_firings(self) -> Callable[[str], datetime | None]:
        return self.engine.firings.upcoming().get

    def reason_of(self, run: Run, say: Callable[[datetime], str]) -> str:
        return shown_reason(self.engine.desk, run, say)


@dataclass(frozen=True, slots=True)
class Glance:
    """As the store tells it. What a queued run stands in line for only the engine knows: its own reason is shown."""

    config: Config
    store: Store
    clock: Clock
    pauses: Pauses

    def next_firings(self) -> Callable[[str], datetime | None]:
        now = self.clock.now()

        def next_firing(name: str) -> datetime | None:
            job = self.config.jobs[name]
            if not job.enabled or not job.schedules or self.pauses.covers(name) is not None:
                return None
            firing = self.config.timetable(name).next(now)
            return None if firing is None else firing.scheduled_at

        return next_firing

    def reason_of(self, run: Run, say: Callable[[datetime], str]) -> str:
        del say
        return run.reason


GLANCE: Final[ContextVar[Glance | None]] = ContextVar("pyscheduler_glance", default=None)
"""The glance by which the present request is answered; None where the engine is asked."""
