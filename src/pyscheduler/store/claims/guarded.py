"""S11: a door for the authority's writes. Spec: claims.md C5.

What must always hold: every transaction through it holds the authority's row, shared, from its first statement to its
commit. Renewals do not mind that; a takeover waits for it. So whatever commits here commits under the epoch that is in
force, and a scheduler that was deposed cannot write, whatever it believes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyscheduler.errors import AuthorityLost
from pyscheduler.model.lease import Identity
from pyscheduler.store.claims.authority import GUARD
from pyscheduler.store.claims.door import Door, Transaction

__all__ = ["AuthorityLost", "GuardedDoor"]

T = TypeVar("T")


class GuardedDoor:
    """A door that lets in the authority of one epoch only. AuthorityLost, and nothing written, for anybody else."""

    def __init__(self, door: Door, me: Identity, epoch: int) -> None:
        self._door, self._me, self._epoch = door, me, epoch

    @property
    def dialect(self) -> str:
        """The database's."""
        return self._door.dialect

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work under the authority's row. Raises AuthorityLost, StoreError."""

        def guarded(on: Transaction) -> T:
            if not on.rows(GUARD, me=self._me.inc_id, mine=self._epoch):
                raise AuthorityLost("another scheduler is the authority now", where=f"epoch {self._epoch}")
            return work(on)

        return self._door.write(guarded)

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do the same: the guard is one more statement."""
        return self.write(work)

    def close(self) -> None:
        """Leave the door to whoever opened it."""
