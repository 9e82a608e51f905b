"""From what a scheduler is given to a life on a store: door, identity, the times that hold, what is seen of others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.identity import identity
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import BadSchedule, StoreError
from pyscheduler.rules.leases import timing as timing_of
from pyscheduler.store.claims import Claims, Door, Timing, Transaction
from pyscheduler.store.claims.opening import need_driver, open_door, open_hints
from pyscheduler.store.hints import Hints

T = TypeVar("T")


class Watched:
    """A door whose every failure is told: after it, what was seen of others counts no more (claims.md C3)."""

    def __init__(self, door: Door, failed: Callable[[], None]) -> None:
        self._door, self._failed = door, failed

    @property
    def dialect(self) -> str:
        """The database's."""
        return self._door.dialect

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction. Raises StoreError, when that was told."""
        try:
            return self._door.write(work)
        except StoreError:
            self._failed()
            raise

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do one statement. Raises StoreError, when that was told."""
        try:
            return self._door.alone(work)
        except StoreError:
            self._failed()
            raise

    def close(self) -> None:
        """Let go of every connection."""
        self._door.close()


@dataclass(frozen=True, slots=True)
class Entrance:
    """A store, and this host's folder for it; `named` is the host's name, empty for its own, and then its tags.

    `evidence` lives as long as the scheduler: it remembers what it saw.
    """

    store: str
    state_dir: Path
    timing: Timing
    named: tuple[str, ...]
    evidence: Evidence

    def enter(self) -> Claims:
        """Return the dealings of a new incarnation. Raises StoreError."""
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        me = identity(state_dir=self.state_dir, node=self.named[0], tags=self.named[1:])
        heart = open_door(self.store, self.state_dir, name="pysched heart", statement_s=self.timing.heartbeat_timeout_s)
        doors = (Watched(door, self.evidence.forget) for door in (self._door(), heart))
        return Claims(next(doors), me, self.timing, heart=next(doors))

    def hints(self) -> Hints:
        """Return an ear on the store."""
        return open_hints(self.store)

    @contextmanager
    def looking(self) -> Iterator[Claims]:
        """Give the store to who only asks. Raises StoreError."""
        claims = Claims(self._door(), identity(state_dir=self.state_dir, node=self.named[0]), self.timing)
        try:
            yield claims
        finally:
            claims.close()

    def _door(self) -> Door:
        return open_door(self.store, self.state_dir, statement_s=self.timing.statement_timeout_s)


def entrance(
    store: str | os.PathLike[str],
    state_dir: str | os.PathLike[str] | None,
    reclaim_after_s: float,
    timing: Mapping[str, object],
    named: tuple[str, ...],
    clock: Clock,
) -> Entrance:
    """Return the way into a store.

    Raises BadSchedule where times do not hold together or a folder is lacking, StoreError where the driver is.
    """
    address = os.fspath(store)
    need_driver(address)
    is_server = "://" in address
    if is_server and state_dir is None:
        raise BadSchedule("A store on a server needs a state_dir for what this host keeps besides.")
    folder = Path(address if state_dir is None else state_dir).absolute()
    try:
        times = timing_of(**{"reclaim_after": reclaim_after_s, **timing})
    except ValueError as error:
        raise BadSchedule(str(error)) from None
    evidence = Evidence(times, clock.boottime)
    return Entrance(address if is_server else os.fspath(folder), folder, times, named, evidence)
