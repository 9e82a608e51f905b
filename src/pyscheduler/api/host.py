"""What the API stands on: the service, or a test, as a port.

An engine comes and goes (it fails stop and another opens the same store); the host stays. `engine()` is the only way
to one, and raises Unavailable with the reason while there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pyscheduler.api.afar import Vouching
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.model.alert import Delivery
from pyscheduler.model.problem import Problem
from pyscheduler.store import Store
from pyscheduler.store.claims import Claims


class Phase(StrEnum):
    """Where the service stands."""

    STARTING = "starting"
    RUNNING = "running"
    STANDBY = "standby"
    """Another scheduler of the same store leads; this one takes over when that ends."""
    FAILED = "failed"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Standing:
    """The phase and since when; `trouble` says in one line what went wrong last, empty where nothing did."""

    phase: Phase
    since: datetime
    trouble: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What a reload did. `changed` is False where the text is the one in force; `called_off` are ids of runs."""

    changed: bool
    version: int
    warnings: tuple[Problem, ...]
    called_off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReloadFailure:
    """The last reload, if it failed: the configuration before it is still in force."""

    at: datetime
    actor: str
    problems: tuple[Problem, ...]


class Teller(Protocol):
    """Whoever sends alerts."""

    async def replay(self, alert_id: str, notifier: str | None = None) -> list[Delivery]:
        """Send dead deliveries of an alert again. Raises NotFound, Conflict, Unavailable."""
        ...

    async def test(self, name: str, actor: str) -> str | None:
        """Send a test message, once; returns why that failed, or None. Raises NotFound, Unavailable."""
        ...


class Host(Protocol):
    """Whoever keeps an engine."""

    @property
    def standing(self) -> Standing:
        """How it goes."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """What in its surroundings would kill running jobs or leaves something to chance."""
        ...

    @property
    def reload_failure(self) -> ReloadFailure | None:
        """The last reload's failure; None where it succeeded."""
        ...

    @property
    def alerts(self) -> Teller:
        """Who sends alerts."""
        ...

    @property
    def claims(self) -> Claims | None:
        """The dealings with a shared store; None where it is one's own. Raises StoreUnavailable before it is met."""
        ...

    @property
    def vouching(self) -> Vouching | None:
        """What other schedulers of a cluster are spoken to with; None where there is no secret."""
        ...

    async def hand_over(self) -> None:
        """Let another scheduler lead, a moment after the answer. Raises Conflict where none could."""
        ...

    @property
    def reader(self) -> Store:
        """The store for questions, whoever leads. Raises Unavailable, StoreUnavailable."""
        ...

    def engine(self) -> Engine:
        """Return the engine that runs. Raises Unavailable."""
        ...

    async def reload(self, actor: str, reason: str = "") -> Reloaded:
        """Put what stands on disk in force. Raises ConfigError, and then nothing has changed; Unavailable."""
        ...

    async def load(self) -> Config:
        """Return what stands on disk, checked, without putting it in force. Raises ConfigError."""
        ...
